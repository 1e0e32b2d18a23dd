//! From a library's bytes to a mod that answers: every mod is itself, and what runs is what was hashed.

use std::{
    fs,
    io::{Seek, Write},
    path::{Path, PathBuf},
    process,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering::Relaxed},
        mpsc,
    },
    time::Duration,
};

use host::mod_host::{Code, Expected, Origin, Planned};
use mod_interface::{builtin_mod, prelude::*};
use tempfile::TempDir;

use crate::support::{
    fixtures::Library,
    mods::{Host, compiled_in, loose},
    session::library,
};

/// The numbered mod under another number.
fn numbered(library: &Library, number: usize) -> Library {
    let name = format!("numbered-{number:03}");
    library.clone().replace(".rodata", "numbered-000", &name).metadata("numbered-000", &name)
}

#[tokio::test(flavor = "multi_thread")]
async fn each_of_three_mods_is_itself_in_every_order() {
    let dir = TempDir::new().unwrap();
    let library = Library::stripped("numbered");
    let paths: Vec<_> = (0..3)
        .map(|number| numbered(&library, number).write(&dir.path().join(format!("{number}.so"))))
        .collect();
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let host = Host::new();
        let loaded = host.load(order.map(|number| loose(&paths[number]))).await;
        let names = order.map(|number| format!("numbered-{number:03}"));
        assert_eq!(loaded, (names.to_vec(), vec![]));
        for name in &names {
            assert_eq!(host.says(name).await, format!("{name} edition-a, call 1"), "{order:?}");
        }
        assert_eq!(host.says(&names[0]).await, format!("{} edition-a, call 2", names[0]));
    }
}

/// All of them come from one path, which is written anew for each: the system's loader must not take them
/// for one library because of its name.
#[tokio::test(flavor = "multi_thread")]
async fn three_hundred_mods_are_three_hundred_mods() {
    const MODS: usize = 300;
    let dir = TempDir::new().unwrap();
    let (path, library) = (dir.path().join("lib.so"), Library::stripped("numbered"));
    let host = Host::new();
    for number in 0..MODS {
        numbered(&library, number).write(&path);
        assert_eq!(host.load([loose(&path)]).await, (vec![format!("numbered-{number:03}")], vec![]));
    }
    for number in (0..MODS).rev() {
        let name = format!("numbered-{number:03}");
        assert_eq!(host.says(&name).await, format!("{name} edition-a, call 1"));
    }
}

/// Writes over the file at `path` in every way, until told to stop.
fn rewrite(path: &Path, contents: [&[u8]; 2], stop: &AtomicBool) {
    let beside = path.with_extension("new");
    for round in 0.. {
        let (this, other) = (contents[round % 2], contents[(round + 1) % 2]);
        for whole in [this, other, this, other] {
            fs::write(&beside, whole).unwrap();
            fs::rename(&beside, path).unwrap();
        }
        fs::write(path, this).unwrap();
        let mut in_place = fs::File::options().write(true).open(path).unwrap();
        in_place.write_all(this).unwrap();
        in_place.set_len(u64::try_from(this.len() / 2).unwrap()).unwrap();
        in_place.rewind().unwrap();
        in_place.write_all(other).unwrap();
        if stop.load(Relaxed) {
            return;
        }
    }
}

/// Stops the rewriting when it is dropped, also by a test that fails: it would be waited for otherwise.
struct StopAtEnd<'a>(&'a AtomicBool);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_runs_is_what_was_hashed_whoever_writes_to_the_file_meanwhile() {
    const LOADS: usize = 200;
    let dir = TempDir::new().unwrap();
    let first = Library::stripped("numbered");
    let second = first.clone().replace(".rodata", "edition-a", "edition-b");
    let hashes = [&first, &second].map(|library| registry::hash_bytes(library.bytes()).sha256);
    let path = first.write(&dir.path().join("lib.so"));
    let stop = AtomicBool::new(false);
    let mut answered = [0, 0];
    std::thread::scope(|scope| {
        scope.spawn(|| rewrite(&path, [first.bytes(), second.bytes()], &stop));
        let _stop = StopAtEnd(&stop);
        let runtime = tokio::runtime::Handle::current();
        tokio::task::block_in_place(|| {
            runtime.block_on(async {
                for load in 0..LOADS {
                    // With a lock, and without one.
                    let locked = (load % 2 == 0).then(|| hashes[0].clone());
                    if let Some(edition) = load_and_ask(&path, locked, &hashes).await {
                        answered[edition] += 1;
                    }
                }
            });
        });
    });
    assert!(answered[0] > 0 && answered[1] > 0, "some of both were whole: {answered:?}");
}

/// Loads the file; the index of the edition that answered, which is the one whose hash was told.
async fn load_and_ask(path: &Path, locked: Option<String>, hashes: &[String; 2]) -> Option<usize> {
    let host = Host::new();
    let expected = locked.clone().map(|sha256| Expected {
        name: "numbered-000".to_owned(),
        version: "0.3.7".to_owned(),
        sha256,
    });
    let origin = Origin::Session { path: path.to_owned() };
    let code = Code::Library { path: path.to_owned(), expected };
    let loaded = host.load_planned([Planned { origin, code }]).await;
    let [loaded] = &loaded.mods[..] else {
        let code = loaded.warnings[0].error.code();
        let torn = ["E_HASH_MISMATCH", "E_NOT_A_LIBRARY", "E_NO_METADATA"].contains(&code);
        assert!(torn, "{}", loaded.warnings[0]);
        return None;
    };
    let told = loaded.sha256.clone().unwrap();
    assert!(locked.is_none_or(|locked| locked == told));
    let edition = hashes.iter().position(|hash| *hash == told)?;
    let letter = ["a", "b"][edition];
    assert_eq!(host.says("numbered-000").await, format!("numbered-000 edition-{letter}, call 1"));
    Some(edition)
}

async fn idle(_: ModApi) -> Result<()> {
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mod_named_like_a_built_in_is_left_out() {
    let host = Host::new();
    let built_in = Planned {
        origin: Origin::BuiltIn,
        code: Code::BuiltIn { name: "numbered-000", root: builtin_mod!("numbered-000", idle) },
    };
    let origin = Origin::Session { path: PathBuf::from("lib.so") };
    let shadowed = Planned { origin: origin.clone(), code: loose(library("numbered")) };
    let other = Planned { origin, code: loose(library("custom-tool")) };
    let loaded = host.load_planned([built_in, shadowed, other]).await;
    let names: Vec<_> = loaded.mods.iter().map(|loaded| loaded.name.as_str()).collect();
    assert_eq!(names, ["numbered-000", "custom-tool"]);
    let warnings: Vec<_> = loaded.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        warnings,
        [
            "mod not loaded [E_BUILTIN_NAME] from --mod lib.so: a built-in mod has that name; rename the mod: numbered-000"
        ]
    );
    assert!(host.tools.get("count_todos").is_some());
}

/// Holds a factory back, and hears what became of it.
static GATE: Mutex<Option<(mpsc::Receiver<()>, mpsc::Sender<String>)>> = Mutex::new(None);

async fn held_back(cmd: ModApi) -> Result<()> {
    cmd.add_command(Command::new("early", "").run(|_| async { Ok(CommandOutcome::Done) }))?;
    let (gate, told) = GATE.lock().unwrap().take().unwrap();
    gate.recv()?;
    let nothing = || async { Ok(CommandOutcome::Done) };
    let tool = Tool::new("late", "").run(|_| async { Ok("late") });
    let refusals = [
        cmd.add_command(Command::new("late", "").run(move |_| nothing())).err(),
        cmd.add_tool(tool).err(),
        cmd.on(EventKind::TurnStart, |_| ()).err(),
        cmd.hooks(Hooks::new().on_stop_sync(|_, _| Ok(StopDecision::Stop))).err(),
    ];
    told.send(format!("{refusals:?}"))?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_factory_that_was_given_up_registers_nothing_later() {
    let (open, gate) = mpsc::channel();
    let (told, tells) = mpsc::channel();
    *GATE.lock().unwrap() = Some((gate, told));
    let host = Host::with(|config| config.load_timeout = Duration::from_millis(10));
    let stuck = "did not load within 10ms, stuck in its factory; start without it: take it out of `--mod`, or put its name \
                 into `mods.disabled`: held-back";
    let loaded = host.load([compiled_in("held-back", builtin_mod!("held-back", held_back))]).await;
    assert_eq!(loaded, (vec![], vec![stuck.to_owned()]));
    assert_eq!(host.mods.commands().len(), 0, "what it had registered is undone");

    open.send(()).unwrap();
    let refusal = r#"Some("this mod did not load, it can register nothing any more")"#;
    assert_eq!(tells.recv().unwrap(), format!("[{}]", [refusal; 4].join(", ")));
    assert_eq!(host.mods.commands().len() + host.tools.snapshot().len(), 0);
}

async fn waits_for_the_host(cmd: ModApi) -> Result<()> {
    let slept = cmd.exec("sleep").args(["0.3"]).await?;
    cmd.log(LogLevel::Info, &format!("{slept:?}"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_factory_that_waits_for_the_host_is_not_stuck() {
    let host = Host::with(|config| config.load_timeout = Duration::from_millis(100));
    let root = builtin_mod!("patient", waits_for_the_host);
    assert_eq!(host.load([compiled_in("patient", root)]).await, (vec!["patient".to_owned()], vec![]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_stays_with_the_first_even_when_that_did_not_load() {
    let host = Host::with(|config| {
        let options = [("misbehaving.at", "factory"), ("misbehaving.how", "error")];
        config.options = options.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    });
    let (names, warnings) = host.load([loose(library("misbehaving")), loose(library("misbehaving"))]).await;
    assert_eq!(names, [""; 0]);
    assert_eq!(
        warnings,
        [
            "its factory failed, nothing of it is registered: went wrong",
            "another mod of that name comes before it, from --mod here; take one of them out or rename it: misbehaving",
        ]
    );
}

/// The libraries of the interface that were built beside this test: today's, and those that it is tested
/// against.
fn interfaces() -> Vec<PathBuf> {
    let deps = std::env::current_exe().unwrap().parent().unwrap().to_owned();
    let paths = fs::read_dir(deps).unwrap().flatten().map(|entry| entry.path());
    let is_interface = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy();
        name.starts_with("libmod_interface-") && name.ends_with(".rlib")
    };
    paths.filter(is_interface).collect()
}

/// Compiles a mod with this panic strategy; what the compiler complains of.
fn compile(interface: &Path, strategy: &str) -> Vec<String> {
    let dir = TempDir::new().unwrap();
    let source = "use mod_interface::prelude::*;\nexport_mod!(idle);\nasync fn idle(_: ModApi) -> Result<()> { Ok(()) }\n";
    fs::write(dir.path().join("lib.rs"), source).unwrap();
    let output = process::Command::new("rustc")
        .args([
            "--edition=2024",
            "--crate-type=cdylib",
            "--emit=metadata",
            "-C",
            &format!("panic={strategy}"),
        ])
        .arg(format!("--extern=mod_interface={}", interface.display()))
        .arg(format!("-Ldependency={}", interface.parent().unwrap().display()))
        .arg("lib.rs")
        .env("CARGO_PKG_NAME", "idle")
        .env("CARGO_PKG_VERSION", "1.0.0")
        .current_dir(dir.path())
        .output();
    let said = String::from_utf8(output.unwrap().stderr).unwrap();
    said.lines().filter(|line| line.starts_with("error")).map(str::to_owned).collect()
}

#[test]
fn a_mod_that_would_end_the_program_with_a_panic_does_not_compile() {
    // What an earlier build left may be no use any more.
    let usable: Vec<_> =
        interfaces().into_iter().filter(|interface| compile(interface, "unwind").is_empty()).collect();
    assert_ne!(usable, [""; 0].map(PathBuf::from));
    for interface in usable {
        assert_eq!(
            compile(&interface, "abort"),
            [
                "error: a mod must unwind on panic: remove `panic = \"abort\"` from the profile",
                "error: aborting due to 1 previous error"
            ]
        );
    }
}

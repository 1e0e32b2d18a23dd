use std::{fs, os::unix::fs::PermissionsExt, process::Command};

use clap::Parser;
use registry::HostFacts;

use super::*;
use crate::{
    cli::{
        args::{self, Cli},
        output::describe,
    },
    settings::{ModHash, Places, Trust},
};

/// A machine for one test: a home, a workspace, and a program that pretends to load mods.
struct Machine {
    folder: tempfile::TempDir,
    facts: HostFacts,
}

impl Machine {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["home", "work"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let facts = HostFacts { interface: (1, 0), target: target(), glibc: Some((99, 0)) };
        let machine = Self { folder, facts };
        // A package is built beside its source, whatever the environment of the tests says.
        machine.program("cargo", concat!("unset CARGO_TARGET_DIR\nexec '", env!("CARGO"), "' \"$@\""));
        machine.trial(
            r#"echo '{"number":0,"loaded":{"name":"a-mod","version":"1.0.0","registered":{"hooks":["onStop"],"tools":["x","y"]},"warnings":["odd"]}}'"#,
        );
        machine
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    /// What the child process does that loads a mod.
    fn trial(&self, script: &str) {
        self.program("cmd", script);
    }

    fn program(&self, name: &str, script: &str) {
        let exe = self.path(name);
        fs::write(&exe, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&exe, PermissionsExt::from_mode(0o755)).unwrap();
    }

    /// A cargo package whose library says that it is `a-mod`.
    fn package(&self, version: &str) {
        let json = format!(
            r#"{{"schema":1,"name":"a-mod","version":"{version}","interface":"1.0","hooks":["on_stop"],"target":"{}","panic":"unwind"}}"#,
            target()
        );
        let source = format!(
            "#[used] #[unsafe(link_section = \".cmdmod\")] static METADATA: [u8; {}] = *br#\"{json}\"#;\n\
             #[unsafe(no_mangle)] pub extern \"C\" fn entry(n: u32) {{ if n > 7 {{ panic!(\"{{n}}\") }} }}\n",
            json.len()
        );
        let manifest = format!(
            "[package]\nname = \"a-mod\"\nversion = \"{version}\"\nedition = \"2024\"\n[lib]\ncrate-type = [\"cdylib\"]\n[workspace]\n"
        );
        fs::create_dir_all(self.path("work/a-mod/src")).unwrap();
        fs::write(self.path("work/a-mod/Cargo.toml"), manifest).unwrap();
        fs::write(self.path("work/a-mod/src/lib.rs"), source).unwrap();
    }

    /// Runs a `mods` command; what it printed, without this machine's paths.
    fn run(&self, line: &str) -> (Result<Exit, String>, String) {
        let process = Process {
            args: line.split(' ').map(Into::into).collect(),
            cwd: self.path("work"),
            exe: self.path("cmd"),
            home_override: Some(self.path("home")),
            user_home: None,
            cargo: self.path("cargo"),
            terminal: false,
            offline: false,
            git_protocols: None,
            sign_password: None,
            cargo_target: None,
            loader_variables: Vec::new(),
            model_access: Default::default(),
        };
        let Some(args::Command::Mods { command }) = Cli::try_parse_from(&process.args).unwrap().command
        else {
            panic!("no mods command: {line}");
        };
        let mut out = Vec::new();
        let streams = Streams { out: &mut out, err: &mut std::io::sink() };
        let context = Context {
            process: &process,
            facts: self.facts.clone(),
            streams,
            cancel: CancellationToken::new(),
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let exit =
            runtime.block_on(context.run(&command)).map_err(|error| self.bare(&describe(error.as_ref())));
        (exit, self.bare(&String::from_utf8(out).unwrap()))
    }

    fn bare(&self, text: &str) -> String {
        text.replace(&format!("{}/", self.path("").display()).replace("//", "/"), "")
            .replace(&target(), "TARGET")
    }
}

fn target() -> String {
    let output = Command::new("rustc").arg("-vV").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().find_map(|line| line.strip_prefix("host: ")).unwrap().to_owned()
}

fn ok(text: &str) -> (Result<Exit, String>, String) {
    (Ok(Exit::Success), text.to_owned())
}

fn error(text: &str) -> (Result<Exit, String>, String) {
    (Err(text.to_owned()), String::new())
}

#[test]
fn a_mod_goes_from_its_source_into_the_settings() {
    let machine = Machine::new();
    machine.package("1.0.0");
    assert_eq!(
        machine.run("cmd mods pack a-mod --out dist"),
        ok("packed a-mod 1.0.0 (interface 1.0, TARGET) into work/dist/a-mod-1.0.0.tgz\n")
    );
    assert_eq!(
        machine.run("cmd mods add -g dist/a-mod-1.0.0.tgz"),
        ok(
            "installed file:a-mod 1.0.0 for the user\n  a-mod 1.0.0: hooks: onStop; tools: x, y\n  warning: odd\n"
        )
    );
    let settings = machine.path("home/settings.json");
    let expected = "{\n  \"mods\": {\n    \"sources\": [\n      \"file:a-mod\"\n    ]\n  }\n}\n";
    assert_eq!(fs::read_to_string(&settings).unwrap(), expected);
    assert_eq!(machine.run("cmd mods verify"), ok("file:a-mod  a-mod  user  ok\n"));

    machine.package("1.1.0");
    machine.run("cmd mods pack a-mod --out dist").0.unwrap();
    let filtered = "{\"mods\": {\"sources\": [{\"source\": \"file:a-mod\", \"mods\": [\"*\"]}]}}";
    fs::write(&settings, filtered).unwrap();
    let (exit, json) = machine.run("cmd mods add -g dist/a-mod-1.1.0.tgz --json");
    exit.unwrap();
    let expected = serde_json::json!({
        "package": "file:a-mod", "version": "1.1.0", "previous": "1.0.0", "scope": "user", "folder": machine.path("home"),
        "mods": [{"name": "a-mod", "version": "1.0.0", "registered": {"hooks": ["onStop"], "tools": ["x", "y"]}, "warnings": ["odd"]}],
        "warnings": [], "trusted": true,
    });
    let expected = machine.bare(&expected.to_string());
    assert_eq!(serde_json::from_str::<serde_json::Value>(&json).unwrap().to_string(), expected);
    assert_eq!(fs::read_to_string(&settings).unwrap(), filtered, "a hand-written entry is left alone");
}

#[test]
fn a_project_mod_goes_into_the_project() {
    let machine = Machine::new();
    machine.package("1.0.0");
    machine.run("cmd mods pack a-mod").0.unwrap();
    let (exit, text) = machine.run("cmd mods add a-mod-1.0.0.tgz");
    assert_eq!(
        (exit, text.lines().next(), text.lines().last()),
        (
            Ok(Exit::Success),
            Some("installed file:a-mod 1.0.0 for the project"),
            Some(
                "It loads once the workspace is trusted, see cmd mods trust; in print mode only with --dangerously-skip-permissions."
            )
        )
    );
    assert!(machine.path("work/.commandcode/mods.lock").is_file());
    assert_eq!(
        machine.run("cmd mods verify"),
        ok(
            "warning: the workspace is not trusted: its own mods are not looked at, and do not load before cmd mods trust\nNo packages are installed.\n"
        )
    );
    machine.run("cmd mods trust").0.unwrap();
    assert_eq!(machine.run("cmd mods verify"), ok("file:a-mod  a-mod  project  ok\n"));
}

#[test]
fn a_mod_that_does_not_load_is_not_installed() {
    let machine = Machine::new();
    machine.package("1.0.0");
    machine.run("cmd mods pack a-mod").0.unwrap();
    machine.trial(r#"echo '{"number":0,"refused":"no key"}'"#);
    assert_eq!(
        machine.run("cmd mods add -g a-mod-1.0.0.tgz"),
        error(
            "the package was not installed, and nothing was changed: the mod a-mod does not load: no key [E_DECLINED]"
        )
    );
    assert_nothing_is_installed(&machine);
}

#[test]
fn an_archive_that_is_none_is_told_and_nothing_is_installed() {
    let machine = Machine::new();
    fs::write(machine.path("work/x.tgz"), "hello").unwrap();
    let (exit, _) = machine.run("cmd mods add -g x.tgz");
    assert_eq!(
        exit.unwrap_err(),
        "the archive cannot be used, get it anew or make it anew with cmd mods pack: it is not compressed with gzip [E_ARCHIVE]"
    );
    assert_eq!(
        machine.run("cmd mods add gone.tgz"),
        error("there is no such archive, make one with cmd mods pack: gone.tgz")
    );
    assert_nothing_is_installed(&machine);
}

/// Neither settings nor lock name anything, and the store is empty.
fn assert_nothing_is_installed(machine: &Machine) {
    for file in ["settings.json", "mods.lock"] {
        assert!(!machine.path("home").join(file).exists(), "{file}");
    }
    for folder in ["store", "tmp"] {
        let entries = fs::read_dir(machine.path("home/mods/.registry").join(folder)).into_iter().flatten();
        assert_eq!(entries.count(), 0, "{folder}");
    }
}

#[test]
fn a_damaged_installation_is_found() {
    let machine = Machine::new();
    machine.package("1.0.0");
    machine.run("cmd mods pack a-mod").0.unwrap();
    machine.run("cmd mods add -g a-mod-1.0.0.tgz").0.unwrap();
    let store = machine.path("home/mods/.registry/store");
    let tree = fs::read_dir(&store).unwrap().next().unwrap().unwrap().path();
    let manifest = tree.join("package.json");
    fs::set_permissions(&manifest, PermissionsExt::from_mode(0o644)).unwrap();
    fs::write(&manifest, "{}").unwrap();
    let (exit, json) = machine.run("cmd mods verify --json");
    assert_eq!(exit, Ok(Exit::Failure));
    let report: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(report["mods"][0]["problem"]["code"], "E_LOCK_DRIFT");
    let (_, text) = machine.run("cmd mods verify");
    assert!(
        text.starts_with("file:a-mod  a-mod  user  FAILED, file:a-mod is not installed as it is locked, run cmd mods update"),
        "{text}"
    );
}

#[test]
fn verify_without_packages_says_so() {
    assert_eq!(Machine::new().run("cmd mods verify"), ok("No packages are installed.\n"));
    assert_eq!(
        Machine::new().run("cmd mods verify --json"),
        ok("{\n  \"mods\": [],\n  \"warnings\": []\n}\n")
    );
}

#[test]
fn a_library_is_shown_without_being_run() {
    let mut machine = Machine::new();
    machine.package("1.0.0");
    machine.run("cmd mods pack a-mod").0.unwrap();
    let library = "a-mod/target/release/liba_mod.so";
    let bytes = fs::read(machine.path("work").join(library)).unwrap();
    let hash = registry::hash_bytes(&bytes);
    let inspection = registry::object::inspect(&bytes).unwrap();
    let shown = |loads: &str| {
        format!(
            "file       work/{library}\nmod        a-mod 1.0.0\ninterface  1.0\nhooks      on_stop\ntarget     TARGET\npanic      unwind\nformat     {} ELF\nglibc      {}\nneeds      {}\nsize       {}\nsha256     {}\nloads      {loads}\n",
            inspection.machine,
            registry::version::show(inspection.glibc_floor.unwrap()),
            inspection.needed.join(", "),
            hash.size,
            hash.sha256,
        )
    };
    assert_eq!(machine.run(&format!("cmd mods inspect {library}")), ok(&shown("yes")));
    machine.facts.interface = (2, 0);
    let (exit, text) = machine.run(&format!("cmd mods inspect {library}"));
    let last = text.lines().last().unwrap();
    assert_eq!((exit, text.lines().count()), (Ok(Exit::Failure), shown("no").lines().count()));
    assert!(last.starts_with("loads      no, ") && last.ends_with("[E_INTERFACE_MAJOR]"), "{last}");
}

#[test]
fn what_is_no_library_is_told() {
    let machine = Machine::new();
    fs::write(machine.path("work/x.so"), "hello").unwrap();
    assert_eq!(
        machine.run("cmd mods inspect x.so"),
        error(
            "work/x.so: not a shared library, expected the .so, .dylib or .dll of a crate with crate-type = [\"cdylib\"], got: a text file [E_NOT_A_LIBRARY]"
        )
    );
    assert_eq!(
        machine.run("cmd mods inspect y.so"),
        error("cannot read work/y.so: No such file or directory (os error 2)")
    );
}

/// The hash of a-mod's library, where it is built.
fn built_hash(machine: &Machine) -> String {
    let bytes = fs::read(machine.path("work/a-mod/target/release/liba_mod.so")).unwrap();
    registry::hash_bytes(&bytes).sha256
}

#[test]
fn the_child_tells_why_a_mod_does_not_load() {
    let machine = Machine::new();
    fs::write(machine.path("work/x.so"), "hello").unwrap();
    let (exit, told) = machine.run("cmd mods trial-load --limit-ms 10000 x.so none.so");
    assert_eq!(exit, Ok(Exit::Success));
    let told: Vec<_> = told.lines().filter(|line| !line.is_empty()).collect();
    assert!(
        told[0].starts_with(r#"{"number":0,"refused":"work/x.so: not a shared library"#)
            && told[0].ends_with("[E_NOT_A_LIBRARY]\"}"),
        "{told:?}"
    );
    assert!(told.len() == 2 && told[1].ends_with("[E_UNREADABLE]\"}"), "{told:?}");
}

mod lists;

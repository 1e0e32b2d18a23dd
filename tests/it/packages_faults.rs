//! Packages when something goes wrong outside of the program: it is killed, interrupted, or the disk does not do what
//! it should. What is there afterwards is what was there before, or what was to be there.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::Command,
};

use rustix::process::Signal;
use serde_json::json;

use crate::support::{
    fixtures,
    packages::{archive, mods, states},
    run::{Program, Ran, can, says},
    session::Folders,
};

const HINT: &str = "interrupting the command; once more ends it at once\n";
const INTERRUPTED: &str =
    "error: it was interrupted before anything was changed, run the command again [E_INTERRUPTED]\n";
/// Every call after which a crash leaves something else on the disk.
const STEPS: &str = "rename,renameat,renameat2,fsync,unlink,unlinkat,rmdir";

/// The names in a folder.
fn names(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).into_iter().flatten();
    names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// What was begun and not finished, in a folder and below.
fn unfinished(folder: &Path) -> Vec<String> {
    let begun = |name: &String| name.starts_with(".tmp-") || name.starts_with(".edit-");
    let mut all: Vec<_> = names(folder).into_iter().filter(begun).collect();
    let folders = names(folder).into_iter().map(|name| folder.join(name)).filter(|path| path.is_dir());
    folders.for_each(|folder| match folder.ends_with(".registry/tmp") {
        true => all.extend(names(&folder)),
        false => all.extend(unfinished(&folder)),
    });
    all
}

fn registry_folder(folders: &Folders) -> PathBuf {
    folders.home().join("mods/.registry")
}

/// Nothing is installed, and nothing half-made is left.
fn assert_nothing_is_there(folders: &Folders) {
    let home = folders.home();
    assert!(!home.join("mods.lock").exists() && !home.join("settings.json").exists(), "{:?}", names(&home));
    for folder in ["tmp", "store", "file", "npm", "git"] {
        assert_eq!(names(&registry_folder(folders).join(folder)), [""; 0], "{folder}");
    }
}

/// Adds an archive for the user.
fn add(folders: &Folders, archive: &Path) -> Program {
    folders.cmd(&["mods", "add", "-g", archive.to_str().unwrap()])
}

#[test]
fn threat_23_an_installer_that_is_killed_at_any_step_leaves_what_loads_and_what_the_next_one_mends() {
    if !can("strace", &["-f", "-qq", "-o", "/dev/null", "-e", "inject=fsync:signal=KILL", "true"]) {
        return;
    }
    let folders = Folders::new();
    let [first, second] = ["0.3.7", "0.3.8"].map(|version| archive(folders.dir(), 1, version, None));
    mods(&folders, &["add", "-g", first.to_str().unwrap()]);
    let (trace, mut killed) = (folders.dir().join("trace"), 0);
    loop {
        let inject = format!("inject={STEPS}:signal=KILL:when={}", killed + 1);
        let args =
            ["-f", "-qq", "-e", &format!("trace={STEPS}"), "-e", &inject, "-o", trace.to_str().unwrap()];
        let ran = add(&folders, &second).wrapped("strace", &args).run();
        if ran.code() == 0 {
            break;
        }
        killed += 1;
        let at = fs::read_to_string(&trace).unwrap();
        // What is there is whole: the old version or the new one, and it is loaded.
        let verified = mods(&folders, &["verify"]).stdout;
        assert_eq!(verified, "file:numbered-001  numbered-001  user  ok\n", "{killed}: {at}");
        assert_eq!(folders.play(&says("hi"), &[]).run().told(), (0, "hi\n", ""), "{killed}: {at}");
        // The next installation works and sweeps up; then all is as it was before.
        mods(&folders, &["add", "-g", first.to_str().unwrap()]);
        assert_eq!(unfinished(&folders.home()), [""; 0], "{killed}: {at}");
        assert_eq!(mods(&folders, &["lock", "--check"]).stdout.lines().count(), 1, "{killed}: {at}");
        let lock = fs::read_to_string(folders.home().join("mods.lock")).unwrap();
        assert!(lock.contains("resolved = \"0.3.7\""), "{killed}: {at}");
    }
    // Files, folders, store, lock and pointer have steps of their own.
    assert!(killed >= 10, "it was killed at {killed} steps only");
    assert_eq!(mods(&folders, &["verify"]).stdout, "file:numbered-001  numbered-001  user  ok\n");
}

#[test]
fn threat_23_an_installer_that_is_killed_before_it_names_the_package_is_finished_by_the_next_one() {
    if !can("strace", &["-f", "-qq", "-o", "/dev/null", "-e", "inject=fsync:signal=KILL", "true"]) {
        return;
    }
    let folders = Folders::new();
    let archive = archive(folders.dir(), 1, "0.3.7", None);
    let settings = folders.home().join("settings.json");
    let inject = ["-e", "inject=rename,renameat,renameat2:signal=KILL", "-P", settings.to_str().unwrap()];
    let args = [&["-f", "-qq", "-o", "/dev/null"], &inject[..]].concat();
    assert_ne!(add(&folders, &archive).wrapped("strace", &args).run().code(), 0);
    assert!(!settings.exists() && folders.home().join("mods.lock").exists());
    assert_eq!(mods(&folders, &["verify"]).stdout, "file:numbered-001  numbered-001  user  ok\n");
    let told = "info: a package is locked for the user, but mods.sources does not name it, so it is not loaded: \
                file:numbered-001\n";
    assert_eq!(folders.play(&says("hi"), &[]).run().told(), (0, "hi\n", told));
    mods(&folders, &["add", "-g", archive.to_str().unwrap()]);
    assert_eq!(folders.play(&says("hi"), &[]).run().told(), (0, "hi\n", ""));
    assert_eq!(unfinished(&folders.home()), [""; 0]);
}

#[test]
fn threat_23_a_removal_that_is_killed_at_any_step_is_finished_by_the_next_one() {
    if !can("strace", &["-f", "-qq", "-o", "/dev/null", "-e", "inject=fsync:signal=KILL", "true"]) {
        return;
    }
    let folders = Folders::new();
    let archive = archive(folders.dir(), 1, "0.3.7", None);
    let remove = || folders.cmd(&["mods", "remove", "-g", "file:numbered-001"]);
    for killed in 1.. {
        mods(&folders, &["add", "-g", archive.to_str().unwrap()]);
        let inject = format!("inject={STEPS}:signal=KILL:when={killed}");
        let ran = remove().wrapped("strace", &["-f", "-qq", "-o", "/dev/null", "-e", &inject]).run();
        if ran.code() == 0 {
            assert!(killed > 4, "it was killed at {killed} steps only");
            break;
        }
        mods(&folders, &["verify"]);
        let started = folders.play(&says("hi"), &[]).run();
        assert!(started.code() == 0 && !started.stderr.contains("warning"), "{killed}: {started:?}");
        // Where it was as good as removed, there is nothing of that name any more.
        let again = remove().run();
        assert!(
            again.code() == 0 || again.stderr.starts_with("error: no such package"),
            "{killed}: {again:?}"
        );
        assert_eq!(mods(&folders, &["lock", "--check"]).stdout.lines().count(), 1, "{killed}");
        assert_eq!(mods(&folders, &["verify"]).stdout, "No packages are installed.\n", "{killed}");
    }
}

/// The program where a command of the shell prepares the machine, in a namespace of its own.
fn in_namespace(program: Program, prepare: &str) -> Program {
    program.wrapped("unshare", &["-rm", "sh", "-c", &format!("{prepare} && exec \"$@\""), "sh"])
}

#[test]
fn a_disk_that_is_full_is_told_and_nothing_is_changed() {
    if !can("unshare", &["-rm", "sh", "-c", "mount -t tmpfs tmpfs /tmp"]) {
        return;
    }
    let folders = Folders::new();
    let archive = archive(folders.dir(), 1, "0.3.7", None);
    let left = folders.dir().join("left");
    // What is on the disk of the namespace is listed before it goes away.
    let script = format!(
        "mount -t tmpfs -o size=400k tmpfs \"$COMMANDCODE_HOME\" || exit 9\n\"$@\"; code=$?\n\
         find \"$COMMANDCODE_HOME\" -type f > {}; exit $code",
        left.display()
    );
    let ran = add(&folders, &archive).wrapped("unshare", &["-rm", "sh", "-c", &script, "sh"]).run();
    assert_eq!((ran.code(), &*ran.stdout), (1, ""));
    let told = |start: &str, end: &str| ran.stderr.starts_with(start) && ran.stderr.ends_with(end);
    assert!(
        told("error: could not write DIR/home/", ": No space left on device (os error 28) [E_IO]\n"),
        "{}",
        ran.stderr
    );
    let left = fs::read_to_string(left).unwrap();
    let mut left: Vec<_> = left.lines().map(|path| path.rsplit('/').next().unwrap()).collect();
    left.sort();
    assert_eq!(left, [".gitignore", ".lock"]);
}

#[test]
fn a_limit_on_the_size_of_files_is_told_as_what_it_is() {
    let folders = Folders::new();
    let archive = archive(folders.dir(), 1, "0.3.7", None);
    let limited = ["-c", "trap '' XFSZ; ulimit -f 64; exec \"$@\"", "sh"];
    let ran = add(&folders, &archive).wrapped("sh", &limited).run();
    assert!(ran.code() == 1 && ran.stderr.ends_with(": File too large (os error 27) [E_IO]\n"), "{ran:?}");
    assert_nothing_is_there(&folders);
    mods(&folders, &["add", "-g", archive.to_str().unwrap()]);
}

#[test]
fn a_disk_that_is_read_only_refuses_changes_and_loads_what_is_on_it() {
    if !can("unshare", &["-rm", "sh", "-c", "mount -t tmpfs tmpfs /tmp"]) {
        return;
    }
    let read_only = "mount --bind \"$COMMANDCODE_HOME\" \"$COMMANDCODE_HOME\" && \
                     mount -o remount,bind,ro \"$COMMANDCODE_HOME\"";
    let folders = Folders::new();
    let [first, second] = [1, 2].map(|number| archive(folders.dir(), number, "0.3.7", None));
    let refused = |ran: Ran| {
        let text = ran.stderr.lines().last().unwrap().to_owned();
        assert!(ran.code() == 1 && text.contains("Read-only file system (os error 30)"), "{ran:?}");
    };
    refused(in_namespace(add(&folders, &first), read_only).run());
    assert_eq!(names(&folders.home()), [""; 0]);
    mods(&folders, &["add", "-g", first.to_str().unwrap()]);
    refused(in_namespace(add(&folders, &second), read_only).run());
    refused(in_namespace(folders.cmd(&["mods", "remove", "-g", "file:numbered-001"]), read_only).run());
    for command in [&["list"][..], &["verify"], &["lock", "--check"]] {
        let ran = in_namespace(folders.cmd(&[&["mods"], command].concat()), read_only).run();
        assert_eq!(ran.code(), 0, "{command:?}: {ran:?}");
    }
    let session = folders.play(&says("hi"), &["--no-session"]);
    let ran = in_namespace(session, read_only).run();
    assert!(ran.code() == 0 && ran.stdout == "hi\n" && !ran.stderr.contains("not loaded"), "{ran:?}");
    assert_eq!(states(&folders), ["numbered-001 user found"]);
}

#[test]
fn while_a_slow_disk_keeps_an_installer_busy_others_read_and_wait_or_are_refused() {
    let slow = ["-f", "-qq", "-o", "/dev/null", "-e", "inject=fsync:delay_enter=100000"];
    if !can("strace", &[&slow[..], &["true"]].concat()) {
        return;
    }
    let folders = Folders::new();
    let [first, second, third] = [1, 2, 3].map(|number| archive(folders.dir(), number, "0.3.7", None));
    mods(&folders, &["add", "-g", first.to_str().unwrap()]);
    let running = add(&folders, &second).wrapped("strace", &slow).start();
    let tmp = registry_folder(&folders).join("tmp");
    while names(&tmp).is_empty() {
        std::thread::yield_now();
    }
    let ran = folders.cmd(&["mods", "add", "-g", "--no-wait", third.to_str().unwrap()]).run();
    let told = "error: another cmd is changing the packages of this scope, wait for it and try again: \
                DIR/home/mods/.registry/.lock [E_BUSY]\n";
    assert_eq!(ran.told(), (1, "", told));
    // Who only reads waits for nobody, and sees what is whole.
    assert_eq!(states(&folders), ["numbered-001 user found"]);
    assert_eq!(folders.play(&says("hi"), &[]).run().told(), (0, "hi\n", ""));
    let waiting = add(&folders, &third).start();
    waiting.wait_for_err(|err| err == "waiting for another cmd that changes the packages\n");
    assert_eq!((running.end().code(), waiting.end().code()), (0, 0));
    mods(&folders, &["lock", "--check"]);
    assert_eq!(states(&folders).len(), 3);
}

#[test]
fn an_installation_that_is_interrupted_during_its_trial_leaves_nothing_and_nobody() {
    for signal in [Signal::INT, Signal::TERM] {
        let folders = Folders::new();
        let archive = fixtures::archive("misbehaving", folders.dir());
        // Its constructor never returns.
        let running = add(&folders, &archive).env("MISBEHAVING_CONSTRUCTOR", "hang").start();
        while folders.processes().len() < 2 {
            std::thread::yield_now();
        }
        running.signal(signal);
        assert_eq!(running.end().told(), (1, "", &*format!("{HINT}{INTERRUPTED}")));
        assert_eq!(folders.processes(), [""; 0]);
        assert_nothing_is_there(&folders);
    }
}

#[test]
fn a_list_that_is_interrupted_takes_its_trials_with_it() {
    let folders = Folders::new();
    fs::create_dir(folders.home().join("mods")).unwrap();
    fs::copy(crate::support::session::library("misbehaving"), folders.home().join("mods/libmisbehaving.so"))
        .unwrap();
    let running = folders.cmd(&["mods", "list"]).env("MISBEHAVING_CONSTRUCTOR", "hang").start();
    while folders.processes().len() < 2 {
        std::thread::yield_now();
    }
    running.signal(Signal::TERM);
    assert_eq!(running.end().told(), (1, "", &*format!("{HINT}error: interrupted\n")));
    assert_eq!(folders.processes(), [""; 0]);
}

#[test]
fn an_installation_that_is_interrupted_while_it_fetches_ends_what_fetches() {
    let folders = Folders::new();
    let (bin, begun) = (folders.dir().join("bin"), folders.dir().join("begun"));
    fs::create_dir(&bin).unwrap();
    // A registry that never answers.
    fs::write(bin.join("npm"), format!("#!/bin/sh\nsleep 600 &\necho $! > {}\nwait\n", begun.display()))
        .unwrap();
    fs::set_permissions(bin.join("npm"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let running = folders.cmd(&["mods", "add", "-g", "-y", "npm:a"]).env("PATH", path).start();
    let helper = loop {
        if let Ok(pid) = fs::read_to_string(&begun).unwrap_or_default().trim().parse::<u32>() {
            break format!("/proc/{pid}/stat");
        }
    };
    running.signal(Signal::TERM);
    assert_eq!(running.end().told(), (1, "", &*format!("{HINT}{INTERRUPTED}")));
    assert_nothing_is_there(&folders);
    // What npm has started ends with it.
    let runs = |stat: String| !stat.rsplit(") ").next().unwrap_or_default().starts_with('Z');
    while fs::read_to_string(&helper).is_ok_and(runs) {
        std::thread::yield_now();
    }
}

#[test]
fn an_installation_that_is_interrupted_while_it_waits_for_another_ends() {
    let folders = Folders::new();
    let archive = archive(folders.dir(), 1, "0.3.7", None);
    fs::create_dir_all(registry_folder(&folders)).unwrap();
    let lock = File::create(registry_folder(&folders).join(".lock")).unwrap();
    lock.lock().unwrap();
    let running = add(&folders, &archive).start();
    let waiting = "waiting for another cmd that changes the packages\n";
    running.wait_for_err(|err| err == waiting);
    running.signal(Signal::INT);
    assert_eq!(running.end().told(), (1, "", &*format!("{waiting}{HINT}{INTERRUPTED}")));
    drop(lock);
    mods(&folders, &["add", "-g", archive.to_str().unwrap()]);
}

#[test]
fn files_that_were_added_to_an_installed_package_are_not_opened_and_verify_finds_them() {
    if !can("strace", &["-f", "-qq", "-o", "/dev/null", "true"]) {
        return;
    }
    let folders = Folders::new();
    mods(&folders, &["add", "-g", archive(folders.dir(), 1, "0.3.7", None).to_str().unwrap()]);
    let store = registry_folder(&folders).join("store");
    let tree = store.join(&names(&store)[0]);
    let writable = Command::new("chmod").args(["-R", "u+w"]).arg(&tree).status().unwrap();
    assert!(writable.success());
    crate::support::packages::mod_folder(&tree.join("mods/more"), 2);
    fs::copy(fixtures_library(&tree), tree.join("libindex.so")).unwrap();
    fs::write(tree.join("package.json"), json!({ "commandcode": { "mods": ["mods/*"] } }).to_string())
        .unwrap();
    let trace = folders.dir().join("trace");
    let wrap = ["-f", "-qq", "-e", "trace=open,openat,openat2", "-o", trace.to_str().unwrap()];
    let ran = folders.play(&says("hi"), &["--no-session"]).wrapped("strace", &wrap).run();
    assert_eq!(ran.told(), (0, "hi\n", ""));
    let text = fs::read_to_string(&trace).unwrap();
    let opened = text.lines().filter_map(|line| line.split('"').nth(1)?.strip_prefix(tree.to_str()?));
    let opened: std::collections::BTreeSet<_> = opened.collect();
    let library = fixtures_library(&tree);
    let library = library.to_str().unwrap().strip_prefix(tree.to_str().unwrap()).unwrap();
    assert_eq!(opened.into_iter().collect::<Vec<_>>(), [library, "/mod.toml"]);
    assert_eq!(states(&folders), ["numbered-001 user found"]);
    let ran = folders.cmd(&["mods", "verify"]).run();
    assert!(ran.code() == 1 && ran.stdout.ends_with("[E_LOCK_DRIFT]\n"), "{ran:?}");
}

/// The library of the only mod of an unpacked package.
fn fixtures_library(tree: &Path) -> PathBuf {
    tree.join("bin").join(mod_interface::abi::TARGET).join("numbered-1-0.3.7.so")
}

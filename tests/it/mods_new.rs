//! `cmd mods new`: what it makes is built, tested, tried and packed.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use mod_interface::abi::TARGET;
use serde_json::{Value, json};

use crate::support::{
    cargo::{cargo, target},
    session::Folders,
};

/// A new mod. It takes the versions of this workspace, which are on this machine.
fn new(folders: &Folders, name: &str) -> PathBuf {
    let ran = folders.cmd(&["mods", "new", name]).run();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).canonicalize().unwrap();
    let told = format!(
        "made the mod {name} in DIR/work/{name}\n\
         It is built with mod-interface of this checkout: {}\n\
         Who has none takes another form.\n\
         next, in its folder:\n  cargo test\n  cargo build && cmd --mod . -p \"…\"\n  cmd mods pack\n",
        root.join("mod-interface").display()
    );
    assert_eq!(ran.told(), (0, &*told, ""));
    let folder = folders.work().join(name);
    fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    folder
}

#[test]
fn a_new_mod_passes_its_test_loads_and_packs_as_it_was_made() {
    let folders = Folders::new();
    let folder = new(&folders, "made-for-a-test");
    let formatted =
        Command::new(env!("CARGO")).args(["fmt", "--check"]).current_dir(&folder).output().unwrap();
    assert!(formatted.status.success(), "{}", String::from_utf8_lossy(&formatted.stdout));
    let tested = cargo(&folder, &["test"]);
    let (stdout, stderr) = (String::from_utf8_lossy(&tested.stdout), String::from_utf8_lossy(&tested.stderr));
    assert!(stdout.contains("test result: ok. 2 passed; 0 failed"), "{stdout}{stderr}");
    assert!(!stderr.contains("warning"), "{stderr}");

    let built = cargo(&folder, &["build"]);
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let model = folders.scenario(&json!({ "turns": [] }));
    let prompt = ["-p", "/made-for-a-test-status", "--model", &model, "--mod", "made-for-a-test"];
    let ran = folders.cmd(&prompt).env("CARGO_TARGET_DIR", target()).run();
    assert_eq!(ran.told(), (0, "blocked so far: 0\n", ""));

    let pack = folders.cmd(&["mods", "pack", "made-for-a-test", "--json"]).with_cargo();
    let packed = pack.env("CARGO_NET_OFFLINE", "true").run();
    assert_eq!(packed.code(), 0, "{}", packed.stderr);
    let packed: Value = serde_json::from_str(&packed.stdout).unwrap();
    let expected = json!(["made-for-a-test", "0.1.0", [TARGET], "DIR/work/made-for-a-test-0.1.0.tgz"]);
    assert_eq!(json!([packed["name"], packed["version"], packed["targets"], packed["archive"]]), expected);
    let added = folders.cmd(&["mods", "add", "-g", "made-for-a-test-0.1.0.tgz"]).run();
    let told = "installed file:made-for-a-test 0.1.0 for the user\n  \
                made-for-a-test 0.1.0: commands: made-for-a-test-status; hooks: beforeToolCall\n";
    assert_eq!(added.told(), (0, told, ""));
}

#[test]
fn what_was_made_is_told_to_programs_and_a_folder_that_is_there_is_left_alone() {
    let folders = Folders::new();
    let args = ["mods", "new", "guard", "--path", "a/b", "--interface", "1.0", "--json"];
    let made: Value = serde_json::from_str(&folders.cmd(&args).run().stdout).unwrap();
    let files = ["Cargo.toml", "src/lib.rs", "src/tests.rs", "README.md", ".gitignore"];
    let interface = json!({ "from": "version", "at": "1.0" });
    let expected =
        json!({ "name": "guard", "folder": "DIR/work/a/b", "files": files, "interface": interface });
    assert_eq!(made, expected);
    let folder = folders.work().join("a/b");
    assert!(files.iter().all(|file| folder.join(file).is_file()));

    fs::write(folder.join("src/lib.rs"), "mine").unwrap();
    let again = folders.cmd(&args[..5]).run();
    let told = "error: this is there already, remove it, or name another folder with --path or another mod: DIR/work/a/b\n";
    assert_eq!(again.told(), (2, "", told));
    assert_eq!(fs::read_to_string(folder.join("src/lib.rs")).unwrap(), "mine");
    let typed = folders.cmd(&["mods", "new", "My_Guard"]).run();
    let told = "error: a mod's name is made of lower-case letters, digits and dashes, a letter first; \
                did you mean my-guard?: My_Guard\n";
    assert_eq!(typed.told(), (2, "", told));
}

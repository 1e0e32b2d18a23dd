//! A mod's way from its source to a session, through the program: pack, add, list, verify, inspect.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use mod_interface::abi::TARGET;
use serde_json::{Value, json};

use crate::support::{
    packages::without_built_ins,
    run::{calls, shell},
    session::{Folders, library},
};

const SKIP: &str = "--dangerously-skip-permissions";

/// The archive of a sample mod, packed once for all tests.
fn archive(name: &str) -> String {
    static PACKED: OnceLock<PathBuf> = OnceLock::new();
    let out = PACKED.get_or_init(|| {
        let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("packed");
        let _ = fs::remove_dir_all(&out);
        fs::create_dir(&out).unwrap();
        for name in ["custom-tool", "block-dangerous-commands"] {
            pack(&Folders::new(), name, &out);
        }
        out
    });
    out.join(format!("{name}-1.0.0.tgz")).display().to_string()
}

fn pack(folders: &Folders, name: &str, out: &Path) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("mods").join(name);
    let args = ["mods", "pack", source.to_str().unwrap(), "--out", out.to_str().unwrap()];
    let ran = folders.cmd(&args).with_cargo().run();
    let file = out.join(format!("{name}-1.0.0.tgz")).display().to_string();
    let file = file.replace(folders.work().parent().unwrap().to_str().unwrap(), "DIR");
    let told = format!("packed {name} 1.0.0 (interface 1.0, {TARGET}) into {file}\n");
    assert_eq!((ran.code(), &*ran.stdout), (0, &*told), "{}", ran.stderr);
}

/// A home with both sample mods.
fn installed() -> Folders {
    let folders = Folders::new();
    for name in ["custom-tool", "block-dangerous-commands"] {
        assert_eq!(folders.cmd(&["mods", "add", "-g", &archive(name)]).run().code(), 0);
    }
    folders
}

/// The library of an installed mod, and its hash.
fn stored(folders: &Folders, name: &str) -> (PathBuf, String) {
    let file = format!("lib{}.so", name.replace('-', "_"));
    let trees = fs::read_dir(folders.home().join("mods/.registry/store")).unwrap();
    let libraries = trees.map(|tree| tree.unwrap().path().join("bin").join(TARGET).join(&file));
    let library = libraries.into_iter().find(|library| library.exists()).unwrap();
    let sha256 = registry::hash_bytes(&fs::read(&library).unwrap()).sha256;
    (library, sha256)
}

fn flip_a_byte(file: &Path) {
    let mut bytes = fs::read(file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::set_permissions(file, fs::Permissions::from_mode(0o644)).unwrap();
    fs::write(file, bytes).unwrap();
}

#[test]
fn packing_twice_gives_the_same_bytes() {
    let folders = Folders::new();
    let [first, second] = ["first", "second"].map(|name| folders.work().join(name));
    for out in [&first, &second] {
        fs::create_dir(out).unwrap();
        pack(&folders, "custom-tool", out);
    }
    let bytes = |out: &Path| fs::read(out.join("custom-tool-1.0.0.tgz")).unwrap();
    assert!(bytes(&first) == bytes(&second), "the archives differ");
}

#[test]
fn an_added_mod_is_locked_stored_listed_and_acts() {
    let folders = Folders::new();
    let ran = folders.cmd(&["mods", "add", "-g", &archive("custom-tool")]).run();
    let told = "installed file:custom-tool 1.0.0 for the user\n  custom-tool 1.0.0: tools: count_todos\n";
    assert_eq!(ran.told(), (0, told, ""));
    let (_, first) = stored(&folders, "custom-tool");
    let lock = fs::read_to_string(folders.home().join("mods.lock")).unwrap();
    let kept = ["id = \"file:custom-tool\"", "resolved = \"1.0.0\"", &*format!("sha256 = \"{first}\"")];
    assert!(kept.iter().all(|line| lock.lines().any(|other| other == *line)), "{lock}");

    let ran = folders.cmd(&["mods", "add", "-g", &archive("block-dangerous-commands")]).run();
    let told = "installed file:block-dangerous-commands 1.0.0 for the user\n  \
                block-dangerous-commands 1.0.0: hooks: beforeToolCall\n";
    assert_eq!(ran.told(), (0, told, ""));
    let (_, second) = stored(&folders, "block-dangerous-commands");
    let list = format!(
        "NAME  VERSION  INTERFACE  SCOPE  STATE  SOURCE
custom-tool  1.0.0  1.0  user  loaded  file:custom-tool
    tools: count_todos
    sha256: {first}
block-dangerous-commands  1.0.0  1.0  user  loaded  file:block-dangerous-commands
    hooks: beforeToolCall
    sha256: {second}
"
    );
    let ran = folders.cmd(&["mods", "list"]).run();
    assert_eq!((ran.code(), without_built_ins(&ran.stdout), &*ran.stderr), (0, list, ""));
    let verified = "file:block-dangerous-commands  block-dangerous-commands  user  ok\n\
                    file:custom-tool  custom-tool  user  ok\n";
    assert_eq!(folders.cmd(&["mods", "verify"]).run().told(), (0, verified, ""));

    let ran = folders.play(&calls("count_todos", json!({})), &["--output-format", "stream-json"]).run();
    let result = json!([{ "type": "text", "text": "0 TODO markers in 0 files" }]);
    assert_eq!((ran.code(), &ran.events_of("tool_completed")[0]["result"]), (0, &result));
    let ran = folders.play(&shell("rm -rf ."), &[SKIP, "--output-format", "stream-json"]).run();
    let blocked = "Blocked by block-dangerous-commands: `rm -rf` deletes a tree without asking.";
    assert_eq!((ran.code(), &ran.events_of("tool_hook_blocked")[0]["hookOutput"]), (0, &blocked.into()));
}

#[test]
fn a_mod_whose_library_was_changed_does_not_load_and_the_others_act() {
    let folders = installed();
    let (library, expected) = stored(&folders, "custom-tool");
    flip_a_byte(&library);
    let (_, got) = stored(&folders, "custom-tool");
    let tidy = |path: &Path| {
        path.display().to_string().replace(folders.work().parent().unwrap().to_str().unwrap(), "DIR")
    };
    let reason = format!(
        "the library was changed after it was packed, install it again (cmd mods update, for an archive cmd mods add), expected sha256 {expected}, \
         got {got}: {}",
        tidy(&library)
    );
    let list = folders.cmd(&["mods", "list", "--json"]).run();
    let found: Value = serde_json::from_str(&list.stdout).unwrap();
    let own: Vec<_> =
        found["mods"].as_array().unwrap().iter().filter(|found| found["scope"] == "user").collect();
    let states: Vec<_> = own.iter().map(|found| [&found["name"], &found["state"]]).collect();
    assert_eq!(list.code(), 1);
    assert_eq!(json!(states), json!([["custom-tool", "failed"], ["block-dangerous-commands", "loaded"]]));
    assert_eq!(own[0]["reason"], format!("{reason} [E_HASH_MISMATCH]"));

    let verify = folders.cmd(&["mods", "verify", "--json"]).run();
    let found: Value = serde_json::from_str(&verify.stdout).unwrap();
    let problems =
        [0, 1].map(|index| [&found["mods"][index]["mod"], &found["mods"][index]["problem"]["code"]]);
    assert_eq!(verify.code(), 1);
    assert_eq!(json!(problems), json!([["block-dangerous-commands", null], ["custom-tool", "E_LOCK_DRIFT"]]));

    let ran = folders.play(&shell("rm -rf ."), &[SKIP, "--verbose"]).run();
    let told = format!(
        "warning: mod not loaded [E_HASH_MISMATCH] from file:custom-tool (user): {reason}\n\
         tool: shell_command was blocked: Blocked by block-dangerous-commands: `rm -rf` deletes a tree without asking.\n"
    );
    assert_eq!(ran.told(), (1, "done\n", &*told));

    // Adding it once more mends it.
    assert_eq!(folders.cmd(&["mods", "add", "-g", &archive("custom-tool")]).run().code(), 0);
    assert_eq!(stored(&folders, "custom-tool").1, expected);
    assert_eq!(folders.cmd(&["mods", "verify"]).run().code(), 0);
    assert_eq!(folders.play(&shell("true"), &[SKIP]).run().told(), (0, "done\n", ""));
}

#[test]
fn a_settings_file_written_by_hand_keeps_every_word_of_it() {
    let folders = Folders::new();
    let settings = folders.home().join("settings.json");
    let by_hand = "// Mine.\n{\n  \"maxTurns\": 7, // enough\n\n  /* none yet */\n  \"mods\": {\n    \"disabled\": [],\n  },\n}\n";
    fs::write(&settings, by_hand).unwrap();
    let added = by_hand.replace(
        "    \"disabled\": [],\n",
        "    \"disabled\": [],\n    \"sources\": [\n      \"file:custom-tool\"\n    ],\n",
    );
    // The second time it is there already.
    for _ in 0..2 {
        assert_eq!(folders.cmd(&["mods", "add", "-g", &archive("custom-tool")]).run().code(), 0);
        assert_eq!(fs::read_to_string(&settings).unwrap(), added);
    }
    let lock = fs::read_to_string(folders.home().join("mods.lock")).unwrap();
    assert_eq!(lock.matches("[[package]]").count(), 1);
    let trees = fs::read_dir(folders.home().join("mods/.registry/store")).unwrap();
    assert_eq!(trees.count(), 1);
}

#[test]
fn a_damaged_archive_changes_nothing() {
    let folders = Folders::new();
    let bytes = fs::read(archive("custom-tool")).unwrap();
    let mut flipped = bytes.clone();
    flipped[bytes.len() / 2] ^= 0xff;
    let damaged = [("cut.tgz", &bytes[..bytes.len() / 2]), ("flipped.tgz", &flipped), ("junk.tgz", b"junk")];
    for (name, bytes) in damaged {
        fs::write(folders.work().join(name), bytes).unwrap();
        let ran = folders.cmd(&["mods", "add", "-g", name]).run();
        assert_eq!((ran.code(), &*ran.stdout), (1, ""), "{name}");
        let told = "error: the archive cannot be used, get it anew or make it anew with cmd mods pack: ";
        assert!(ran.stderr.starts_with(told) && ran.stderr.ends_with(" [E_ARCHIVE]\n"), "{}", ran.stderr);
        let files = ["settings.json", "mods.lock"].map(|file| folders.home().join(file).exists());
        assert_eq!(files, [false, false], "{name}");
        let folders = ["store", "tmp"].map(|folder| folders.home().join("mods/.registry").join(folder));
        let left = folders.iter().flat_map(fs::read_dir).flatten().count();
        assert_eq!(left, 0, "{name}");
    }
    let told = "error: there is no such archive, make one with cmd mods pack: none.tgz\n";
    assert_eq!(folders.cmd(&["mods", "add", "none.tgz"]).run().told(), (2, "", told));
}

#[test]
fn a_projects_mod_is_told_to_wait_for_trust() {
    let folders = Folders::new();
    let ran = folders.cmd(&["mods", "add", &archive("custom-tool")]).run();
    let told = "installed file:custom-tool 1.0.0 for the project\n  custom-tool 1.0.0: tools: count_todos\n\
                It loads once the workspace is trusted, see cmd mods trust; in print mode only with --dangerously-skip-permissions.\n";
    assert_eq!(ran.told(), (0, told, ""));
    assert!(folders.work().join(".commandcode/mods.lock").exists());
    assert_eq!(fs::read_dir(folders.home()).unwrap().count(), 0);
    let list = "warning: the workspace is not trusted: its own mods are not looked at, and do not load before cmd mods trust\n\
                NAME  VERSION  INTERFACE  SCOPE  STATE  SOURCE\n\
                No other loads here.\n";
    let ran = folders.cmd(&["mods", "list"]).run();
    assert_eq!((ran.code(), &*without_built_ins(&ran.stdout), &*ran.stderr), (0, list, ""));
    let plain = folders.play(&calls("count_todos", json!({})), &["--output-format", "stream-json"]).run();
    assert_eq!(plain.events_of("tool_completed"), [Value::Null; 0]);
    let trusted =
        folders.play(&calls("count_todos", json!({})), &[SKIP, "--output-format", "stream-json"]).run();
    assert_eq!(trusted.events_of("tool_completed").len(), 1);
}

#[test]
fn what_a_library_says_of_itself_is_read_and_not_run() {
    let folders = installed();
    let (stored, sha256) = stored(&folders, "block-dangerous-commands");
    let package = stored.ancestors().nth(3).unwrap();
    let ran = folders.cmd(&["mods", "inspect", "--json", package.to_str().unwrap()]).run();
    let said: Value = serde_json::from_str(&ran.stdout).unwrap();
    let expected = json!([0, "block-dangerous-commands", "1.0.0", "1.0", TARGET, "unwind", sha256, null]);
    let keys = ["name", "version", "interface", "target", "panic", "sha256", "refusal"];
    let got: Vec<_> = [json!(ran.code())].into_iter().chain(keys.map(|key| said[key].clone())).collect();
    assert_eq!(json!(got), expected);

    let mark = folders.home().join("mark");
    let misbehaving = library("misbehaving");
    let inspect = folders.cmd(&["mods", "inspect", misbehaving.to_str().unwrap()]);
    let ran = inspect.env("MISBEHAVING_CONSTRUCTOR", &mark).run();
    assert!(ran.code() == 0 && ran.stdout.contains("mod        misbehaving 1.0.0\n"), "{ran:?}");
    assert!(!mark.exists(), "its constructor ran");
}

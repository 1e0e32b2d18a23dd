//! What programs read of the `mods` commands: one JSON value on standard output, whatever came of it, and the exit code.

use std::fs;

use mod_interface::abi::TARGET;
use registry::hash_bytes;
use serde_json::{Value, json};

use crate::support::{
    packages::{archive, numbered, versioned},
    run::Ran,
    session::Folders,
};

/// Runs a command, and gives its exit code with what it printed.
fn run(folders: &Folders, args: &[&str]) -> (i32, Value) {
    let ran = folders.cmd(&[&["mods"], args, &["--json"]].concat()).run();
    (ran.code(), json_of(&ran))
}

fn json_of(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:?}"))
}

#[test]
fn every_command_prints_one_json_value() {
    let folders = Folders::new();
    let [first, second] = ["0.3.7", "0.3.8"].map(|version| archive(folders.dir(), 1, version, None));
    let hash = |version| hash_bytes(versioned(1, version).bytes()).sha256;
    let added = |version: &str, previous: Value| {
        let registered = json!({ "channels": [], "commands": ["numbered-001"], "events": [], "flags": [], "hooks": [], "providers": [], "renderers": [], "tools": [] });
        json!({
            "package": "file:numbered-001", "version": version, "previous": previous, "scope": "user",
            "folder": "DIR/home", "warnings": [], "trusted": true,
            "mods": [{ "name": "numbered-001", "version": version, "registered": registered, "warnings": [] }],
        })
    };
    let row = |outcome: Value| {
        let mut row = json!({ "package": "file:numbered-001", "scope": "user" });
        row.as_object_mut().unwrap().extend(outcome.as_object().unwrap().clone());
        json!({ "packages": [row] })
    };
    assert_eq!(run(&folders, &["add", "-g", first.to_str().unwrap()]), (0, added("0.3.7", Value::Null)));
    assert_eq!(run(&folders, &["add", "-g", second.to_str().unwrap()]), (0, added("0.3.8", json!("0.3.7"))));
    let (code, mut listed) = run(&folders, &["list"]);
    listed["mods"].as_array_mut().unwrap().retain(|found| found["scope"] != "built_in");
    let registered = &added("", Value::Null)["mods"][0]["registered"];
    let library = listed["mods"][0]["library"].clone();
    let found = json!({
        "name": "numbered-001", "scope": "user", "source": "file:numbered-001", "version": "0.3.8", "interface": "1.0",
        "sha256": hash("0.3.8"), "hash": "ok", "state": "loaded", "library": library, "registered": registered,
        "warnings": [],
    });
    assert_eq!((code, &listed), (0, &json!({ "mods": [found], "warnings": [] })));
    assert_eq!(run(&folders, &["update"]), (0, row(json!({ "outcome": "unchanged" }))));
    let back = row(json!({ "outcome": "changed", "from": "0.3.8", "to": "0.3.7" }));
    assert_eq!(run(&folders, &["update", "--rollback", "file:numbered-001"]), (0, back));
    let sound = json!({ "scope": "user", "package": "file:numbered-001", "mod": "numbered-001", "signer": null, "problem": null });
    assert_eq!(run(&folders, &["verify"]), (0, json!({ "mods": [sound], "warnings": [] })));
    let fixed = json!({ "fixed": row(json!({ "outcome": "unchanged" })), "mods": [sound], "warnings": [] });
    assert_eq!(run(&folders, &["verify", "--fix"]), (0, fixed));
    let ran = folders.cmd(&["mods", "verify", "--json"]).env("LD_LIBRARY_PATH", "").run();
    let told = json!(["LD_LIBRARY_PATH is set: the system loads other libraries with every program"]);
    assert_eq!((ran.code(), &json_of(&ran)["warnings"]), (0, &told), "threat 20: told, not refused");
    assert_eq!(run(&folders, &["lock", "--check"]), (0, json!({ "differences": [] })));
    let trusted = json!({ "workspace": "DIR/work", "mods": [], "warnings": [] });
    assert_eq!(run(&folders, &["trust"]), (0, trusted));
    let untrusted = |was: bool| json!({ "workspace": "DIR/work", "wasTrusted": was });
    assert_eq!(run(&folders, &["untrust"]), (0, untrusted(true)));
    assert_eq!(run(&folders, &["untrust"]), (0, untrusted(false)));
    let removed = json!({ "package": "file:numbered-001", "scope": "user" });
    assert_eq!(run(&folders, &["remove", "-g", "npm:numbered-001"]).0, 2, "another kind of package");
    assert_eq!(run(&folders, &["remove", "-g", "file:numbered-001"]), (0, removed));
    let library = numbered(1).write(&folders.dir().join("library.so"));
    let (code, inspected) = run(&folders, &["inspect", library.to_str().unwrap()]);
    assert_eq!((code, &inspected["sha256"], &inspected["refusal"]), (0, &json!(hash("0.3.7")), &Value::Null));
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mods/numbered");
    let pack = ["mods", "pack", source, "--library", library.to_str().unwrap(), "--json"];
    let packed = json!({
        "archive": "DIR/work/numbered-001-0.3.7.tgz", "name": "numbered-001", "version": "0.3.7", "interface": "1.0",
        "targets": [TARGET], "signer": null,
    });
    assert_eq!(json_of(&folders.cmd(&pack).with_cargo().run()), packed);
}

#[test]
fn every_command_that_fails_tells_programs_why() {
    let folders = Folders::new();
    fs::write(folders.work().join("x.tgz"), "no archive").unwrap();
    fs::write(folders.work().join("x.so"), "no library").unwrap();
    let cases: [(&[&str], i32, Option<&str>); 9] = [
        (&["add", "-g", "x.tgz"], 1, Some("E_ARCHIVE")),
        (&["add", "-g", "gone.tgz"], 2, None),
        (&["add", "-g", "a b"], 1, Some("E_SOURCE")),
        (&["remove", "-g", "a"], 2, None),
        (&["update", "a"], 2, None),
        (&["trust", "a"], 2, None),
        (&["inspect", "x.so"], 1, Some("E_NOT_A_LIBRARY")),
        (&["pack"], 1, None),
        (&["list", "--cwd", "gone"], 2, None),
    ];
    for (args, code, named) in cases {
        let ran = folders.cmd(&[&["mods"], args, &["--json"]].concat()).run();
        let error = &json_of(&ran)["error"];
        assert_eq!((ran.code(), error["code"].as_str()), (code, named), "{args:?}: {ran:?}");
        // People read the same on standard error.
        assert!(ran.stderr.starts_with(&format!("error: {}", error["message"].as_str().unwrap())), "{ran:?}");
    }
    fs::write(folders.home().join("mods.lock"), "version = 1\n[[package]]\n").unwrap();
    for command in [&["list"][..], &["verify"], &["lock", "--check"]] {
        let (code, told) = run(&folders, command);
        assert!(code == 1 && told.to_string().contains("E_LOCK"), "{command:?}: {told}");
    }
}

//! Packages by the commands: what is written, what comes of it, what is said.

use std::{
    collections::BTreeSet,
    fs,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    thread,
};

use registry::{State, installed};
use serde_json::{Value, json};

use crate::support::{
    fixtures::Library,
    packages::{archive, mod_folder, mods, numbered, states, write},
    run::says,
    session::Folders,
};

#[test]
fn a_folder_is_used_where_it_is() {
    let folders = Folders::new();
    mod_folder(&folders.work().join("tools/local"), 1);
    let ran = mods(&folders, &["add", "./tools/local"]);
    let told = "installed path:DIR/work/tools/local 0.3.7 for the project\n  numbered-001 0.3.7: commands: numbered-001\n\
                It loads once the workspace is trusted, see cmd mods trust; in print mode only with --dangerously-skip-permissions.\n";
    assert_eq!(ran.stdout, told);
    let settings = fs::read_to_string(folders.work().join(".commandcode/settings.json")).unwrap();
    assert_eq!(
        serde_json::from_str::<Value>(&settings).unwrap(),
        json!({ "mods": { "sources": ["../tools/local"] } })
    );
    assert!(!folders.work().join(".commandcode/mods.lock").exists());
    mods(&folders, &["trust"]);
    assert_eq!(states(&folders), ["numbered-001 project found"]);
    let removed = mods(
        &folders,
        &["remove", "tools/../tools/local/."].map(|arg| if arg == "remove" { arg } else { "./tools/local" }),
    );
    assert_eq!(removed.stdout, "removed path:DIR/work/tools/local for the project\n");
    assert_eq!(states(&folders), [""; 0]);
    assert!(folders.work().join("tools/local/mod.toml").exists());

    let ran = folders.cmd(&["mods", "add", "./gone"]).run();
    let told = "error: there is no such folder: No such file or directory (os error 2): ./gone\n";
    assert_eq!(ran.told(), (2, "", told));
}

#[test]
fn entries_that_people_wrote_keep_their_shape() {
    let folders = Folders::new();
    let first = archive(folders.dir(), 1, "0.3.7", None);
    let second = archive(folders.dir(), 2, "0.3.7", None);
    let path = folders.home().join("settings.json");
    let by_hand = "{\n  // all of mine\n  \"mods\": {\n    \"sources\": [\n      {\"source\": \"file:numbered-001\", \"mods\": [\"*\"]}, // only these\n    ],\n  },\n}\n";
    write(&path, by_hand.as_bytes());
    mods(&folders, &["add", "-g", first.to_str().unwrap()]);
    assert_eq!(fs::read_to_string(&path).unwrap(), by_hand);
    mods(&folders, &["add", "-g", second.to_str().unwrap()]);
    mods(&folders, &["remove", "-g", "file:numbered-002"]);
    let after = fs::read_to_string(&path).unwrap();
    assert!(
        after.contains("{\"source\": \"file:numbered-001\", \"mods\": [\"*\"]}")
            && after.contains("// only these"),
        "{after}"
    );
    assert_eq!(states(&folders), ["numbered-001 user found"]);
}

#[test]
fn a_name_that_is_nearly_one_is_told_of() {
    let folders = Folders::new();
    mods(&folders, &["add", "-g", archive(folders.dir(), 1, "0.3.7", None).to_str().unwrap()]);
    for command in [&["remove", "-g"][..], &["update"], &["update", "--rollback"]] {
        let ran = folders.cmd(&[&["mods"], command, &["numbered-01"]].concat()).run();
        let told =
            "error: no such package is named in the settings, did you mean file:numbered-001?: numbered-01\n";
        assert_eq!(ran.told(), (2, "", told), "{command:?}");
    }
    let ran = folders.cmd(&["mods", "remove", "file:numbered-001"]).run();
    let told = "error: the package is installed for the user, remove it with -g: file:numbered-001\n";
    assert_eq!(ran.told(), (2, "", told));
    let ran = folders.cmd(&["mods", "remove", "-g", "zzz"]).run();
    assert_eq!(
        ran.told(),
        (2, "", "error: no such package is named in the settings, see cmd mods list: zzz\n")
    );
}

#[test]
fn a_package_goes_back_to_the_version_before() {
    let folders = Folders::new();
    for version in ["0.3.7", "0.3.8"] {
        mods(&folders, &["add", "-g", archive(folders.dir(), 1, version, None).to_str().unwrap()]);
    }
    let ran = mods(&folders, &["update", "--rollback", "file:numbered-001"]);
    assert_eq!(ran.stdout, "file:numbered-001  user  0.3.8 -> 0.3.7\n");
    let [candidate] = &installed(&folders.home(), &host::mod_host::host_facts())[..] else { panic!() };
    let State::Ok(found) = &candidate.state else { panic!("{candidate:?}") };
    assert_eq!(found.version.to_string(), "0.3.7");
    assert_eq!(folders.play(&says("hi"), &[]).run().told(), (0, "hi\n", ""));
}

#[test]
fn settings_lock_and_store_are_compared() {
    let folders = Folders::new();
    mods(&folders, &["add", "-g", archive(folders.dir(), 1, "0.3.7", None).to_str().unwrap()]);
    assert_eq!(
        mods(&folders, &["lock", "--check"]).stdout,
        "Settings, lock files and installed packages agree.\n"
    );
    folders.settings(&json!({ "mods": { "sources": ["npm:other"] } }));
    let ran = folders.cmd(&["mods", "lock", "--check", "--json"]).run();
    let told: Value = serde_json::from_str(&ran.stdout).unwrap();
    let codes: Vec<_> = told["differences"]
        .as_array()
        .unwrap()
        .iter()
        .map(|found| [&found["scope"], &found["code"]])
        .collect();
    assert_eq!(
        (ran.code(), json!(codes)),
        (1, json!([["user", "E_LOCK_OUTDATED"], ["user", "E_LOCK_OUTDATED"]]))
    );
    let ran = folders.cmd(&["mods", "lock"]).run();
    assert_eq!(ran.code(), 2);
}

#[test]
fn a_damaged_package_that_came_from_an_archive_is_told_and_holds_up_no_other() {
    let folders = Folders::new();
    for number in [1, 2] {
        mods(&folders, &["add", "-g", archive(folders.dir(), number, "0.3.7", None).to_str().unwrap()]);
    }
    let store = folders.home().join("mods/.registry/store");
    let library = |number: u16| {
        let trees = fs::read_dir(&store).unwrap().map(|tree| tree.unwrap().path());
        let file = |tree: std::path::PathBuf| {
            tree.join(format!("bin/{}/numbered-{number}-0.3.7.so", mod_interface::abi::TARGET))
        };
        trees.map(file).find(|path| path.exists()).unwrap()
    };
    let path = library(1);
    let mut bytes = fs::read(&path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::remove_file(&path).unwrap_or_else(|_| {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(path.parent().unwrap(), PermissionsExt::from_mode(0o755)).unwrap();
        fs::remove_file(&path).unwrap();
    });
    fs::write(&path, bytes).unwrap();
    let ran = folders.cmd(&["mods", "verify", "--fix"]).run();
    let lines: Vec<_> = ran.stdout.lines().collect();
    assert!(
        lines[0].starts_with("file:numbered-001  user  FAILED, could not fetch file:numbered-001"),
        "{lines:?}"
    );
    assert_eq!(lines[1], "file:numbered-002  user  unchanged");
    assert!(lines[2].starts_with("file:numbered-001  numbered-001  user  FAILED, "), "{lines:?}");
    assert_eq!((ran.code(), lines[3]), (1, "file:numbered-002  numbered-002  user  ok"));
}

#[test]
fn a_source_that_names_nothing_or_hides_a_password_is_refused() {
    let folders = Folders::new();
    let ran = folders.cmd(&["mods", "add", "https://user:secret@host/repo"]).run();
    assert_eq!((ran.code(), &*ran.stdout), (1, ""));
    assert!(ran.stderr.ends_with("[E_SOURCE]\n") && !ran.stderr.contains("secret"), "{}", ran.stderr);
    for source in ["--upload-pack=touch x", "ext::sh -c x", "npm:x@file:../y"] {
        let ran = folders.cmd(&["mods", "add", "--yes", "--", source]).run();
        assert!(ran.stderr.ends_with("[E_SOURCE]\n"), "{source}: {}", ran.stderr);
    }
    assert!(!folders.work().join(".commandcode").exists());
}

#[test]
fn threat_23_eight_programs_install_at_once() {
    let folders = Folders::new();
    let archives = [1, 2, 3, 4].map(|number| archive(folders.dir(), number, "0.3.7", None));
    // Each package twice, all at once.
    let twice = archives.iter().chain(&archives);
    let running: Vec<_> =
        twice.map(|archive| folders.cmd(&["mods", "add", "-g", archive.to_str().unwrap()]).start()).collect();
    for running in running {
        let ran = running.end();
        assert_eq!(ran.code(), 0, "{ran:?}");
    }
    assert_eq!(
        mods(&folders, &["lock", "--check"]).stdout,
        "Settings, lock files and installed packages agree.\n"
    );
    assert_eq!(mods(&folders, &["verify"]).stdout.lines().filter(|line| line.ends_with("  ok")).count(), 4);
    let mut found = states(&folders);
    found.sort();
    assert_eq!(found, [1, 2, 3, 4].map(|number| format!("numbered-{number:03} user found")));
}

#[test]
fn threat_5_what_is_loaded_is_what_was_hashed_whatever_happens_to_the_file() {
    let folders = Folders::new();
    let (folder, mark) = (folders.dir().join("mod"), folders.dir().join("mark"));
    mod_folder(&folder, 1);
    let library = folder.join("bin/mod.so");
    let good = numbered(1).bytes().to_vec();
    let evil = Library::built("misbehaving").bytes().to_vec();
    let stop = AtomicBool::new(false);
    let told: BTreeSet<String> = thread::scope(|scope| {
        scope.spawn(|| {
            let aside = folder.join("aside");
            while !stop.load(Relaxed) {
                // In place, and another file under the same name.
                fs::write(&library, &evil).unwrap();
                fs::write(&library, &good).unwrap();
                for bytes in [&evil, &good] {
                    fs::write(&aside, bytes).unwrap();
                    fs::rename(&aside, &library).unwrap();
                }
            }
        });
        let load = |_| {
            let args = ["mods", "trial-load", "--limit-ms", "10000", folder.to_str().unwrap()];
            let ran = folders.cmd(&args).env("MISBEHAVING_CONSTRUCTOR", &mark).run();
            assert_eq!(ran.code(), 0, "{ran:?}");
            let told: Value = serde_json::from_str(ran.stdout.trim()).unwrap();
            match told["loaded"]["name"].as_str() {
                Some(name) => name.to_owned(),
                None => told["refused"].as_str().unwrap().rsplit(' ').next().unwrap().to_owned(),
            }
        };
        let told = (0..60).map(load).collect();
        stop.store(true, Relaxed);
        told
    });
    assert!(!mark.exists(), "code ran that was not hashed");
    // A file that is half written is no library, which is seen before or after its hash.
    let expected = ["[E_HASH_MISMATCH]", "[E_UNREADABLE]", "numbered-001"];
    assert!(told.iter().all(|told| expected.contains(&told.as_str()) || told.starts_with("DIR")), "{told:?}");
}

#[test]
fn threat_20_what_fetches_gets_no_variable_that_would_make_it_load_or_use_something_else() {
    let folders = Folders::new();
    let (bin, seen) = (folders.dir().join("bin"), folders.dir().join("seen"));
    write(&bin.join("npm"), format!("#!/bin/sh\nenv > {}\nexit 1\n", seen.display()).as_bytes());
    fs::set_permissions(bin.join("npm"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let names = ["LD_LIBRARY_PATH", "LD_AUDIT", "GIT_DIR", "GIT_EXEC_PATH", "GIT_CONFIG_PARAMETERS"];
    let cmd = folders.cmd(&["mods", "add", "-g", "-y", "npm:a"]).env("PATH", path).env("KEPT", "1");
    let ran = names.into_iter().fold(cmd, |cmd, name| cmd.env(name, "")).run();
    assert!(ran.code() == 1 && ran.stderr.ends_with("[E_FETCH]\n"), "{ran:?}");
    let seen = fs::read_to_string(seen).unwrap();
    let seen: BTreeSet<_> = seen.lines().filter_map(|line| line.split('=').next()).collect();
    assert!(seen.contains("KEPT") && names.iter().all(|name| !seen.contains(name)), "{seen:?}");
}

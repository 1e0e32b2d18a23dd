//! Packages from a real git server, by GitHub's shorthand.

use std::fs;

use serde_json::{Value, json};

use crate::support::{
    git_server::GitServer,
    packages::{mod_folder_at, states},
    run::says,
    session::Folders,
};

const ID: &str = "git:github.com/owner/repo";

#[test]
fn a_tag_is_followed_by_its_name_and_one_that_moved_is_refused() {
    let (server, folders) = (GitServer::start(), Folders::new());
    let cmd = |args: &[&str]| server.cmd(&folders, &[&["mods"], args].concat()).run();
    let session = || folders.play(&says("hi"), &[]).run();
    let line = |text: &str| format!("{ID}  user  {text}\n");
    let version = |version: &'static str| server.commit("owner/repo", |tree| mod_folder_at(tree, 1, version));
    let first = version("0.3.7");
    server.git("owner/repo", &["tag", "v1"]);
    version("0.3.8");
    server.git("owner/repo", &["tag", "-a", "v2", "-m", "annotated"]);

    let ran = cmd(&["add", "-g", "--yes", "owner/repo@v1"]);
    let told = format!("installed {ID} 0.3.7 for the user\n  numbered-001 0.3.7: commands: numbered-001\n");
    assert_eq!(ran.told(), (0, &*told, ""));
    let settings: Value =
        serde_json::from_str(&fs::read_to_string(folders.home().join("settings.json")).unwrap()).unwrap();
    assert_eq!(settings, json!({ "mods": { "sources": ["owner/repo@v1"] } }));
    let lock = fs::read_to_string(folders.home().join("mods.lock")).unwrap();
    assert!(lock.contains(&format!("commit = \"{first}\"")) && lock.contains("ref_kind = \"tag\""), "{lock}");
    assert_eq!(session().told(), (0, "hi\n", ""));
    assert_eq!(cmd(&["update", "--latest"]).told(), (0, &*line("unchanged"), ""), "a tag is pinned");

    // Another ref in the settings is followed by a plain update.
    folders.settings(&json!({ "mods": { "sources": [{ "source": "https://github.com/owner/repo@v2" }] } }));
    let ran = cmd(&["update"]);
    assert!(
        ran.code() == 0 && ran.stdout.starts_with(&format!("{ID}  user  0.3.7 ({})", &first[..12])),
        "{ran:?}"
    );
    assert!(ran.stdout.contains(" -> 0.3.8 ("), "{ran:?}");

    // Threat 7: the tag names another commit now.
    version("0.3.9");
    server.git("owner/repo", &["tag", "-f", "v2"]);
    let ran = cmd(&["update"]);
    assert!(
        ran.code() == 1 && ran.stdout.contains("FAILED") && ran.stdout.ends_with("[E_TAG_MOVED]\n"),
        "{ran:?}"
    );
    assert_eq!(session().told(), (0, "hi\n", ""), "what is there stays and loads");
    let ran = cmd(&["update", "--accept-moved"]);
    assert!(ran.code() == 0 && ran.stdout.contains(" -> 0.3.9 ("), "{ran:?}");

    assert_eq!(
        cmd(&["remove", "-g", "https://github.com/owner/repo"]).stdout,
        format!("removed {ID} for the user\n")
    );
    assert_eq!(states(&folders), [""; 0]);
}

#[test]
fn a_branch_moves_only_when_it_is_asked_to() {
    let (server, folders) = (GitServer::start(), Folders::new());
    let cmd = |args: &[&str]| server.cmd(&folders, &[&["mods"], args].concat()).run();
    server.commit("owner/repo", |tree| mod_folder_at(tree, 1, "0.3.7"));
    assert_eq!(cmd(&["add", "-g", "-y", "owner/repo@main"]).code(), 0);
    server.commit("owner/repo", |tree| mod_folder_at(tree, 1, "0.3.8"));
    assert_eq!(cmd(&["update"]).stdout, format!("{ID}  user  unchanged\n"));
    let ran = cmd(&["update", "--latest"]);
    assert!(ran.code() == 0 && ran.stdout.contains(" -> 0.3.8 ("), "{ran:?}");
    let ran = cmd(&["add", "-g", "-y", "owner/repo@nowhere"]);
    assert!(ran.code() == 1 && ran.stderr.ends_with("[E_FETCH]\n"), "{ran:?}");
    let ran = cmd(&["add", "-g", "-y", "owner/other"]);
    assert!(ran.code() == 1 && ran.stderr.ends_with("[E_FETCH]\n"), "{ran:?}");
    assert_eq!(states(&folders), ["numbered-001 user found"]);
}

#[test]
fn threat_17_transports_that_nobody_allowed_are_not_used() {
    let (server, folders) = (GitServer::start(), Folders::new());
    server.commit("owner/repo", |tree| mod_folder_at(tree, 1, "0.3.7"));
    let ran =
        server.cmd(&folders, &["mods", "add", "-g", "-y", "owner/repo"]).env("GIT_ALLOW_PROTOCOL", "").run();
    assert!(ran.code() == 1 && ran.stderr.contains("not allowed"), "{ran:?}");
}

#[test]
fn another_version_of_an_entry_that_a_person_wrote_changes_its_version_alone() {
    let (server, folders) = (GitServer::start(), Folders::new());
    let cmd = |args: &[&str]| server.cmd(&folders, &[&["mods"], args].concat()).run();
    for version in ["0.3.7", "0.3.8"] {
        server.commit("owner/repo", |tree| mod_folder_at(tree, 1, version));
        server.git("owner/repo", &["tag", version]);
    }
    let settings = folders.home().join("settings.json");
    let by_hand = "{\n\t/* order */ \"zzz\": {}, \"mods\": {\n\t\t\"sources\": [\n\t\t\t\"../gone\", // not here\n\t\t\t{ \"mods\": [\"*\", \"!x\"], /* of */ \"source\": \"owner/repo@0.3.7\" } // the guard\n\t\t], \"disabled\": []\n\t}\n}\n";
    fs::write(&settings, by_hand).unwrap();
    assert_eq!(cmd(&["add", "-g", "-y", "owner/repo@0.3.7"]).code(), 0);
    assert_eq!(fs::read_to_string(&settings).unwrap(), by_hand);
    assert_eq!(cmd(&["add", "-g", "-y", "https://github.com/owner/repo@0.3.8"]).code(), 0);
    let after = by_hand.replace("owner/repo@0.3.7", "https://github.com/owner/repo@0.3.8");
    assert_eq!(fs::read_to_string(&settings).unwrap(), after);
    for command in [&["update"][..], &["verify", "--fix"], &["update", "--rollback", "owner/repo"]] {
        cmd(command);
        assert_eq!(fs::read_to_string(&settings).unwrap(), after, "{command:?}");
    }
    assert_eq!(cmd(&["remove", "-g", "owner/repo"]).code(), 0);
    let entry = "\t\t\t{ \"mods\": [\"*\", \"!x\"], /* of */ \"source\": \"https://github.com/owner/repo@0.3.8\" } // the guard\n";
    let left = fs::read_to_string(&settings).unwrap();
    assert_eq!(left.replace("\"../gone\" //", "\"../gone\", //"), after.replace(entry, ""));
}

#[test]
fn an_update_that_is_locked_installs_what_is_locked_and_resolves_nothing() {
    let (server, folders) = (GitServer::start(), Folders::new());
    let cmd = |args: &[&str]| server.cmd(&folders, &[&["mods"], args].concat()).run();
    server.commit("owner/repo", |tree| mod_folder_at(tree, 1, "0.3.7"));
    assert_eq!(cmd(&["add", "-g", "-y", "owner/repo"]).code(), 0);
    server.commit("owner/repo", |tree| mod_folder_at(tree, 1, "0.3.8"));
    // As on another machine, which has settings and lock alone.
    let store = folders.home().join("mods");
    let removed =
        std::process::Command::new("sh").args(["-c", "chmod -R u+w $0; rm -r $0"]).arg(store).status();
    assert!(removed.unwrap().success());
    assert_eq!(cmd(&["update", "--locked"]).told(), (0, &*format!("{ID}  user  restored\n"), ""));
    let lock = fs::read_to_string(folders.home().join("mods.lock")).unwrap();
    folders.settings(&json!({ "mods": { "sources": ["owner/repo@main", "owner/other"] } }));
    let told = format!(
        "{ID}  user  FAILED, settings and lock do not agree, run cmd mods update: the settings ask for owner/repo@main, \
         the lock has: owner/repo [E_LOCK_OUTDATED]\n\
         git:github.com/owner/other  user  FAILED, settings and lock do not agree, run cmd mods update: the lock has no \
         entry for: owner/other [E_LOCK_OUTDATED]\n"
    );
    assert_eq!(cmd(&["update", "--locked"]).told(), (1, &*told, ""));
    assert_eq!(fs::read_to_string(folders.home().join("mods.lock")).unwrap(), lock);
}

//! What people type where a package is meant: the name of its mod, the folder of its source, a name alone.

use std::fs;

use serde_json::json;

use crate::support::{
    packages::{archive, mods},
    session::Folders,
};

/// A home with two packages that have names of their own, and each the mod `numbered-001`.
fn installed(names: &[&str]) -> Folders {
    let folders = Folders::new();
    for name in names {
        let file = archive(folders.dir(), 1, "1.0.0", Some(name));
        let renamed = folders.dir().join(format!("{name}.tgz"));
        fs::rename(file, &renamed).unwrap();
        mods(&folders, &["add", "-g", renamed.to_str().unwrap()]);
    }
    folders
}

#[test]
fn a_package_is_removed_and_updated_by_the_name_of_its_mod() {
    let folders = installed(&["review-pack"]);
    assert_eq!(mods(&folders, &["update", "numbered-001"]).stderr, "");
    let removed = mods(&folders, &["remove", "-g", "numbered-001"]);
    assert_eq!(removed.stdout, "removed file:review-pack for the user\n");
    let again = folders.cmd(&["mods", "remove", "-g", "numbered-001"]).run();
    let told = "error: no such package is named in the settings, see cmd mods list: numbered-001\n";
    assert_eq!(again.told(), (2, "", told));
}

#[test]
fn a_mod_that_several_packages_have_names_none_of_them() {
    let folders = installed(&["pack-a", "pack-b"]);
    let ran = folders.cmd(&["mods", "remove", "-g", "numbered-001"]).run();
    let told = "error: several packages have this mod, name one of file:pack-a, file:pack-b: numbered-001\n";
    assert_eq!(ran.told(), (2, "", told));
}

#[test]
fn a_name_that_is_a_package_and_the_mod_of_another_names_neither() {
    let folders = installed(&["pack-a"]);
    folders.settings(&json!({ "mods": { "sources": ["file:pack-a", "numbered-001"] } }));
    let remove = |name: &str| folders.cmd(&["mods", "remove", "-g", name]).run();
    let told =
        "error: several packages have this mod, name one of file:pack-a, npm:numbered-001: numbered-001\n";
    assert_eq!(remove("numbered-001").told(), (2, "", told));
    assert_eq!(remove("npm:numbered-001").told(), (0, "removed npm:numbered-001 for the user\n", ""));
    assert_eq!(remove("numbered-001").told(), (0, "removed file:pack-a for the user\n", ""));
}

#[test]
fn the_source_of_a_mod_is_no_package_yet() {
    let folders = Folders::new();
    let source = folders.work().join("guard");
    fs::create_dir(&source).unwrap();
    fs::write(source.join("Cargo.toml"), "[package]\nname = \"guard\"\n").unwrap();
    let told = "error: this is the source of a mod, pack it first with cmd mods pack, or try it where it is with \
                cmd --mod: DIR/work/guard\n";
    for args in [["mods", "add", "./guard"], ["mods", "inspect", "guard"]] {
        assert_eq!(folders.cmd(&args).run().told(), (2, "", told), "{args:?}");
    }
}

#[test]
fn a_name_alone_says_that_npm_was_asked() {
    let folders = Folders::new();
    let told = |typed: &str| folders.cmd(&["mods", "add", typed, "--offline"]).run().stderr;
    let missing = "the package is not on this machine, run the command again without --offline: npm:guard [E_OFFLINE]\n";
    let other = "a folder is ./guard, an archive guard.tgz, a repository OWNER/REPO";
    assert_eq!(
        told("guard"),
        format!("error: the name guard is that of a package of npm, {other}: {missing}")
    );
    fs::create_dir(folders.work().join("guard")).unwrap();
    let folder = "did you mean the folder ./guard?";
    assert_eq!(
        told("guard"),
        format!("error: the name guard is that of a package of npm, {folder}: {missing}")
    );
    assert_eq!(told("npm:guard"), format!("error: {missing}"));
}

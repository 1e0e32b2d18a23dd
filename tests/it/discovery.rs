//! Where mods load from, in which order, and which of them the settings let through.

use std::fs;

use serde_json::json;

use crate::support::{
    packages::{archive, list, mod_folder, mods, numbered, states, write},
    run::says,
    session::Folders,
};

const SKIP: &str = "--dangerously-skip-permissions";

#[test]
fn mods_load_in_the_order_of_the_places_that_they_are_in() {
    let folders = Folders::new();
    let user = folders.home().join("mods");
    write(&user.join("libnumbered_001.so"), numbered(1).bytes());
    mod_folder(&user.join("m-manifest"), 2);
    write(&user.join("n-declared/package.json"), br#"{"commandcode": {"mods": ["inner/*"]}}"#);
    mod_folder(&user.join("n-declared/inner/three"), 3);
    mod_folder(&user.join("n-declared/mods/not-declared"), 30);
    mod_folder(&user.join("o-convention/mods/four"), 4);
    write(&user.join("p-index/libindex.so"), numbered(5).bytes());
    // What is never scanned: dot entries, other people's folders, a second level.
    mod_folder(&user.join(".hidden"), 31);
    mod_folder(&user.join("node_modules/x"), 32);
    mod_folder(&user.join("m-manifest/deeper"), 33);
    write(&folders.home().join("more/libnumbered_006.so"), numbered(6).bytes());
    mod_folder(&folders.home().join("more/of-them/seven"), 7);
    mod_folder(&folders.dir().join("local"), 8);
    mods(&folders, &["add", "-g", archive(folders.dir(), 9, "0.3.7", None).to_str().unwrap()]);
    folders.settings(&json!({ "mods": {
        "sources": ["file:numbered-009", "../local"],
        "paths": ["more/of-them", "more/libnumbered_006.so"],
    } }));
    let project = folders.work().join(".commandcode");
    write(&project.join("mods/libnumbered_010.so"), numbered(10).bytes());
    mod_folder(&project.join("paths/eleven"), 11);
    write(&project.join("settings.json"), br#"{"mods": {"paths": ["paths/eleven"]}}"#);
    let of_the_user: Vec<_> =
        [1, 2, 3, 4, 5, 7, 6, 9, 8].map(|n| format!("numbered-{n:03} user found")).into();
    assert_eq!(states(&folders), of_the_user);
    mods(&folders, &["trust"]);
    let project = [10, 11].map(|n| format!("numbered-{n:03} project found"));
    assert_eq!(states(&folders), [of_the_user, project.into()].concat());
}

#[test]
fn a_mod_that_is_named_comes_first_and_the_second_of_a_name_is_told_of() {
    let folders = Folders::new();
    let named = numbered(1).write(&folders.dir().join("named.so"));
    write(&folders.home().join("mods/libnumbered_001.so"), numbered(1).bytes());
    write(&folders.work().join(".commandcode/mods/libnumbered_002.so"), numbered(2).bytes());
    let ran = folders.play(&says("hi"), &[SKIP, "--mod", named.to_str().unwrap()]).run();
    let warning = "warning: mod not loaded [E_DUPLICATE] from DIR/home/mods/libnumbered_001.so (user): another mod of \
                   that name comes before it, from --mod DIR/named.so; take one of them out or rename it: numbered-001\n";
    assert_eq!(ran.told(), (1, "hi\n", warning));
}

#[test]
fn a_source_loads_what_its_filter_lets_through_by_path_or_by_name() {
    let folders = Folders::new();
    for (path, number) in [("review/fast", 1), ("review/slow", 2), ("lint/one", 3), ("lint/two", 4)] {
        mod_folder(&folders.dir().join("pack").join(path), number);
    }
    write(&folders.dir().join("pack/package.json"), br#"{"commandcode": {"mods": ["review", "lint/*"]}}"#);
    let passing = |mods: &[&str]| {
        folders.settings(&json!({ "mods": { "sources": [{ "source": "../pack", "mods": mods }] } }));
        let found = states(&folders).into_iter();
        found
            .filter_map(|line| line.strip_suffix(" user found").map(|name| name[11..].to_owned()))
            .collect::<Vec<_>>()
    };
    assert_eq!(passing(&[]), ["1", "2", "3", "4"]);
    assert_eq!(passing(&["review/*", "!review/slow"]), ["1"]);
    assert_eq!(passing(&["!numbered-00[12]"]), ["3", "4"]);
    assert_eq!(passing(&["lint/*", "+review/slow", "-numbered-003"]), ["2", "4"]);
    assert_eq!(passing(&["other/*"]), [""; 0], "a filter never widens what the package declares");
    assert_eq!(states(&folders)[0], "numbered-001 user filtered");
}

#[test]
fn a_package_that_the_project_names_too_is_the_projects() {
    let folders = Folders::new();
    mod_folder(&folders.dir().join("shared"), 1);
    let by = |path: &str| json!({ "mods": { "sources": [path] } });
    folders.settings(&by("../shared"));
    write(&folders.work().join(".commandcode/settings.json"), by("../../shared").to_string().as_bytes());
    assert_eq!(states(&folders), ["numbered-001 user found"], "an untrusted project shadows nothing");
    mods(&folders, &["trust"]);
    assert_eq!(states(&folders), ["numbered-001 project found", "numbered-001 user shadowed"]);
}

#[test]
fn a_package_that_is_named_and_not_there_is_told_with_what_brings_it() {
    let folders = Folders::new();
    folders.settings(&json!({ "mods": { "sources": ["npm:@team/gone@1", "../gone", "a b", "../gone"] } }));
    let ran = folders.play(&says("hi"), &[]).run();
    let told = "info: mods.sources names a package twice, the first counts: path:DIR/gone\n\
        warning: mod not loaded [E_NOT_INSTALLED] from npm:@team/gone (user): the settings name this package and it is \
        not installed, run cmd mods update: npm:@team/gone\n\
        warning: mod not loaded [E_NOT_INSTALLED] from DIR/gone (user): the settings name this package and it is not \
        installed, run cmd mods update: path:DIR/gone\n";
    let (code, stdout, stderr) = ran.told();
    assert_eq!((code, stdout), (1, "hi\n"));
    let (twice, source): (Vec<_>, Vec<_>) = stderr.lines().partition(|line| !line.contains("[E_SOURCE]"));
    assert_eq!(format!("{}\n", twice.join("\n")), told);
    assert!(
        source.len() == 1 && source[0].starts_with("warning: mod not loaded [E_SOURCE] from a b (user): ")
    );
}

#[test]
fn a_package_that_the_settings_do_not_name_is_not_loaded() {
    let folders = Folders::new();
    mods(&folders, &["add", "-g", archive(folders.dir(), 1, "0.3.7", None).to_str().unwrap()]);
    fs::remove_file(folders.home().join("settings.json")).unwrap();
    let ran = folders.play(&says("hi"), &[]).run();
    let told = "info: a package is locked for the user, but mods.sources does not name it, so it is not loaded: \
                file:numbered-001\n";
    assert_eq!(ran.told(), (0, "hi\n", told));
    assert_eq!(states(&folders), [""; 0]);
}

#[test]
fn a_loose_file_that_changed_loads_and_is_told_of_once() {
    let folders = Folders::new();
    let path = folders.home().join("mods/libnumbered_001.so");
    write(&path, numbered(1).bytes());
    let start = || folders.play(&says("hi"), &[]).run();
    assert_eq!(start().told(), (0, "hi\n", ""));
    write(&path, numbered(1).replace(".rodata", "edition-a", "edition-b").bytes());
    let listed = &list(&folders)["mods"][0];
    assert_eq!(
        json!([listed["hash"], listed["warnings"]]),
        json!(["unlocked", ["it changed since it was loaded last"]])
    );
    let told = "info: it changed since it was loaded last: DIR/home/mods/libnumbered_001.so (user)\n";
    assert_eq!(start().told(), (0, "hi\n", told));
    assert_eq!(start().told(), (0, "hi\n", ""));
}

#[test]
fn a_library_that_was_renamed_keeps_its_own_name() {
    let folders = Folders::new();
    write(&folders.home().join("mods/libother.so"), numbered(1).bytes());
    let told = "info: the library calls itself numbered-001, and that is its name in the settings too: \
                DIR/home/mods/libother.so\n";
    assert_eq!(folders.play(&says("hi"), &[]).run().told(), (0, "hi\n", told));
}

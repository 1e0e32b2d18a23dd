//! `--mod` and `--mod-option`, where what was typed is not what there is.

use crate::support::{
    packages::{numbered, write},
    run::says,
    session::{Folders, library},
};

#[test]
fn an_option_for_a_mod_that_there_is_not_is_an_error_that_names_the_nearest() {
    let folders = Folders::new();
    let guard = library("observe-events");
    let mods = ["--mod", guard.to_str().unwrap(), "--mod-option"];
    let run = |option: &str| folders.play(&says("hi"), &[&mods[..], &[option]].concat()).run();
    let told =
        "error: no mod is called obsrve-events, did you mean observe-events?: --mod-option obsrve-events.x\n";
    assert_eq!(run("obsrve-events.x=1").told(), (1, "", told));
    let told = "error: no mod is called y, see cmd mods list: --mod-option y.x\n";
    assert_eq!(run("y.x=1").told(), (1, "", told));
}

#[test]
fn an_option_that_no_mod_asked_for_is_told_at_the_end() {
    let folders = Folders::new();
    let misbehaving = library("misbehaving");
    let args = ["at=nowhere", "misbehaving.how=well", "misbehaving.hoow=well", "colour=red"];
    let args: Vec<_> = args.iter().flat_map(|option| ["--mod-option", *option]).collect();
    let ran =
        folders.play(&says("hi"), &[&["--mod", misbehaving.to_str().unwrap()], &args[..]].concat()).run();
    let told = "warning: no mod asked for this option: --mod-option colour\n\
                warning: no mod asked for this option, did you mean misbehaving.how?: --mod-option misbehaving.hoow\n";
    assert_eq!(ran.told(), (0, "hi\n", told));
}

#[test]
fn a_package_is_found_where_cargo_was_told_to_build_it() {
    let folders = Folders::new();
    write(&folders.work().join("Cargo.toml"), b"[package]\nname = \"numbered-001\"\n");
    let run = || folders.play(&says("hi"), &["--mod", "."]).env("CARGO_TARGET_DIR", "../elsewhere").run();
    let told = "warning: mod not loaded [E_NOT_A_MOD] from --mod DIR/work/.: no mod here: expected a library, a directory \
                with mod.toml, or a package that was built (no libnumbered_001.so below DIR/work/../elsewhere; run `cargo \
                build`): DIR/work/.\n";
    assert_eq!(run().told(), (1, "hi\n", told));
    write(&folders.dir().join("elsewhere/debug/libnumbered_001.so"), numbered(1).bytes());
    assert_eq!(run().told(), (0, "hi\n", ""));
}

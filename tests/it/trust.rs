//! A project's mods are code of whoever wrote the repository: nothing of them runs, or is even opened, before
//! the workspace is trusted, and only what it was then runs after.

use std::{fs, process::Command};

use host::{harness::Recording, settings::Settings};
use mod_interface::{ModApi, Result, builtin_mod};
use serde_json::{Value, json};

use crate::support::{
    behaving::only,
    packages::{archive, list, mods, numbered, states, write},
    run::says,
    session::{Folders, play},
};

const SKIP: &str = "--dangerously-skip-permissions";

/// A workspace with a loose mod, a package, and settings that turn a mod of the user off.
fn project() -> Folders {
    let folders = Folders::new();
    write(&folders.home().join("mods/libnumbered_001.so"), numbered(1).bytes());
    write(&folders.work().join(".commandcode/mods/libnumbered_002.so"), numbered(2).bytes());
    mods(&folders, &["add", archive(folders.dir(), 3, "0.3.7", None).to_str().unwrap()]);
    let settings = json!({ "mods": { "sources": ["file:numbered-003"], "disabled": ["numbered-001"] } });
    write(&folders.work().join(".commandcode/settings.json"), settings.to_string().as_bytes());
    folders
}

#[test]
fn what_a_project_brings_counts_from_trust_to_untrust() {
    let folders = project();
    let before = ["numbered-001 user found"];
    let after = ["numbered-001 user disabled", "numbered-002 project found", "numbered-003 project found"];
    assert_eq!(states(&folders), before);
    let trusted = mods(&folders, &["trust", "--json"]).stdout;
    let trusted: Value = serde_json::from_str(&trusted).unwrap();
    let hash = |number| json!({ "name": format!("numbered-{number:03}"), "sha256": registry::hash_bytes(numbered(number).bytes()).sha256 });
    assert_eq!(trusted["workspace"], "DIR/work");
    assert_eq!(trusted["mods"], json!([hash(2), hash(3)]));
    assert_eq!(states(&folders), after);
    assert_eq!(list(&folders)["warnings"], json!(["the project turns off a mod of the user: numbered-001"]));
    assert!(mods(&folders, &["untrust"]).stdout.ends_with("/work is no longer trusted\n"));
    assert!(mods(&folders, &["untrust"]).stdout.ends_with("/work was not trusted\n"));
    assert_eq!(states(&folders), before);
}

#[test]
fn a_mod_that_was_changed_or_added_is_untrusted_again() {
    let folders = project();
    mods(&folders, &["trust"]);
    let loose = folders.work().join(".commandcode/mods");
    write(
        &loose.join("libnumbered_002.so"),
        numbered(2).replace(".rodata", "edition-a", "edition-b").bytes(),
    );
    write(&loose.join("libnumbered_004.so"), numbered(4).bytes());
    let expected = [
        "numbered-001 user disabled",
        "numbered-003 project found",
        "numbered-002 project untrusted",
        "numbered-004 project untrusted",
    ];
    assert_eq!(states(&folders), expected);
    mods(&folders, &["trust"]);
    assert!(states(&folders).iter().all(|state| !state.ends_with("untrusted")));
}

#[test]
fn what_was_added_to_a_project_waits_for_trust_in_every_command() {
    let folders = Folders::new();
    let told = mods(&folders, &["add", archive(folders.dir(), 3, "0.3.7", None).to_str().unwrap()]).stdout;
    let waits = "It loads once the workspace is trusted, see cmd mods trust; in print mode only with \
                 --dangerously-skip-permissions.\n";
    assert!(told.ends_with(waits), "{told}");
    let untrusted = "warning: the workspace is not trusted: its own mods are not looked at, and do not load before cmd \
                     mods trust\n";
    let list = mods(&folders, &["list"]).stdout;
    assert!(list.starts_with(untrusted) && list.ends_with("No other loads here.\n"), "{list}");
    assert_eq!(mods(&folders, &["verify"]).stdout, format!("{untrusted}No packages are installed.\n"));
    mods(&folders, &["trust"]);
    assert_eq!(mods(&folders, &["verify"]).stdout, "file:numbered-003  numbered-003  project  ok\n");
    assert_eq!(states(&folders), ["numbered-003 project found"]);
}

#[test]
fn a_package_that_the_user_adds_to_a_trusted_project_is_trusted() {
    let folders = Folders::new();
    fs::create_dir(folders.work().join(".commandcode")).unwrap();
    assert!(mods(&folders, &["trust"]).stdout.ends_with("It has no mods of its own yet.\n"));
    mods(&folders, &["add", archive(folders.dir(), 3, "0.3.7", None).to_str().unwrap()]);
    assert_eq!(states(&folders), ["numbered-003 project found"]);
}

#[test]
fn print_mode_leaves_a_trusted_projects_mods_out_unless_permissions_are_skipped() {
    let folders = project();
    mods(&folders, &["trust"]);
    // The project's own list of what is off does not count either: the user's mod is a duplicate of itself.
    let named = numbered(1).write(&folders.dir().join("named.so"));
    let named = named.to_str().unwrap();
    let told = |args: &[&str]| folders.play(&says("hi"), &[&["--mod", named], args].concat()).run().stderr;
    assert!(
        told(&[]).contains("[E_DUPLICATE] from DIR/home/mods/libnumbered_001.so"),
        "the user's mod is on"
    );
    let third = numbered(3).write(&folders.dir().join("third.so"));
    let third = ["--mod", third.to_str().unwrap()];
    assert!(!told(&third).contains("file:numbered-003"), "the project's mod is not looked at");
    let plain = |args: &[&str]| folders.play(&says("hi"), args).run().stderr;
    let stay_out = "warning: the project's mods do not load in print mode, guards among them; \
                    --dangerously-skip-permissions loads them, --mod loads one\n";
    assert!(told(&third).contains(stay_out), "{}", told(&third));
    assert!(!told(&[SKIP]).contains(stay_out) && !plain(&["--no-mods"]).contains(stay_out));
    let skipped = told(&[&third[..], &[SKIP]].concat());
    assert!(skipped.contains("[E_DUPLICATE] from file:numbered-003 (project)"), "{skipped}");
}

#[test]
fn threat_24_nothing_of_a_project_is_opened_before_it_is_trusted() {
    if Command::new("strace").arg("-V").output().is_err() {
        eprintln!("skipped, because there is no strace");
        return;
    }
    let folders = project();
    let trace = folders.dir().join("trace");
    let opened = |args: &[&str]| {
        let wrap = ["-f", "-qq", "-e", "trace=open,openat,openat2,execve", "-o", trace.to_str().unwrap()];
        let model = folders.scenario(&says("hi"));
        let args: Vec<_> =
            args.iter().map(|arg| if *arg == "MODEL" { model.as_str() } else { arg }).collect();
        let ran = folders.cmd(&args).wrapped("strace", &wrap).run();
        assert_eq!(ran.code(), 0, "{ran:?}");
        let text = fs::read_to_string(&trace).unwrap();
        let project = text.lines().filter(|line| line.contains("/work/.commandcode/"));
        let names =
            project.map(|line| line.split('"').nth(1).unwrap().rsplit("/work/.commandcode/").next().unwrap());
        names.map(str::to_owned).collect::<std::collections::BTreeSet<_>>().into_iter().collect::<Vec<_>>()
    };
    assert_eq!(opened(&["-p", "go", "--model", "MODEL"]), ["settings.json"]);
    for command in [&["list"][..], &["list", "--static"], &["verify"], &["verify", "--fix"]] {
        assert_eq!(opened(&[&["mods"], command].concat()), ["settings.json"], "{command:?}");
    }
    mods(&folders, &["trust"]);
    assert_eq!(opened(&["-p", "go", "--model", "MODEL"]), ["settings.json"], "print mode asks nobody");
    let listed = opened(&["mods", "list", "--static"]);
    assert!(
        ["mods", "mods.lock", "mods/libnumbered_002.so"]
            .iter()
            .all(|name| listed.iter().any(|path| path == name)),
        "{listed:?}"
    );
}

/// The notices of a session with the user's loose mod and one that was named, under these settings of the project.
async fn notices(disabled: &[&str]) -> Vec<String> {
    let folders = Folders::new();
    write(&folders.home().join("mods/libnumbered_001.so"), numbered(1).bytes());
    let named = numbered(2).write(&folders.dir().join("named.so"));
    let mut settings = Settings::default();
    settings.mods.project.disabled = disabled.iter().map(ToString::to_string).collect();
    let record = play(&folders, &says("hi"), |builder| {
        builder
            .settings(settings)
            .record(Recording::InMemory)
            .mods([named])
            .built_in("own", builtin_mod!("own", idle))
    })
    .await;
    let lines = record.lines();
    only(&lines, &["notice"]).into_iter().map(str::to_owned).collect()
}

async fn idle(_: ModApi) -> Result<()> {
    Ok(())
}

#[tokio::test]
async fn decision_8_a_notice_names_each_mod_of_the_user_that_a_trusted_project_turns_off() {
    let off = |name: &str| format!("notice the project turns off a mod of the user: {name}");
    assert_eq!(notices(&["numbered-001"]).await, [off("numbered-001")], "a loose file");
    assert_eq!(notices(&["numbered-002"]).await, [off("numbered-002")], "one that was named");
    assert_eq!(
        notices(&["own", "numbered-001"]).await,
        [off("own"), off("numbered-001")],
        "one that is compiled in"
    );
    assert_eq!(notices(&["numbered-003"]).await, [""; 0]);
}

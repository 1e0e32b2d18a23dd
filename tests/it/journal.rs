//! Which mod a run ended in, when it did not end by itself.

use std::{path::Path, process::Child};

use crate::support::{
    cmd::{Start, finish},
    session::library,
};

/// Waits until a mod has left its mark: it is inside now. The process must not end before.
fn wait_for(mark: &Path, child: &mut Child) {
    while !mark.exists() {
        assert!(child.try_wait().unwrap().is_none(), "it ended before it was inside");
        std::thread::yield_now();
    }
}

/// A session that is killed while the misbehaving mod blocks at `at`; the folders that it leaves.
fn killed_inside(at: &str) -> Start {
    let start = Start::new();
    let inside = start.path("inside");
    let [at, how] = [format!("misbehaving.at={at}"), format!("misbehaving.how=block:{}", inside.display())];
    let start = start.with_mod(&library("misbehaving")).misbehaves();
    let mut child = start.command().args(["--mod-option", &at, "--mod-option", &how]).spawn().unwrap();
    wait_for(&inside, &mut child);
    child.kill().unwrap();
    assert_eq!(finish(&start.folders, child).code, None, "SIGKILL leaves no code");
    start
}

#[test]
fn decision_25_a_run_that_was_killed_inside_a_mod_is_told_of_at_the_next_start_and_once() {
    let places = [
        ("factory", "its factory"),
        ("beforeToolCall", "beforeToolCall"),
        ("onTurnEnd", "onTurnEnd"),
        ("observer", "an observer"),
    ];
    for (at, place) in places {
        let start = killed_inside(at);
        let told = format!(
            "warning: an earlier run ended inside mod:misbehaving, in {place}; `--no-mods` starts without mods\n"
        );
        let next = start.run();
        assert_eq!((next.code, next.stdout.as_str()), (Some(0), "done\n"));
        assert!(next.stderr.starts_with(&told), "{at}: {}", next.stderr);
        assert!(!start.run().stderr.contains("an earlier run"), "{at}: told again");
    }
}

#[test]
fn a_run_that_ends_by_itself_leaves_no_journal() {
    let start = Start::new().with_mod(&library("misbehaving")).misbehaves();
    assert_eq!(start.run().code, Some(0));
    let journals = std::fs::read_dir(start.folders.home().join("journal")).unwrap();
    assert_eq!(journals.count(), 0);
}

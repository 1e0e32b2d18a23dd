//! What hooks take: `cmd mods bench`, through the program. Figures of time are masked.

use std::{fs, path::Path, process::Command};

use regex::Regex;
use serde_json::{Value, json};

use super::timing::masked;
use crate::support::{
    run::Ran,
    session::{Folders, library},
};

/// What cmd says of itself.
const BUILT: &str = if cfg!(debug_assertions) {
    "This cmd is built without optimization: only with --release do the figures count.\n"
} else {
    ""
};

fn bench(folders: &Folders, mods: &[&Path], args: &[&str]) -> Ran {
    let mods: Vec<_> = mods.iter().map(|path| path.to_str().unwrap()).collect();
    let args = [&["mods", "bench", "--iterations", "20"], args, &mods].concat();
    // Where there is nothing to count allocations with.
    folders.cmd(&args).env("PATH", "").run()
}

/// What is told of that.
const UNCOUNTED: &str = "Allocations are not counted: valgrind counts them, and it is not installed.\n";

/// The text with a `T` for each time, an `S` for each size and an `N` for the line of a panic.
fn bare(text: &str) -> String {
    let sizes = Regex::new("[0-9.]+ [kM]B").unwrap();
    let lines = Regex::new("bad.rs:[0-9]+").unwrap();
    lines.replace_all(&sizes.replace_all(&masked(text), "S"), "bad.rs:N").into_owned()
}

/// What is told of a mod that does this wrong at `beforeToolCall`.
fn misbehaves(how: &str) -> (i32, String) {
    let folders = Folders::new();
    folders.settings(&json!({ "mods": { "hookTimeoutMs": 50 } }));
    let how = format!("misbehaving.how={how}");
    let options = ["--mod-option", "misbehaving.at=beforeToolCall", "--mod-option", &how];
    let ran = bench(&folders, &[&library("misbehaving")], &options);
    assert_eq!(ran.stderr, "");
    let text = bare(&ran.stdout).replace(BUILT, "");
    let text = text.strip_prefix("misbehaving 1.0.0: S, loads in T\n").unwrap().to_owned();
    (ran.code(), text.replace(&format!("{}{UNCOUNTED}", explained("100 messages")), ""))
}

const HEAD: &str = "HOOK  ANSWER  CALLS  P50  P99  MAX  EMPTY  ALLOCATIONS";

/// What is told of the columns.
fn explained(messages: &str) -> String {
    format!(
        "With {messages}; EMPTY is the P50 of a compiled-in hook that does nothing, answered alike.\n\
         Reading the clock, T, is taken off.\n"
    )
}

/// The table of one hook, and what went wrong with it.
fn table(row: &str, failure: &str) -> String {
    format!("  {HEAD}\n  beforeToolCall  {row}  T  T  T  T  -\n  beforeToolCall {failure}\n")
}

#[test]
fn each_hook_of_each_mod_is_a_row() {
    let folders = Folders::new();
    let mods = [library("overhead"), library("block-dangerous-commands"), library("custom-tool")];
    let mods = mods.each_ref().map(|path| &**path);
    let ran = bench(&folders, &mods, &["--mod-option", "overhead.form=pending", "--messages", "1"]);
    let table = |answer| format!("  {HEAD}\n  beforeToolCall  {answer}  20  T  T  T  T  -\n");
    let expected = format!(
        "overhead 1.0.0: S, loads in T\n{}block-dangerous-commands 1.0.0: S, loads in T\n{}\
         custom-tool 1.0.0: S, loads in T\n  has no hooks\n{}{UNCOUNTED}{BUILT}",
        table("pending"),
        table("ready"),
        explained("1 message"),
    );
    assert_eq!((ran.code(), bare(&ran.stdout), &*ran.stderr), (0, expected, ""));
}

#[test]
fn a_hook_that_fails_is_told_in_its_row() {
    assert_eq!(misbehaves("error"), (1, table("ready  20", "failed 20 of 20 times: went wrong")));
    assert_eq!(
        misbehaves("panic-called"),
        (
            1,
            table(
                "ready  20",
                "failed 20 of 20 times: panicked: called at tests/mods/misbehaving/src/bad.rs:N"
            )
        )
    );
    // More than once would only take more time.
    let timeout = "failed 1 of 1 times: timeout: took longer than T of its own time";
    assert_eq!(misbehaves("hang"), (1, table("pending  1", timeout)));
}

#[test]
fn a_hook_that_never_comes_back_ends_its_own_process_alone() {
    let mark = tempfile::tempdir().unwrap();
    let block = format!("block:{}", mark.path().join("mark").display());
    let told = "  beforeToolCall: a call did not come back within 1.05s: it blocks, or waits for something outside\n";
    assert_eq!(misbehaves(&block), (1, told.to_owned()));
}

#[test]
fn a_mod_that_does_not_load_is_told_and_the_others_are_measured() {
    let folders = Folders::new();
    let ran = bench(&folders, &[Path::new("gone.so"), &library("custom-tool")], &[]);
    let expected = format!(
        "DIR/work/gone.so\n  does not load: cannot read the library, check its path and who may read it: \
         No such file or directory (os error 2): DIR/work/gone.so [E_UNREADABLE]\n\
         custom-tool 1.0.0: S, loads in T\n  has no hooks\n{BUILT}"
    );
    assert_eq!((ran.code(), bare(&ran.stdout), &*ran.stderr), (1, expected, ""));
}

#[test]
fn the_same_is_json_and_a_chart() {
    let folders = Folders::new();
    let (overhead, chart) = (library("overhead"), folders.work().join("hooks.svg"));
    let ran = bench(&folders, &[&overhead], &["--json", "--svg", "hooks.svg"]);
    let mut told: Value = serde_json::from_str(&ran.stdout).unwrap();
    let opened = &mut told["mods"][0];
    for figure in ["/size", "/loadNs"] {
        assert!(opened.pointer_mut(figure).unwrap().take().as_u64().unwrap() > 0, "{figure}");
    }
    for figure in ["/clockNs", "/ready/took", "/ready/empty"] {
        opened.pointer_mut(&format!("/measured/0{figure}")).unwrap().take();
    }
    let expected = json!({
        "messages": 100, "iterations": 20, "optimized": !cfg!(debug_assertions),
        "uncounted": "valgrind counts them, and it is not installed",
        "mods": [{
            "path": overhead, "name": "overhead", "version": "1.0.0", "size": null, "loadNs": null,
            "hooks": ["beforeToolCall"], "error": null,
            "measured": [{
                "hook": "beforeToolCall", "calls": 20, "faults": 0, "fault": null,
                "ready": { "calls": 20, "took": null, "empty": null }, "pending": null,
                "clockNs": null, "allocations": null, "error": null,
            }],
        }],
    });
    assert_eq!((ran.code(), told, &*ran.stderr), (0, expected, ""));
    assert!(fs::read_to_string(chart).unwrap().starts_with("<svg "));

    let ran = bench(&folders, &[&overhead], &["--svg", "no/hooks.svg"]);
    let told = "error: cannot write the chart, name another file: DIR/work/no/hooks.svg: \
                No such file or directory (os error 2)\n";
    assert_eq!((ran.code(), &*ran.stderr), (1, told));
}

/// What is counted of a job of the mod `overhead`.
fn allocations(job: &str) -> Value {
    let (folders, job) = (Folders::new(), format!("overhead.job={job}"));
    let (library, form) = (library("overhead"), "overhead.form=sync");
    let options = ["--iterations", "1", "--json", "--mod-option", &job, "--mod-option", form];
    let args = [&["mods", "bench", library.to_str().unwrap()], &options[..]].concat();
    let ran = folders.cmd(&args).patiently().run();
    serde_json::from_str::<Value>(&ran.stdout).unwrap()["mods"][0]["measured"][0].take()
}

#[test]
fn allocations_of_the_mod_and_of_cmd_are_counted_where_valgrind_is() {
    if !Command::new("valgrind").arg("--version").output().is_ok_and(|it| it.status.success()) {
        println!("skipped: valgrind is not installed");
        return;
    }
    let looked = allocations("name");
    assert_eq!((&looked["allocations"], &looked["error"]), (&json!(0.0), &Value::Null));
    let rewrote = allocations("rewrite");
    assert!(rewrote["allocations"].as_f64().unwrap() >= 2.0, "{rewrote}");
}

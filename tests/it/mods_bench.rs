//! What hooks take: `cmd mods bench`, through the program. Figures of time are masked.

use std::{fs, path::Path};

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
    folders.cmd(&[&["mods", "bench", "--iterations", "20"], args, &mods].concat()).run()
}

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
    (ran.code(), text.replace("With 100 messages; EMPTY is the P50 of a compiled-in hook that does nothing.\nReading the clock, T, is taken off.\n", ""))
}

/// The table of one hook, and what went wrong with it.
fn table(row: &str, failure: &str) -> String {
    let head = "HOOK  CALLS  PENDING  P50  P99  MAX  EMPTY";
    format!("  {head}\n  beforeToolCall  {row}  T  T  T  T\n  beforeToolCall {failure}\n")
}

#[test]
fn each_hook_of_each_mod_is_a_row() {
    let folders = Folders::new();
    let mods = [library("overhead"), library("block-dangerous-commands"), library("custom-tool")];
    let mods = mods.each_ref().map(|path| &**path);
    let ran = bench(&folders, &mods, &["--mod-option", "overhead.form=pending", "--messages", "1"]);
    let table = "  HOOK  CALLS  PENDING  P50  P99  MAX  EMPTY\n  beforeToolCall  20";
    let expected = format!(
        "overhead 1.0.0: S, loads in T\n{table}  100 %  T  T  T  T\n\
         block-dangerous-commands 1.0.0: S, loads in T\n{table}  0 %  T  T  T  T\n\
         custom-tool 1.0.0: S, loads in T\n  has no hooks\n\
         With 1 message; EMPTY is the P50 of a compiled-in hook that does nothing.\n\
         Reading the clock, T, is taken off.\n{BUILT}"
    );
    assert_eq!((ran.code(), bare(&ran.stdout), &*ran.stderr), (0, expected, ""));
}

#[test]
fn a_hook_that_fails_is_told_in_its_row() {
    assert_eq!(misbehaves("error"), (1, table("20  0 %", "failed 20 of 20 times: went wrong")));
    assert_eq!(
        misbehaves("panic-called"),
        (
            1,
            table(
                "20  0 %",
                "failed 20 of 20 times: panicked: called at tests/mods/misbehaving/src/bad.rs:N"
            )
        )
    );
    // More than once would only take more time.
    let timeout = "failed 1 of 1 times: timeout: took longer than T of its own time";
    assert_eq!(misbehaves("hang"), (1, table("1  100 %", timeout)));
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
    for figure in ["/clockNs", "/took", "/empty"] {
        opened.pointer_mut(&format!("/measured/0{figure}")).unwrap().take();
    }
    let expected = json!({
        "messages": 100, "iterations": 20, "optimized": !cfg!(debug_assertions),
        "mods": [{
            "path": overhead, "name": "overhead", "version": "1.0.0", "size": null, "loadNs": null,
            "hooks": ["beforeToolCall"], "error": null,
            "measured": [{
                "hook": "beforeToolCall", "calls": 20, "pending": 0, "faults": 0, "fault": null,
                "took": null, "empty": null, "clockNs": null, "error": null,
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

//! What `cargo bench --bench hook_overhead -- --check` holds against its table.

#[path = "../../benches/hook_overhead/promises.rs"]
mod promises;

use std::{fs, path::Path, process::Output};

use promises::{BOXED, FEW, LACK_IT, NOBODY, ONE, Promise, in_a_run, promises};

use mod_interface::types::Hook;

use crate::support::cargo::cargo;

/// Medians that keep every promise, but where `row` is.
fn all_but(row: &'static str, worse: f64) -> Vec<Promise> {
    promises(move |_, way| {
        let kept = match way {
            NOBODY => 50.0,
            ONE => 60.0,
            _ => 20.0,
        };
        Some(if way == row { worse } else { kept })
    })
}

fn missed(promises: &[Promise]) -> Vec<String> {
    promises.iter().filter(|promise| !promise.is_kept()).map(ToString::to_string).collect()
}

#[test]
fn a_promise_that_is_missed_is_named_and_the_rest_is_met() {
    assert_eq!(missed(&all_but("nothing", 0.0)), Vec::<String>::new());
    let lacked = Hook::ALL.map(|hook| {
        format!("{hook} in a run, 10 messages, 50 mods that lack it, by the boxed future, at most 0.4: 0.50: MISSED")
    });
    assert_eq!(missed(&all_but(LACK_IT, 30.0)), lacked);
    assert_eq!(
        missed(&all_but(ONE, 250.0)),
        ["text_delta, an observer, by the boxed future, at most 4: 10.00: MISSED"]
    );
    assert_eq!(
        missed(&all_but("e shared library, sync", 50.0)),
        [
            "e shared library, sync, 10 messages, by the boxed future, at most 1.7: 2.50: MISSED",
            "e shared library, sync, 100000 messages, by the boxed future, at most 1.7: 2.50: MISSED",
        ]
    );
}

#[test]
fn what_was_not_measured_is_no_promise_kept() {
    let promises = promises(|_, way| (way == BOXED).then_some(20.0));
    assert!(promises.iter().all(|promise| promise.to_string().ends_with(": was not measured")));
    assert_eq!(missed(&promises).len(), promises.len());
}

/// Has the benchmark check what is in `folder`, as if criterion had left it there.
fn check(folder: &Path) -> Output {
    let bench = ["test", "--quiet", "--bench", "hook_overhead", "--", "--check", "--earlier"];
    cargo(Path::new(env!("CARGO_MANIFEST_DIR")), &[&bench[..], &[folder.to_str().unwrap()]].concat())
}

#[test]
fn the_benchmark_says_which_promise_is_missed_and_fails() {
    let folder = tempfile::tempdir().unwrap();
    let measured = |group: &str, way: &str, nanos: f64| {
        let folder = folder.path().join(group).join(way).join("new");
        fs::create_dir_all(&folder).unwrap();
        let estimates = serde_json::json!({ "median": { "point_estimate": nanos } });
        fs::write(folder.join("estimates.json"), estimates.to_string()).unwrap();
    };
    // Asks for all that is promised of.
    promises(|group, way| {
        measured(group, way, if way == ONE { 60.0 } else { 50.0 });
        Some(1.0)
    });
    let kept = check(folder.path());
    let said = String::from_utf8(kept.stdout).unwrap();
    assert!(kept.status.success(), "{said}{}", String::from_utf8_lossy(&kept.stderr));
    assert!(said.lines().count() > 20 && said.lines().all(|line| line.ends_with(": met")), "{said}");

    measured(&in_a_run(Hook::OnStop, FEW), LACK_IT, 75.0);
    let failed = check(folder.path());
    let said = String::from_utf8(failed.stdout).unwrap();
    let missed: Vec<_> = said.lines().filter(|line| !line.ends_with(": met")).collect();
    let line =
        "onStop in a run, 10 messages, 50 mods that lack it, by the boxed future, at most 0.4: 0.50: MISSED";
    assert_eq!((missed, failed.status.success()), (vec![line], false));
}

//! What `cargo bench --bench hook_overhead -- --check` holds against its table.

#[path = "../../benches/hook_overhead/promises.rs"]
mod promises;

use promises::{BOXED, LACK_IT, NOBODY, ONE, Promise, promises};

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
    assert_eq!(
        missed(&all_but(LACK_IT, 30.0)),
        [
            "before_tool_call in a run, no mod has it, 50 mods that lack it by no mods, at most 1.1: 1.50: MISSED"
        ]
    );
    assert_eq!(
        missed(&all_but(ONE, 250.0)),
        ["text_delta, an observer, by the boxed future, at most 5: 10.00: MISSED"]
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

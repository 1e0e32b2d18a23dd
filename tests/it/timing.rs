//! What hooks take: `--mod-timing`, through the program.

use regex::Regex;
use serde_json::{Value, json};

use crate::support::{
    run::{Ran, says},
    session::{Folders, library},
};

/// A run with a mod that fails at `onStop`.
fn timed(args: &[&str]) -> Ran {
    let misbehaving = library("misbehaving");
    let mods = ["--mod", misbehaving.to_str().unwrap()];
    let how = ["--mod-option", "misbehaving.at=onStop", "--mod-option", "misbehaving.how=error"];
    Folders::new().play(&says("done"), &[&mods[..], &how, &["--mod-timing"], args].concat()).run()
}

/// The text with a `T` for each time, and columns that stand two blanks apart.
pub(crate) fn masked(text: &str) -> String {
    let times = Regex::new(r"[0-9]+(\.[0-9]+)? (ns|µs|ms|s)\b").unwrap();
    let blanks = Regex::new(" {2,}").unwrap();
    blanks.replace_all(&times.replace_all(text, "T"), "  ").into_owned()
}

/// The rows with their figures of time taken out.
fn without_times(mut hooks: Value) -> Value {
    for row in hooks.as_array_mut().unwrap() {
        let [total, max] = ["totalNs", "maxNs"].map(|key| row[key].take().as_u64().unwrap());
        assert!(0 < max && max <= total, "{max} {total}");
    }
    hooks
}

fn rows() -> Value {
    json!([{
        "modId": "mod:misbehaving", "hook": "onStop", "calls": 1, "pending": 0, "faults": 1,
        "totalNs": null, "maxNs": null,
    }])
}

#[test]
fn a_run_tells_at_its_end_what_each_hook_took() {
    let ran = timed(&[]);
    let told = "warning: mod:misbehaving failed in onStop: went wrong\n\
                MOD  HOOK  CALLS  PENDING  FAULTS  TIME  LONGEST\n\
                mod:misbehaving  onStop  1  0  1  T  T\n";
    assert_eq!((ran.code(), &*ran.stdout, &*masked(&ran.stderr)), (0, "done\n", told));
}

#[test]
fn what_hooks_took_is_one_line_more_of_stream_json_and_one_field_more_of_json() {
    let ran = timed(&["--output-format", "stream-json"]);
    let mut events = ran.events();
    let mut last = events.pop().unwrap();
    let hooks = without_times(last["hooks"].take());
    assert_eq!((&last, hooks), (&json!({ "type": "mod_timing", "hooks": null }), rows()));
    assert_eq!(events.pop().unwrap()["type"], "session_shutdown");
    assert_eq!((ran.code(), &*ran.stderr), (0, ""));

    let ran = timed(&["--output-format", "json"]);
    assert_eq!(without_times(ran.json()["modTiming"].take()), rows());
}

#[test]
fn a_run_without_hooks_says_so() {
    let ran = Folders::new().play(&says("done"), &["--mod-timing"]).run();
    assert_eq!(ran.told(), (0, "done\n", "no mod has a hook\n"));
}

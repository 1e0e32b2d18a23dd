//! The hook contract has its tests, and each is found by what it is about.

use std::collections::BTreeSet;

use super::{assert_none, source::sources};

/// The points settled about the loop, hooks, tools, time, the session and the screen: a test of each carries its number.
const DECISIONS: std::ops::RangeInclusive<u32> = 11..=39;

/// What authors can rely on about order, as ARCHITECTURE.md and the guide say it, and the test that holds it.
const ORDER: [(&str, &str); 18] = [
    ("the loop and the dispatch, whole", "every_hook_and_event_of_a_run_comes_in_the_documented_order"),
    (
        "the same with real mods, three ways",
        "every_hook_and_event_of_a_session_comes_in_the_documented_order_and_mods_in_registration_order",
    ),
    ("every hook has the run's context", "every_hook_receives_the_same_context_of_the_run"),
    ("before_tool_call, then tool_running", "before_tool_call_completes_for_every_mod_before_tool_running"),
    (
        "tool_queued is of the original input",
        "tool_queued_shows_the_original_input_and_only_execution_sees_the_rewrite",
    ),
    ("after_tool_call, then the end of the call", "the_terminal_event_carries_the_content_after_the_hooks"),
    ("is_error decides which end it is", "is_error_of_after_tool_call_selects_the_terminal_event_both_ways"),
    ("mod_state, then on_turn_end", "mod_state_of_after_tool_call_is_there_when_on_turn_end_runs"),
    ("a turn, then its commit", "on_commit_fires_once_per_completed_turn_with_the_full_state"),
    ("a stop hook keeps the turn", "a_stop_hook_never_loses_the_turn_that_triggered_it"),
    ("prepare_next_turn where there is a next", "prepare_next_turn_never_runs_on_a_stopping_turn"),
    ("on_run_end, then run_end", "on_run_end_is_awaited_before_run_end"),
    ("registration order in every phase", "mods_run_in_registration_order_in_every_phase"),
    (
        "later mods see what earlier ones left",
        "a_later_mod_sees_the_context_and_the_results_that_earlier_mods_left",
    ),
    ("no hook throws upward, none fails silently", "a_failing_hook_changes_no_decision_and_is_never_silent"),
    ("each row of the event table", "each_row_of_the_event_table_has_its_payload_and_its_place"),
    ("payloads are snapshots", "an_event_is_a_snapshot"),
    ("a disposal holds from the next round on", "a_mod_that_is_removed_in_a_round_is_gone_in_the_next"),
];

/// The names of the functions below the folders.
fn functions(folders: &[&str]) -> BTreeSet<String> {
    let sources = sources(folders);
    let names = sources.iter().flat_map(|source| {
        source.tokens.windows(2).filter(|pair| pair[0].text == "fn").map(|pair| pair[1].text.clone())
    });
    names.collect()
}

fn missing(functions: &BTreeSet<String>) -> Vec<String> {
    let is_there = |prefix: &str| functions.iter().any(|name| name.starts_with(prefix));
    let decisions = DECISIONS.map(|number| format!("decision_{number}_")).filter(|prefix| !is_there(prefix));
    let order = ORDER.iter().filter(|(_, name)| !functions.contains(*name));
    decisions.chain(order.map(|(what, name)| format!("{name} ({what})"))).collect()
}

#[test]
fn each_decision_and_each_guarantee_of_order_has_a_test_of_its_name() {
    assert_none(&missing(&functions(&["host", "tests/it"])), "there is no such test");
}

#[test]
fn what_has_no_test_is_named() {
    let all = functions(&["host", "tests/it"]);
    let some =
        all.into_iter().filter(|name| !name.starts_with("decision_20_") && name != "an_event_is_a_snapshot");
    assert_eq!(missing(&some.collect()), ["decision_20_", "an_event_is_a_snapshot (payloads are snapshots)"]);
}

//! Registrations that come and go in the middle of a round: each `dispose` undoes one, twice is once.

use std::sync::Arc;

use host::harness::{Harness, Prompted, Recording};
use mod_interface::{builtin_mod, types::SessionEndReason};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::{
    behaving::{Echo, both, echoes, only},
    session::Folders,
};

/// A turn that calls `echo`, with what its request must be like.
fn calls(expect: Value) -> Value {
    let mut turn = echoes(&["x"]);
    turn["expect"] = expect;
    turn
}

fn says(expect: Value) -> Value {
    json!({ "text": "done", "expect": expect })
}

#[tokio::test]
async fn a_disposed_hook_is_gone_at_the_next_round_and_no_other_is() {
    let both_prompts = json!({ "system_contains": "prompt of a\n\nprompt of b" });
    let turns = json!([calls(both_prompts), says(json!({ "system_contains": "prompt of b" }))]);
    let told = both(turns, &[("a", "prompt-until-called"), ("b", "prompt")]).await;
    assert_eq!(only(&told, &["mod_error", "run_e"]), ["run_end end_turn 2"]);
    // That the first is really gone: the base ends, and the second follows.
    let gone = json!([echoes(&["x"]), says(json!({ "system_contains": "linux\n\nprompt of b" }))]);
    let told = both(gone, &[("a", "prompt-until-called"), ("b", "prompt")]).await;
    assert_eq!(only(&told, &["mod_error", "run_e"]), ["run_end end_turn 2"]);
}

#[tokio::test]
async fn a_hook_that_is_added_again_stands_behind_those_of_its_mod_and_ahead_of_later_mods() {
    let before = json!({ "system_contains": "prompt of a\n\nprompt of a2\n\nprompt of b" });
    let after = json!({ "system_contains": "linux\n\nprompt of a2\n\nprompt of a3\n\nprompt of b" });
    let told =
        both(json!([calls(before), says(after)]), &[("a", "prompt-again-at-call"), ("b", "prompt")]).await;
    assert_eq!(only(&told, &["mod_error", "run_e"]), ["run_end end_turn 2"]);
}

#[tokio::test]
async fn a_tool_that_is_added_in_a_round_can_be_called_in_the_next() {
    let late =
        json!({ "tool_calls": [{ "id": "d1", "name": "late" }], "expect": { "tools_include": ["late"] } });
    let turns = json!([calls(json!({ "tools_exclude": ["late"] })), late, { "text": "done" }]);
    let told = both(turns, &[("a", "tool-at-call")]).await;
    assert_eq!(
        only(&told, &["tool_completed", "tool_errored", "mod_error", "run_e"]),
        ["tool_completed c1: x", "tool_completed d1: late ran", "run_end end_turn 3"]
    );
}

#[tokio::test]
async fn a_tool_that_is_disposed_in_a_round_still_runs_in_it_and_is_gone_in_the_next() {
    let first = json!({
        "tool_calls": [{ "id": "c1", "name": "echo", "input": { "text": "x" } }, { "id": "c2", "name": "early" }],
        "expect": { "tools_include": ["early"] },
    });
    let then =
        json!({ "tool_calls": [{ "id": "d1", "name": "early" }], "expect": { "tools_exclude": ["early"] } });
    let told = both(json!([first, then, { "text": "done" }]), &[("a", "tool-until-called")]).await;
    let ends = only(&told, &["tool_completed", "tool_errored", "mod_error", "run_e"]);
    assert_eq!(
        [&ends[..2], &ends[3..]].concat(),
        ["tool_completed c1: x", "tool_completed c2: early ran", "run_end end_turn 3"]
    );
    assert!(ends[2].starts_with("tool_errored d1: there is no such tool, only read_file,"), "{}", ends[2]);
}

#[tokio::test]
async fn a_disposed_observer_and_a_disposed_listener_hear_nothing_more() {
    let turns = json!([echoes(&["x"]), { "text": "done" }]);
    let does = [("a", "watch-until-called,hear-until-called"), ("b", "speak"), ("c", "hear")];
    let told = both(turns, &does).await;
    assert_eq!(
        only(&told, &["notice", "turn", "mod_error"]),
        [
            "notice a hears",
            "notice c hears on greetings: {\"from\":\"b\",\"turn\":1}",
            "turn_start",
            "turn_end",
            "notice c hears on greetings: {\"from\":\"b\",\"turn\":2}",
            "turn_start",
            "turn_end",
        ]
    );
}

/// Who is told of an event or a message is settled when it is raised.
#[tokio::test]
async fn what_is_disposed_while_it_is_told_is_told_to_the_end_itself_and_those_behind_it() {
    let turns = json!([echoes(&["x"]), { "text": "done" }]);
    let told = both(turns, &[("a", "watch-until-told,hear-until-told"), ("b", "speak"), ("c", "hear")]).await;
    assert_eq!(
        only(&told, &["notice", "turn", "mod_error"]),
        [
            "notice a is told, and forgets it",
            "notice a is told too",
            "notice c hears on greetings: {\"from\":\"b\",\"turn\":1}",
            "turn_start",
            "notice a is told, and forgets it",
            "notice a is told too",
            "turn_end",
            "notice c hears on greetings: {\"from\":\"b\",\"turn\":2}",
            "turn_start",
            "turn_end",
        ]
    );
}

#[tokio::test]
async fn a_disposed_command_is_gone() {
    let folders = Folders::new();
    let scenario = json!({ "turns": [echoes(&["x"]), { "text": "done" }] });
    let harness = Harness::builder()
        .places(folders.places())
        .model(Some(folders.scenario(&scenario)))
        .record(Recording::InMemory)
        .tool(Arc::new(Echo::new()))
        .built_in("behaving-a", builtin_mod!("behaving-a", behaving::behaving))
        .mod_options([("does".to_owned(), "command-until-called".to_owned())])
        .start()
        .await
        .unwrap();
    let names = || harness.mods().commands().iter().map(|it| it.spec().name.clone()).collect::<Vec<_>>();
    assert_eq!(names(), ["wave"]);
    assert!(matches!(harness.prompt("go", &CancellationToken::new()).await, Prompted::Ran(_)));
    assert_eq!(names(), Vec::<String>::new());
    harness.end(SessionEndReason::Shutdown).await;
}

#[tokio::test]
async fn a_hook_that_disposes_itself_holds_to_the_end_of_the_round() {
    let turns = json!([echoes(&["x", "y"]), echoes(&["z"]), { "text": "done" }]);
    let told = both(turns, &[("a", "block-until-called")]).await;
    assert_eq!(
        only(&told, &["tool_hook_blocked", "tool_completed", "mod_error", "run_e"]),
        [
            "tool_hook_blocked c1: blocked by a",
            "tool_hook_blocked c2: blocked by a",
            "tool_completed c1: z",
            "run_end end_turn 3",
        ]
    );
}

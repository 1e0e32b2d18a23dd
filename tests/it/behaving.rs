//! What mods do by each hook, told by whole event lists: one source, compiled in, as shared libraries,
//! and as shared libraries that were built against interface 1.0.0.

use serde_json::{Value, json};

use crate::support::behaving::{both, built_in_and_shared, echoes, every_way, only};

fn done() -> Value {
    json!({ "text": "done" })
}

/// The events of a turn that calls `echo` once, with `calls` in the place of what happens to the call.
fn calling(calls: &[&str]) -> Vec<String> {
    let before = [
        "turn_start",
        "message_start",
        "model_request_start",
        "message_update tool_use",
        "message_update tool_use",
    ];
    let after = ["model_request_end", "message_end tool_use"];
    [&before[..], &after, calls, &["turn_end"]].concat().into_iter().map(str::to_owned).collect()
}

/// The events of a turn that says `text`.
fn saying(text: &str) -> Vec<String> {
    let lines = ["turn_start", "message_start", "model_request_start", "text_delta *", "message_update *"];
    let lines = [&lines[..], &["model_request_end", "message_end *", "turn_end"]].concat();
    lines.into_iter().map(|line| line.replace('*', text)).collect()
}

/// The events of a session with these turns.
fn session(turns: &[Vec<String>], end: &str) -> Vec<String> {
    let begin = ["session_start", "run_start"].map(str::to_owned).to_vec();
    let end = [format!("run_end {end}"), "session_shutdown".to_owned()].to_vec();
    [&[begin], turns, &[end]].concat().concat()
}

/// Plays one call of `echo` with `text` and then an answer; the call must go as `calls` says.
async fn one_call(text: &str, does: &[(&'static str, &str)], result: &str, calls: &[&str]) {
    let expect = json!({ "tool_result_contains": { "id": "c1", "text": result } });
    let turns = json!([echoes(&[text]), { "text": "done", "expect": expect }]);
    let told = every_way(turns, does).await;
    assert_eq!(told, session(&[calling(calls), saying("done")], "end_turn 2"));
}

const QUEUED: &str = "tool_queued c1 {\"text\":\"x\"}";

#[tokio::test]
async fn mods_without_an_opinion_change_nothing() {
    one_call("x", &[("a", ""), ("b", "")], "x", &[QUEUED, "tool_running c1", "tool_completed c1: x"]).await;
}

#[tokio::test]
async fn rewrites_chain_in_load_order() {
    let calls = [QUEUED, "tool_running c1", "tool_completed c1: xba"];
    one_call("x", &[("b", "rewrite"), ("a", "rewrite")], "xba", &calls).await;
}

#[tokio::test]
async fn the_first_block_ends_the_chain_and_its_reason_is_the_result() {
    let calls = [QUEUED, "tool_hook_blocked c1: blocked by b"];
    one_call("x", &[("a", "rewrite"), ("b", "block"), ("c", "block")], "blocked by b", &calls).await;
}

#[tokio::test]
async fn contexts_are_appended_before_hooks_first_and_a_replacement_is_threaded() {
    let does = [("a", "context-after,context-before,replace"), ("b", "replace,context-before")];
    let result = "x, seen by a, seen by b + before a + before b + after a";
    let calls = [QUEUED, "tool_running c1", &format!("tool_completed c1: {result}")];
    one_call("x", &does, "x, seen by a, seen by b", &calls).await;
}

#[tokio::test]
async fn is_error_is_flipped_both_ways_and_threaded() {
    let failed = [QUEUED, "tool_running c1", "tool_errored c1: x"];
    one_call("x", &[("a", "flip")], "x", &failed).await;
    let twice = [QUEUED, "tool_running c1", "tool_completed c1: x"];
    one_call("x", &[("a", "flip"), ("b", "flip")], "x", &twice).await;
    let good = ["tool_queued c1 {\"text\":\"fail\"}", "tool_running c1", "tool_completed c1: fail"];
    one_call("fail", &[("a", "flip")], "fail", &good).await;
}

#[tokio::test]
async fn terminate_ends_the_run_after_the_whole_batch() {
    for (does, first) in [
        ("terminate", &["tool_running c1", "tool_completed c1: x"][..]),
        ("terminate-before", &["tool_running c1", "tool_completed c1: x"]),
        ("block-and-terminate", &["tool_hook_blocked c1: blocked by a"]),
    ] {
        let told = every_way(json!([echoes(&["x", "y"])]), &[("a", does)]).await;
        let second: Vec<_> = first.iter().map(|line| line.replace("c1", "c2").replace('x', "y")).collect();
        let mut calls = vec![QUEUED, "tool_queued c2 {\"text\":\"y\"}"];
        calls.extend(first);
        calls.extend(second.iter().map(String::as_str));
        let mut turn = calling(&calls);
        // The second call.
        turn.splice(5..6, ["message_update tool_use + tool_use".to_owned(), "model_request_end".to_owned()]);
        turn[4] = "message_update tool_use + tool_use".to_owned();
        turn[7] = "message_end tool_use + tool_use".to_owned();
        assert_eq!(told, session(&[turn], "terminate 1"), "{does}");
    }
}

#[tokio::test]
async fn should_stop_ends_the_run_behind_the_turn() {
    let told = every_way(json!([{ "text": "one" }]), &[("a", ""), ("b", "stop"), ("c", "continue")]).await;
    assert_eq!(told, session(&[saying("one")], "stop_hook 1"));
}

#[tokio::test]
async fn on_stop_keeps_the_run_going_and_the_first_reason_wins() {
    let expect = json!({ "last_user_contains": "a wants more than one", "messages_count": 3 });
    let turns = json!([{ "text": "one" }, { "text": "two", "expect": expect }]);
    let told = every_way(turns, &[("a", "continue"), ("b", "continue")]).await;
    assert_eq!(told, session(&[saying("one"), saying("two")], "end_turn 2"));
}

#[tokio::test]
async fn a_prompt_is_transformed_by_one_mod_after_another() {
    let turns = json!([{ "text": "one", "expect": { "last_user_contains": "go b a" } }]);
    let told = every_way(turns, &[("b", "input"), ("a", "input")]).await;
    assert_eq!(told, session(&[saying("one")], "end_turn 1"));
}

#[tokio::test]
async fn a_prompt_that_is_handled_begins_no_run() {
    let told = every_way(json!([]), &[("a", "handle"), ("b", "input")]).await;
    assert_eq!(told, ["session_start", "session_shutdown"]);
}

#[tokio::test]
async fn the_context_is_edited_for_one_call_and_each_mod_sees_the_edits_before() {
    // The prompt alone is in the state; `a` replaces it, `b` appends, and `c` takes that away again.
    let expect = json!({ "last_user_contains": "said by a", "messages_count": 1 });
    let turns = json!([{ "text": "one", "expect": expect }]);
    let does = [("a", "replace-first"), ("b", "append"), ("c", "remove-last,continue")];
    let again =
        json!({ "text": "two", "expect": { "messages_count": 3, "last_user_contains": "wants more" } });
    let turns = json!([turns[0], again]);
    let told = every_way(turns, &does).await;
    assert_eq!(told, session(&[saying("one"), saying("two")], "end_turn 2"));
}

#[tokio::test]
async fn prompts_are_joined_behind_the_base_in_load_order() {
    let turns = json!([{ "text": "one", "expect": { "system_contains": "\n\nprompt of b\n\nprompt of a" } }]);
    let told = every_way(turns, &[("b", "prompt"), ("a", "prompt")]).await;
    assert_eq!(told, session(&[saying("one")], "end_turn 1"));
}

#[tokio::test]
async fn mod_state_is_the_mods_own_and_a_tool_hooks_is_there_at_the_end_of_the_turn() {
    let turns = json!([echoes(&["x"]), done()]);
    let told = every_way(turns, &[("a", "count-turns,report"), ("b", "tool-state,report")]).await;
    assert_eq!(
        only(&told, &["mod_event", "turn_end", "run_end", "session"]),
        [
            "session_start",
            "mod_event mod:behaving-a/session-start \"startup\"",
            "mod_event mod:behaving-b/session-start \"startup\"",
            "mod_event mod:behaving-a/turn [1,true,0,1]",
            "mod_event mod:behaving-b/turn [1,true,0,{\"last\":\"c1\"}]",
            "turn_end",
            "mod_event mod:behaving-a/turn [2,false,0,2]",
            "mod_event mod:behaving-b/turn [2,false,0,{\"last\":\"c1\"}]",
            "turn_end",
            "mod_event mod:behaving-a/run [\"main\",\"end_turn\",\"done\",2]",
            "mod_event mod:behaving-b/run [\"main\",\"end_turn\",\"done\",{\"last\":\"c1\"}]",
            "run_end end_turn 2",
            "mod_event mod:behaving-a/session-end \"shutdown\"",
            "mod_event mod:behaving-b/session-end \"shutdown\"",
            "session_shutdown",
        ]
    );
}

#[tokio::test]
async fn what_on_turn_end_appends_stays_in_the_conversation() {
    let expect = json!({ "last_user_contains": "said by a", "messages_count": 3 });
    let turns = json!([echoes(&["x"]), { "text": "done", "expect": expect }]);
    let told = every_way(turns, &[("a", "say-at-end")]).await;
    let calls = [QUEUED, "tool_running c1", "tool_completed c1: x"];
    assert_eq!(told, session(&[calling(&calls), saying("done")], "end_turn 2"));
}

#[tokio::test]
async fn decision_39_a_mod_raises_notices_and_events_under_its_own_name_alone() {
    let told = every_way(json!([{ "text": "one" }]), &[("a", "forge")]).await;
    let mut lines = session(&[saying("one")], "end_turn 1");
    let forged = [
        "notice this may be said",
        "mod_error mod:behaving-a onTurnStart: the host alone raises this event, a mod notice and kinds of its own: run_end",
        "mod_error mod:behaving-a onTurnStart: an event's kind is of a-z, 0-9, _ and -, got: mod:other/hello",
    ];
    lines.splice(2..2, forged.map(str::to_owned));
    assert_eq!(told, lines);
}

#[tokio::test]
async fn decision_39_an_event_that_an_observer_forges_is_told_though_it_ignores_the_error() {
    let told = both(json!([echoes(&["x"]), { "text": "done" }]), &[("a", "forge-watching")]).await;
    let mut lines = session(
        &[calling(&[QUEUED, "tool_running c1", "tool_completed c1: x"]), saying("done")],
        "end_turn 2",
    );
    let forged = "mod_error mod:behaving-a on:turn_start: the host alone raises this event, a mod notice and kinds of its own: run_end";
    lines.insert(lines.len() - 2, "notice mod:behaving-a failed once more at on:turn_start".to_owned());
    lines.insert(3, forged.to_owned());
    assert_eq!(told, lines);
}

#[tokio::test]
async fn mods_that_are_compiled_in_come_first_and_those_of_the_caller_last() {
    let expect = json!({ "system_contains": "\n\nprompt of b\n\nprompt of a" });
    let told =
        built_in_and_shared(json!([{ "text": "one", "expect": expect }]), ("b", "prompt"), ("a", "prompt"));
    assert_eq!(told.await, session(&[saying("one")], "end_turn 1"));
}

#[tokio::test]
async fn a_later_mod_sets_the_effort_of_the_next_call() {
    for (does, effort) in [
        (["effort", "no-effort"], json!(null)),
        (["no-effort", "effort"], json!("high")),
        (["effort", ""], json!("high")),
    ] {
        let first = json!({ "tool_calls": [{ "id": "c1", "name": "echo", "input": { "text": "x" } }],
            "expect": { "effort": null } });
        let turns = json!([first, { "text": "done", "expect": { "effort": effort } }]);
        let told = every_way(turns, &[("a", does[0]), ("b", does[1])]).await;
        let calls = [QUEUED, "tool_running c1", "tool_completed c1: x"];
        assert_eq!(told, session(&[calling(&calls), saying("done")], "end_turn 2"));
    }
}

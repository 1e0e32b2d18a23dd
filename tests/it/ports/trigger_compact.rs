use serde_json::{Value, json};

use crate::support::{behaving::echoes, compaction::NOTES, scene::Scene};

/// A call of a tool in a turn of so many tokens.
fn call(id: &str, tokens: u64) -> Value {
    let mut turn = echoes(&["x"]);
    turn["tool_calls"][0]["id"] = json!(id);
    turn["usage"] = json!({ "input_tokens": tokens });
    turn
}

/// A first answer of 300 bytes, and then these turns.
fn turns(then: &[Value]) -> Value {
    let first = json!({ "text": "b".repeat(300), "usage": { "input_tokens": 100 } });
    [&[first], then].concat().into()
}

/// A first prompt of 400 bytes, and another one.
fn scene(turns: Value, prompts: &'static [&'static str]) -> Scene<'static> {
    Scene {
        mods: &["trigger-compact"],
        options: &[("trigger-compact.tokens", "1000")],
        turns,
        prompts,
        ..Scene::default()
    }
}

const LONG: &str = concat!(
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
);

const STEPS: [&str; 5] = ["run_start", "turn_end", "compaction", "notice", "run_end"];

#[tokio::test]
async fn once_usage_passes_the_threshold_there_is_one_compaction() {
    let notes = json!({ "text": "notes" });
    let then = [call("c1", 1000), notes, call("c2", 2000), json!({ "text": "done" })];
    let seen = scene(turns(&then), &[LONG, "go"]).play().await;
    let steps = [
        "run_start",
        "turn_end",
        "run_end end_turn 1",
        "run_start",
        "compaction_start",
        "compaction_done",
        "turn_end",
        "turn_end",
        "turn_end",
        "run_end end_turn 3",
    ];
    assert_eq!(seen.only(&STEPS), steps);
    let answer = format!("assistant: {}", "b".repeat(300));
    let sent = [NOTES, &answer, "user[user]: go", "assistant: <call c1>", "user[tool_results]: <c1: x>"];
    assert_eq!(seen.sent(3), sent);
    let whole = [&format!("user[user]: {LONG}"), &answer];
    assert_eq!((seen.conversation.len(), &seen.conversation[..2]), (8, &whole.map(String::clone)[..]));
}

#[tokio::test]
async fn an_error_is_reported_and_not_tried_again() {
    let nothing =
        "there is nothing to compact: no beginning of the conversation is longer than what must stay";
    let first = json!([call("c1", 5000), call("c2", 5000), { "text": "done" }]);
    let seen = scene(first, &["go"]).play().await;
    assert_eq!(seen.told(), [format!("notice trigger-compact: {nothing}")]);
    assert_eq!(seen.only(&["compaction", "run_end"]), ["run_end end_turn 3"]);

    let broken = json!({ "error": { "kind": "fatal", "message": "broken" } });
    let then = [call("c1", 5000), broken, call("c2", 5000), json!({ "text": "done" })];
    let seen = scene(turns(&then), &[LONG, "go"]).play().await;
    let told: Vec<_> = seen.told().iter().map(|line| line.replace(&*seen.requests[0].model, "M")).collect();
    assert_eq!(told, ["notice trigger-compact: the model kept/M gave no summary: broken"]);
    assert_eq!(
        seen.only(&["compaction", "run_end"])[1..],
        ["compaction_start", "compaction_done", "run_end end_turn 3"]
    );
    assert_eq!(seen.sent(4).len(), 7);
}

#[tokio::test]
async fn between_runs_it_compacts_by_command() {
    let then = [json!({ "text": "notes" }), json!({ "text": "done" })];
    let seen = scene(turns(&then), &["/trigger-compact", LONG, "/trigger-compact", "on"]).play().await;
    assert_eq!(seen.came[2..], ["compacted", "done"]);
    let fault = "mod_error mod:trigger-compact command:trigger-compact: there is nothing to compact: no beginning of the \
                 conversation is longer than what must stay";
    assert_eq!((seen.came[0].as_str(), seen.told()), ("failed", vec![fault]));
    assert_eq!(seen.sent(2), [NOTES, &format!("assistant: {}", "b".repeat(300)), "user[user]: on"]);
}

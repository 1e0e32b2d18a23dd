//! The documented order of a session, with the hooks of real mods between its events: compiled in, as shared
//! libraries, and built against interface 1.0.0.

use serde_json::json;

use crate::support::behaving::{echoes, every_way};

/// Both mods are asked, in load order.
fn asked(hooks: &[&str], agent: &str) -> Vec<String> {
    let each = |hook: &&str| {
        ["b", "a"].map(|me| format!("mod_event mod:behaving-{me}/asked [\"{me} {hook}\",\"{agent}\"]"))
    };
    hooks.iter().flat_map(each).collect()
}

fn events(lines: &[&str]) -> Vec<String> {
    lines.iter().map(|line| (*line).to_owned()).collect()
}

/// The answer to a round: its hooks and events up to what the model said.
fn asks_the_model(agent: &str, streamed: &[&str], said: &str) -> Vec<String> {
    [
        asked(&["onTurnStart"], agent),
        events(&["turn_start"]),
        asked(&["appendSystemPrompt", "transformContext"], agent),
        events(&["message_start", "model_request_start"]),
        events(streamed),
        events(&["model_request_end", said]),
    ]
    .concat()
}

/// A call of `echo`, and the end of its turn.
fn calls(agent: &str, progress: &[&str]) -> Vec<String> {
    [
        events(&["tool_queued c1 {\"text\":\"x\"}"]),
        events(progress),
        asked(&["beforeToolCall"], agent),
        events(&["tool_running c1"]),
        asked(&["afterToolCall"], agent),
        events(&["tool_completed c1: x"]),
        goes_on(agent),
    ]
    .concat()
}

fn goes_on(agent: &str) -> Vec<String> {
    [
        asked(&["onTurnEnd"], agent),
        events(&["turn_end"]),
        asked(&["shouldStopAfterTurn", "prepareNextTurn"], agent),
    ]
    .concat()
}

fn ends(agent: &str, turns: u32) -> Vec<String> {
    [
        asked(&["onTurnEnd"], agent),
        events(&["turn_end"]),
        asked(&["shouldStopAfterTurn", "onStop", "onRunEnd"], agent),
        events(&[&format!("run_end end_turn {turns}")]),
    ]
    .concat()
}

const CALL: [&str; 2] = ["message_update tool_use"; 2];
const TEXT: [&str; 2] = ["text_delta done", "message_update done"];

#[tokio::test]
async fn every_hook_and_event_of_a_session_comes_in_the_documented_order_and_mods_in_registration_order() {
    let told = every_way(json!([echoes(&["x"]), { "text": "done" }]), &[("b", "tell"), ("a", "tell")]).await;
    let expected = [
        events(&["session_start"]),
        asked(&["onSessionStart", "transformInput"], "main"),
        events(&["run_start"]),
        asks_the_model("main", &CALL, "message_end tool_use"),
        calls("main", &[]),
        asks_the_model("main", &TEXT, "message_end done"),
        ends("main", 2),
        asked(&["onSessionEnd"], "main"),
        events(&["session_shutdown"]),
    ];
    assert_eq!(told, expected.concat());
}

#[tokio::test]
async fn decision_22_a_sub_agent_takes_the_same_way_and_its_id_is_on_every_hook() {
    let agent = json!({ "id": "c0", "name": "agent", "input": { "description": "d", "prompt": "p" } });
    let turns = json!([{ "tool_calls": [agent] }, echoes(&["x"]), { "text": "done" }, { "text": "done" }]);
    let told = every_way(turns, &[("b", "tell"), ("a", "tell")]).await;
    let expected = [
        events(&["session_start"]),
        asked(&["onSessionStart", "transformInput"], "main"),
        events(&["run_start"]),
        asks_the_model("main", &CALL, "message_end tool_use"),
        events(&["tool_queued c0 {\"description\":\"d\",\"prompt\":\"p\"}"]),
        asked(&["beforeToolCall"], "main"),
        events(&["tool_running c0", "subagent_start", "run_start"]),
        asks_the_model("agent:c0", &CALL, "message_end tool_use"),
        calls("agent:c0", &["subagent_progress"]),
        asks_the_model("agent:c0", &TEXT, "message_end done"),
        ends("agent:c0", 2),
        events(&["subagent_stop"]),
        asked(&["afterToolCall"], "main"),
        events(&["tool_completed c0: done"]),
        goes_on("main"),
        asks_the_model("main", &TEXT, "message_end done"),
        ends("main", 2),
        asked(&["onSessionEnd"], "main"),
        events(&["session_shutdown"]),
    ];
    assert_eq!(told, expected.concat());
}

use serde_json::{Value, json};

use crate::support::scene::Scene;

fn echo(id: &str, text: &str) -> Value {
    json!({ "tool_calls": [{ "id": id, "name": "echo", "input": { "text": text } }] })
}

#[tokio::test]
async fn a_loop_is_told_at_the_tail_of_one_call_and_what_stands_before_it_does_not_change() {
    let turns = json!([
        echo("c1", "x"), echo("c2", "y"), echo("c3", "x"), echo("c4", "x"), echo("c5", "x"), echo("c6", "z"),
        { "text": "done" },
    ]);
    let seen = Scene { mods: &["quality-guards"], turns, ..Scene::default() }.play().await;
    let conversation = [
        "user[user]: go",
        "assistant: <call c1>",
        "user[tool_results]: <c1: x>",
        "assistant: <call c2>",
        "user[tool_results]: <c2: y>",
        "assistant: <call c3>",
        "user[tool_results]: <c3: x>",
        "assistant: <call c4>",
        "user[tool_results]: <c4: x>",
        "assistant: <call c5>",
        "user[tool_results]: <c5: x>",
        "assistant: <call c6>",
        "user[tool_results]: <c6: z>",
        "assistant: done",
    ];
    assert_eq!(seen.conversation, conversation);
    // Where a message came from is not sent.
    let sent = conversation.map(|line| line.replace("tool_results", "user"));
    let warned = format!("{} You have called echo 3 times in a row with the same input.", sent[10]);
    for call in 0..7 {
        let mut expected = sent[..2 * call + 1].to_vec();
        if call == 5 {
            expected[10].clone_from(&warned);
        }
        assert_eq!(seen.sent(call), expected, "call {call}");
    }
    assert_eq!(seen.told(), [""; 0]);
}

use std::fs;

use serde_json::{Value, json};

use crate::support::{behaving::echoes, scene::Scene, session::Folders};

fn rule(on: &str, action: &str, message: &str, conditions: &[(&str, &str, &str)]) -> Value {
    let condition =
        |(field, op, text): &(&str, &str, &str)| json!({ "field": field, "op": op, "text": text });
    let conditions: Vec<_> = conditions.iter().map(condition).collect();
    json!({ "on": on, "action": action, "message": message, "conditions": conditions })
}

/// The tool calls and what came of each.
const CALLS: [&str; 3] = ["tool_running", "tool_hook_blocked", "tool_completed"];

#[tokio::test]
async fn a_new_rule_holds_from_the_next_call_on_when_all_its_conditions_do() {
    let folders = Folders::new();
    let conditions = [("tool", "is", "echo"), ("text", "contains", "secret"), ("text", "lacks", "open")];
    let block = rule("tool", "block", "It stays secret.", &conditions).to_string();
    let input = json!({ "file_path": "rules/secret.json", "content": block });
    let write = json!({ "tool_calls": [{ "id": "c0", "name": "write_file", "input": input }] });
    let turns = json!([
        echoes(&["a secret"]),
        write,
        echoes(&["a secret", "an open secret", "nothing"]),
        { "text": "done" },
    ]);
    let scene = Scene {
        mods: &["file-rules"],
        options: &[("file-rules.dir", "rules")],
        turns,
        allow: &["write_file"],
        ..Scene::default()
    };
    let seen = scene.play_in(&folders).await;
    let mut calls = seen.only(&CALLS);
    assert_eq!(calls.remove(3).split(':').next(), Some("tool_completed c0"), "of the tool's own words");
    let expected = [
        "tool_running c1",
        "tool_completed c1: a secret",
        "tool_running c0",
        "tool_hook_blocked c1: It stays secret.",
        "tool_running c2",
        "tool_completed c2: an open secret",
        "tool_running c3",
        "tool_completed c3: nothing",
    ];
    assert_eq!(calls, expected);
    assert_eq!(seen.told(), [""; 0]);
}

#[tokio::test]
async fn rules_block_or_warn_at_tools_prompts_and_ends_and_a_bad_file_is_told_once() {
    let folders = Folders::new();
    let rules = folders.work().join(".commandcode/rules");
    fs::create_dir_all(&rules).unwrap();
    let files = [
        ("a.json", rule("tool", "warn", "Mind the x.", &[("text", "is", "x")])),
        ("b.json", rule("prompt", "block", "Please ask nicely.", &[("text", "lacks", "please")])),
        ("c.json", rule("prompt", "warn", "How polite.", &[("text", "starts_with", "please")])),
        ("d.json", rule("stop", "block", "Say that you are done.", &[("text", "lacks", "done")])),
        ("e.json", json!({ "on": "never" })),
        ("f.txt", json!("no rule")),
    ];
    for (name, file) in &files {
        fs::write(rules.join(name), file.to_string()).unwrap();
    }
    let turns = json!([echoes(&["x"]), { "text": "well" }, { "text": "done" }]);
    let prompts = ["go", "please go"];
    let scene = Scene { mods: &["file-rules"], turns, prompts: &prompts, ..Scene::default() };
    let seen = scene.play_in(&folders).await;
    assert_eq!(seen.came, ["Please ask nicely.", "done"]);
    let conversation = [
        "user[user]: please go",
        "assistant: <call c1>",
        "user[tool_results]: <c1: x + Mind the x.>",
        "assistant: well",
        "user[stop_hook]: Say that you are done.",
        "assistant: done",
    ];
    assert_eq!(seen.conversation, conversation);
    let file = rules.canonicalize().unwrap().join("e.json");
    let wrong = format!(
        "notice file-rules: {}: unknown variant `never`, expected one of `tool`, `prompt`, `stop`",
        file.display()
    );
    assert_eq!(seen.told(), [wrong.as_str(), "notice How polite."]);
}

use serde_json::json;

use crate::support::scene::Scene;

#[tokio::test]
async fn a_greeting_passes_through_a_row_is_shown_and_the_command_counts() {
    let turns = json!([{ "text": "one" }, { "text": "two" }, { "text": "three" }]);
    let prompts = ["hi", "Howdy!", "hi there", "/hi-stats"];
    let seen = Scene { mods: &["cmd-mod-hi"], turns, prompts: &prompts, ..Scene::default() }.play().await;
    assert_eq!(seen.came, ["one", "two", "three", "You have said hi 2 times."]);
    let said = ["hi", "one", "Howdy!", "two", "hi there", "three"];
    let line = |(index, text)| {
        if index % 2 == 0 { format!("user[user]: {text}") } else { format!("assistant: {text}") }
    };
    assert_eq!(seen.conversation, said.into_iter().enumerate().map(line).collect::<Vec<_>>());
    let row = |text| format!("cmd-mod-hi/row: \u{1b}[2m[cmd-mod-hi]\u{1b}[0m {text}");
    let rows = [
        "a whole agent at your fingertips, and you open with small talk.",
        "that was the warm-up, I take it.",
    ];
    assert_eq!(seen.shown, rows.map(row));
    assert_eq!(seen.told(), [""; 0]);
}

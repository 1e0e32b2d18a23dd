use host::harness::Harness;
use serde_json::json;

use crate::support::{
    behaving::echoes,
    scene::Scene,
    session::{Folders, library},
};

/// The text, each digit of a time a `0`.
fn timeless(text: &str) -> String {
    text.replace(|c: char| c.is_ascii_digit(), "0")
}

#[tokio::test]
async fn there_is_one_segment_which_is_refreshed_before_each_tool_and_gone_after_the_session() {
    let turns = json!([echoes(&["x", "y"]), echoes(&["z"]), { "text": "done" }]);
    let options = [("clock.every", "86400"), ("clock.format", "%H:%M:%S"), ("clock.label", "")];
    let scene =
        Scene { mods: &["clock"], options: &options, turns, prompts: &["go", "/clock"], ..Scene::default() };
    let seen = scene.play().await;
    let statuses: Vec<_> = seen.statuses.iter().map(|line| timeless(&line.join(" | "))).collect();
    let shown = "time: 00:00:00";
    assert_eq!(statuses, [shown, shown, shown, shown, ""]);
    assert_eq!(seen.came.iter().map(|text| timeless(text)).collect::<Vec<_>>(), ["done", shown]);
    assert_eq!(seen.told(), [""; 0]);
    assert_eq!(seen.registered[0].flags, ["format", "label", "utc-offset", "every"]);
}

#[tokio::test]
async fn a_number_that_is_none_ends_the_start() {
    let folders = Folders::new();
    let builder = Harness::builder()
        .places(folders.places())
        .model(Some(folders.scenario(&json!({ "turns": [] }))))
        .mods([library("clock")])
        .mod_options([("every".to_owned(), "soon".to_owned())]);
    let refused = builder.start().await.err().unwrap().to_string();
    let expected = "this flag of mod:clock (After how many seconds it is shown anew) is a whole number from 0, got: \
                    --mod-option every=soon";
    assert_eq!(refused, expected);
}

use std::fs;

use serde_json::json;

use crate::support::{behaving::echoes, scene::Scene, session::Folders};

#[tokio::test]
async fn there_is_one_more_turn_by_the_model_of_the_flag_and_then_the_run_ends() {
    let folders = Folders::new();
    let other = folders.dir().join("other.json");
    fs::write(&other, json!({ "turns": [{ "text": "mended" }, { "text": "mended again" }] }).to_string())
        .unwrap();
    let model = format!("kept/{}", other.display());
    let options = [("hooku.model", model.as_str()), ("hooku.ask", "Sure?")];
    // A round that goes on by itself is no business of the mod.
    let turns = json!([echoes(&["x"]), { "text": "first" }, { "text": "second" }]);
    let scene =
        Scene { mods: &["hooku"], options: &options, turns, prompts: &["go", "again"], ..Scene::default() };
    let seen = scene.play_in(&folders).await;
    let conversation = [
        "user[user]: go",
        "assistant: <call c1>",
        "user[tool_results]: <c1: x>",
        "assistant: first",
        "user[stop_hook]: Sure?",
        "assistant: mended",
        "user[user]: again",
        "assistant: second",
        "user[stop_hook]: Sure?",
        "assistant: mended again",
    ];
    assert_eq!(seen.conversation, conversation);
    let own = folders.dir().join("scenario.json");
    let models: Vec<_> = seen.requests.iter().map(|request| &*request.model).collect();
    let [own, other] = [&own, &other].map(|path| path.to_str().unwrap());
    assert_eq!(models, [own, own, other, own, other]);
    let told = format!("notice hooku: {model} looks at the answer");
    assert_eq!(seen.told(), [told.as_str(), told.as_str()]);
    assert_eq!(seen.only(&["run_end"]), ["run_end end_turn 3", "run_end end_turn 2"]);
}

#[tokio::test]
async fn without_the_flag_it_does_nothing() {
    for options in [&[][..], &[("hooku.model", "")]] {
        let turns = json!([{ "text": "first" }]);
        let seen = Scene { mods: &["hooku"], options, turns, ..Scene::default() }.play().await;
        assert_eq!(seen.conversation, ["user[user]: go", "assistant: first"]);
        assert_eq!((seen.told(), &seen.registered[0].hooks), (vec![], &vec![]));
    }
}

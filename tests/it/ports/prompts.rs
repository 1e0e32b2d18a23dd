//! Mods that rewrite prompts, and chain: input-transform and inline-bash.

use serde_json::json;

use crate::support::{scene::Scene, session::Folders};

#[tokio::test]
async fn ping_is_handled_commands_are_expanded_and_both_mods_chain_in_either_order() {
    for mods in [["input-transform", "inline-bash"], ["inline-bash", "input-transform"]] {
        let folders = Folders::new();
        let turns = json!([{ "text": "one" }, { "text": "two" }, { "text": "three" }]);
        let prompts = ["ping", "?quick Am I in !{pwd}?", "!{echo no >&2; exit 3} and !{echo yes}", "pinging"];
        let seen =
            Scene { mods: &mods, turns, prompts: &prompts, ..Scene::default() }.play_in(&folders).await;
        assert_eq!(seen.came, ["pong", "one", "two", "three"]);
        let work = folders.work().canonicalize().unwrap();
        let conversation = [
            &format!("user[user]: Answer in one sentence: Am I in {}?", work.display()),
            "assistant: one",
            "user[user]: [`echo no >&2; exit 3` failed: no] and yes",
            "assistant: two",
            "user[user]: pinging",
            "assistant: three",
        ];
        assert_eq!(seen.conversation, conversation);
        assert_eq!(seen.told(), [""; 0]);
    }
    // What one makes of a prompt, the other sees.
    let prompts = ["!{echo ping}"];
    let mods = ["inline-bash", "input-transform"];
    assert_eq!(Scene { mods: &mods, prompts: &prompts, ..Scene::default() }.play().await.came, ["pong"]);
}

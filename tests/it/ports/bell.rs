use std::fs;

use serde_json::json;

use crate::support::{scene::Scene, session::Folders};

#[tokio::test]
async fn the_bell_rings_once_a_run_and_never_with_nobody_there() {
    for (alone, rung) in [(false, "\u{7}\u{7}"), (true, "")] {
        let folders = Folders::new();
        let terminal = folders.dir().join("terminal");
        fs::write(&terminal, "").unwrap();
        let options = [("completion-bell.terminal", terminal.to_str().unwrap())];
        // A sub-agent's run is a part of the first.
        let input = json!({ "description": "look", "prompt": "Look." });
        let call = json!({ "tool_calls": [{ "id": "c1", "name": "agent", "input": input }] });
        let turns = json!([call, { "text": "seen" }, { "text": "one" }, { "text": "two" }]);
        let prompts = ["go", "again"];
        let mods = ["completion-bell"];
        let scene =
            Scene { mods: &mods, options: &options, turns, prompts: &prompts, alone, ..Scene::default() };
        let seen = scene.play_in(&folders).await;
        assert_eq!(seen.came, ["one", "two"]);
        assert_eq!(seen.only(&["run_end"]).len(), 3);
        assert_eq!(fs::read_to_string(&terminal).unwrap(), rung);
        assert_eq!(seen.told(), [""; 0]);
    }
}

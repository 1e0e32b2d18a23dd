//! Hooks that take their time: how long they may, and that a record has its order all the same.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use host::{
    harness::{Harness, Prompted},
    settings,
};
use mod_interface::{
    builtin_mod,
    prelude::{Hooks, ModApi, Result, StatePatch},
    types::{AgentEvent, SessionEndReason},
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::{
    behaving::{Echo, echoes, line, only},
    session::Folders,
};

const LONG: Duration = Duration::from_secs(20);

/// Takes long at each hook around a call and a turn.
async fn slow(cmd: ModApi) -> Result<()> {
    let hooks = Hooks::new()
        .before_tool_call(|_, _| async {
            tokio::time::sleep(LONG).await;
            Ok(None)
        })
        .after_tool_call(|_, _| async {
            tokio::time::sleep(LONG).await;
            Ok(None)
        })
        .on_turn_end(|_, _| async {
            tokio::time::sleep(LONG).await;
            Ok(StatePatch::default())
        });
    cmd.hooks(hooks)?;
    Ok(())
}

/// What is told of faults in a session of two turns, of which the first calls a tool, and how long its run takes.
async fn play(folders: &Folders) -> (Vec<String>, Duration) {
    let told = Arc::<Mutex<Vec<String>>>::default();
    let kept = Arc::clone(&told);
    let turns = json!([echoes(&["x"]), { "text": "done" }]);
    let harness = Harness::builder()
        .places(folders.places())
        .settings(settings::load(&folders.places()).unwrap().merge(false))
        .model(Some(folders.scenario(&json!({ "turns": turns }))))
        .tool(Arc::new(Echo::new()))
        .built_in("slow", builtin_mod!("slow", slow))
        .sink(Arc::new(move |event: &AgentEvent| kept.lock().unwrap().push(line(event))));
    let harness = harness.start().await.unwrap();
    // The mods are loaded on a thread of its own: until then time goes on.
    tokio::time::pause();
    let begun = tokio::time::Instant::now();
    assert!(matches!(harness.prompt("go", &CancellationToken::new()).await, Prompted::Ran(_)));
    let took = begun.elapsed();
    tokio::time::resume();
    harness.end(SessionEndReason::Shutdown).await;
    let told = told.lock().unwrap();
    (only(&told, &["mod_error", "notice"]).into_iter().map(str::to_owned).collect(), took)
}

#[tokio::test]
async fn decision_24_with_a_hook_timeout_of_none_a_hook_takes_as_long_as_it_takes() {
    let folders = Folders::new();
    folders.settings(&json!({ "mods": { "hookTimeoutMs": 0 } }));
    let (told, took) = play(&folders).await;
    assert_eq!(told, [""; 0]);
    assert!((LONG * 4..LONG * 4 + Duration::from_millis(50)).contains(&took), "{took:?}");
}

#[tokio::test]
async fn a_tool_message_is_recorded_behind_its_assistant_message_although_hooks_are_slow() {
    for settings in [json!({}), json!({ "mods": { "hookTimeoutMs": 0 } })] {
        let folders = Folders::new();
        folders.settings(&settings);
        play(&folders).await;
        let shown = |entry: Value| {
            let (role, content) = (&entry["message"]["role"], &entry["message"]["content"][0]["type"]);
            let words = [&entry["type"], role, content].into_iter().filter_map(Value::as_str);
            words.collect::<Vec<_>>().join(" ")
        };
        // What else is recorded of a session, its name for one, has no place among its turns.
        let of_turns = |entry: &Value| ["message", "commit"].map(Value::from).contains(&entry["type"]);
        let lines: Vec<_> = folders.session_lines().into_iter().filter(of_turns).map(shown).collect();
        assert_eq!(
            lines,
            [
                "message user text",
                "message assistant tool_use",
                "message user tool_result",
                "commit",
                "message assistant text",
                "commit",
            ]
        );
    }
}

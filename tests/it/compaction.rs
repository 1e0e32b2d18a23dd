//! Compaction in a whole session: by the settings, and asked for by a mod.

use host::harness::{Earlier, Recording};
use mod_interface::{builtin_mod, prelude::*};

use crate::support::{compaction::NOTES, scene::Scene, scribe::Desk, session::Folders};

const LONG: &str =
    "This is said so that there is something to say less of, word by word, until there is enough of it.";

/// A session of one mod that compacts by command, recorded.
fn scene(turns: Value, prompts: &'static [&'static str], record: Recording) -> Scene<'static> {
    Scene { mods: &["trigger-compact"], turns, prompts, record, ..Scene::default() }
}

#[tokio::test]
async fn by_the_threshold_of_the_settings_a_session_compacts_and_its_transcript_stays_whole() {
    let folders = Folders::new();
    let turns = json!([{ "text": LONG }, { "text": "notes" }, { "text": "done" }]);
    let first = Scene { compacts_from: Some(40), ..scene(turns, &[LONG, "go"], Recording::New) };
    let seen = first.play_in(&folders).await;
    let events = [
        "session_start",
        "run_start",
        "turn_start",
        "message_start",
        "model_request_start",
        &format!("text_delta {LONG}"),
        &format!("message_update {LONG}"),
        "model_request_end",
        &format!("message_end {LONG}"),
        "turn_end",
        "run_end end_turn 1",
        "run_start",
        "turn_start",
        "compaction_start",
        "compaction_done",
        "message_start",
        "model_request_start",
        "text_delta done",
        "message_update done",
        "model_request_end",
        "message_end done",
        "turn_end",
        "run_end end_turn 1",
        "session_shutdown",
    ];
    let told: Vec<_> = seen.events.iter().filter(|line| !line.starts_with("session_titled")).collect();
    assert_eq!(told, events.iter().collect::<Vec<_>>());
    assert_eq!(seen.sent(2), [format!("{NOTES} go")]);
    let whole =
        [&format!("user[user]: {LONG}"), &format!("assistant: {LONG}"), "user[user]: go", "assistant: done"];
    assert_eq!(seen.conversation, whole);

    let again = scene(json!([{ "text": "on" }]), &["on"], Recording::Resume(Earlier::Latest));
    let seen = again.play_in(&folders).await;
    assert_eq!(seen.sent(0), [&format!("{NOTES} go"), "assistant: done", "user[user]: on"]);
    assert_eq!(seen.conversation[..4], whole);
}

#[tokio::test]
async fn what_is_asked_for_between_runs_is_committed_at_once() {
    let folders = Folders::new();
    let turns = json!([{ "text": LONG }, { "text": "notes" }]);
    let seen = scene(turns, &[LONG, "/trigger-compact"], Recording::New).play_in(&folders).await;
    assert_eq!(seen.came, [LONG, "compacted"]);
    let again = scene(json!([{ "text": "on" }]), &["on"], Recording::Resume(Earlier::Latest));
    let seen = again.play_in(&folders).await;
    assert_eq!(seen.sent(0), [NOTES, &format!("assistant: {LONG}"), "user[user]: on"]);
}

/// Compacts before there is a session.
async fn early(cmd: ModApi) -> Result<()> {
    if let Err(error) = cmd.sessions().compact().await {
        cmd.ui().notify(&format!("early: {error}"));
    }
    Ok(())
}

#[tokio::test]
async fn where_no_session_is_bound_there_is_nothing_that_could_be_compacted() {
    let desk = Desk::with(&Folders::new(), Recording::InMemory, &[], |builder| {
        builder.built_in("early", builtin_mod!("early", early))
    })
    .await;
    let told =
        "notice early: no session is bound yet; ask in a hook, an event or a command, not in the factory";
    assert_eq!(desk.take(&["notice early"]), [told]);
    desk.close().await;
}

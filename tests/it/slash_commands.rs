//! Slash commands of mods, typed as a prompt.

use host::{
    harness::{Harness, Prompted, Recording},
    settings::Settings,
};
use mod_interface::{
    builtin_mod,
    prelude::*,
    types::{MessageSource, SessionEndReason},
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::support::session::Folders;

async fn says(cmd: ModApi) -> Result<()> {
    cmd.add_command(Command::new("words", "Counts words").run(|call| async move {
        Ok(CommandOutcome::message(format!("{} words", call.args().split_whitespace().count())))
    }))?;
    cmd.add_command(
        Command::new("ask", "Asks the model")
            .run(|call| async move { Ok(CommandOutcome::prompt(format!("asked: {}", call.args()))) }),
    )?;
    cmd.add_command(Command::new("fails", "Fails").run(|_| async move { Err(Error::msg("no words")) }))?;
    // What a command asks was not typed: this never sees it.
    cmd.hooks(Hooks::new().transform_input_sync(|prompt, _| {
        Ok(TransformInput::Transform { text: format!("typed: {}", prompt.text()) })
    }))?;
    Ok(())
}

/// What comes of each prompt: the model's answer, or what a mod says in its place.
async fn typed(turns: serde_json::Value, prompts: &[&str]) -> Vec<String> {
    let folders = Folders::new();
    let harness = Harness::builder()
        .places(folders.places())
        .settings(Settings::default())
        .model(Some(folders.scenario(&json!({ "turns": turns }))))
        .record(Recording::InMemory)
        .built_in("says", builtin_mod!("says", says))
        .start()
        .await
        .unwrap();
    let (mut came, cancel) = (Vec::new(), CancellationToken::new());
    for prompt in prompts {
        came.push(match harness.prompt(prompt, &cancel).await {
            Prompted::Ran(outcome) => outcome.result.final_text.clone(),
            Prompted::Handled { message } => format!("{message:?}"),
            Prompted::Failed => "failed".to_owned(),
        });
    }
    harness.end(SessionEndReason::Shutdown).await;
    came
}

#[tokio::test]
async fn a_slash_command_runs_in_place_of_the_prompt() {
    let turns = json!([
        { "text": "one", "expect": { "last_user_contains": "asked: a b" } },
        { "text": "two", "expect": { "last_user_contains": "typed: /wrods a b" } },
    ]);
    let came = typed(turns, &["/words  a b c ", "/ask a b", "/wrods a b", "/fails"]).await;
    assert_eq!(came, ["Some(\"3 words\")", "one", "two", "failed"]);
}

/// How often in a row a stop hook may keep a run going.
const CAP: usize = 8;

#[tokio::test]
async fn decision_20_what_a_command_asks_is_no_message_of_a_person_and_resets_no_cap_of_forced_continuations()
{
    let folders = Folders::new();
    let turns = vec![json!({ "text": "done" }); 2 * (1 + CAP) + 1];
    let harness = Harness::builder()
        .places(folders.places())
        .settings(Settings::default())
        .model(Some(folders.scenario(&json!({ "turns": turns }))))
        .record(Recording::InMemory)
        .built_in("says", builtin_mod!("says", says))
        .built_in("goes-on", builtin_mod!("goes-on", goes_on))
        .start()
        .await
        .unwrap();
    let cancel = CancellationToken::new();
    let mut came = Vec::new();
    for prompt in ["go", "/ask a", "on"] {
        let Prompted::Ran(outcome) = harness.prompt(prompt, &cancel).await else { panic!("{prompt}") };
        let first = &outcome.state.messages[came.iter().map(|(turns, _)| 2 * turns).sum::<usize>()];
        came.push((outcome.result.turn_count as usize, first.source));
    }
    harness.end(SessionEndReason::Shutdown).await;
    assert_eq!(
        came,
        [(1 + CAP, MessageSource::User), (1, MessageSource::Mod), (1 + CAP, MessageSource::User)]
    );
}

/// Never lets a run end.
async fn goes_on(cmd: ModApi) -> Result<()> {
    cmd.hooks(Hooks::new().on_stop_sync(|_, _| Ok(StopDecision::Continue { reason: None }))).map(drop)
}

//! What mods ask of the session that goes on, before it is there and while it is.

use std::sync::{Arc, Mutex};

use host::{
    harness::{Harness, HarnessBuilder, Prompted, Recording},
    settings::Settings,
};
use mod_interface::types::{AgentEvent, SessionEndReason};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::{
    behaving::{Echo, TODAY, compiled_in, echoes, line, only, renamed},
    session::Folders,
    told::told,
};

/// The conversation after these prompts, and what was told of models and faults, with the mod `a` that does this.
async fn played(folders: &Folders, turns: Value, does: &str, prompts: &[&str]) -> (Vec<String>, Vec<String>) {
    let compiled = one(folders, &turns, does, prompts, |builder| compiled_in(builder, "a")).await;
    let library = renamed(TODAY, "a", folders.dir());
    let shared = one(folders, &turns, does, prompts, |builder| builder.mods([library])).await;
    assert_eq!(compiled, shared, "a mod that is compiled in (left) and a shared library (right) differ");
    compiled
}

async fn one(
    folders: &Folders,
    turns: &Value,
    does: &str,
    prompts: &[&str],
    add: impl FnOnce(HarnessBuilder) -> HarnessBuilder,
) -> (Vec<String>, Vec<String>) {
    let events: Arc<Mutex<Vec<String>>> = Arc::default();
    let (kept, cancel) = (Arc::clone(&events), CancellationToken::new());
    let other = folders.dir().join("b");
    let model = other.exists().then(|| ("model", format!("scripted/{}", other.display())));
    let options = [("does", does.to_owned())].into_iter().chain(model);
    let builder = Harness::builder()
        .places(folders.places())
        .settings(Settings::default())
        .model(Some(folders.scenario(&json!({ "turns": turns }))))
        .record(Recording::InMemory)
        .tool(Arc::new(Echo::new()))
        .mod_options(options.map(|(name, value)| (name.to_owned(), value)))
        .sink(Arc::new(move |event: &AgentEvent| kept.lock().unwrap().push(line(event))));
    let harness = add(builder).start().await.unwrap();
    let mut messages = Vec::new();
    for prompt in prompts {
        let Prompted::Ran(outcome) = harness.prompt(prompt, &cancel).await else { panic!("it did not run") };
        messages = told(&outcome.state.messages);
    }
    harness.end(SessionEndReason::Shutdown).await;
    let events = events.lock().unwrap().clone();
    let events =
        only(&events, &["mod_error", "notice", "run_error"]).into_iter().map(str::to_owned).collect();
    (messages, events)
}

#[tokio::test]
async fn decision_30_what_a_factory_queues_is_kept_and_delivered_in_the_first_run() {
    let turns = json!([{ "text": "one" }, { "text": "two" }]);
    let (messages, events) = played(&Folders::new(), turns, "queue", &["go"]).await;
    let expected = [
        "user[user]: go",
        "user[steering]: steered by the factory of a",
        "assistant: one",
        "user[follow_up]: follow-up of the factory of a",
        "assistant: two",
    ];
    assert_eq!((messages, events), (expected.map(str::to_owned).to_vec(), vec![]));
}

#[tokio::test]
async fn decision_26_a_mod_whose_factory_failed_has_queued_nothing() {
    let turns = json!([{ "text": "one" }]);
    let (does, add) = ("queue,nonsense", |builder| compiled_in(builder, "a"));
    let (messages, _) = one(&Folders::new(), &turns, does, &["go"], add).await;
    assert_eq!(messages, ["user[user]: go", "assistant: one"]);
}

#[tokio::test]
async fn steering_lands_behind_the_batch_that_runs_and_a_follow_up_where_the_run_would_stop() {
    let turns = json!([echoes(&["x", "y"]), { "text": "one" }, { "text": "two" }]);
    let (messages, events) = played(&Folders::new(), turns, "queue-at-call", &["go"]).await;
    let expected = [
        "user[user]: go",
        "assistant: <call c1> <call c2>",
        "user[tool_results]: <c1: x> <c2: y>",
        "user[steering]: steered by a",
        "assistant: one",
        "user[follow_up]: follow-up of a",
        "assistant: two",
    ];
    assert_eq!((messages, events), (expected.map(str::to_owned).to_vec(), vec![]));
}

#[tokio::test]
async fn decision_35_what_is_typed_meets_transform_input_and_what_is_queued_does_not() {
    let turns = json!([echoes(&["x"]), { "text": "one" }, { "text": "two" }]);
    let (messages, events) = played(&Folders::new(), turns, "input,queue-at-call", &["go"]).await;
    let expected = [
        "user[user]: go a",
        "assistant: <call c1>",
        "user[tool_results]: <c1: x>",
        "user[steering]: steered by a",
        "assistant: one",
        "user[follow_up]: follow-up of a",
        "assistant: two",
    ];
    assert_eq!((messages, events), (expected.map(str::to_owned).to_vec(), vec![]));
}

#[tokio::test]
async fn decision_23_what_is_queued_while_nothing_runs_starts_nothing_and_is_said_in_the_next_run() {
    let turns = json!([{ "text": "one" }, { "text": "two" }, { "text": "three" }]);
    let does = "queue-once-at-the-end";
    let (first, _) = played(&Folders::new(), turns.clone(), does, &["go"]).await;
    assert_eq!(first, ["user[user]: go", "assistant: one"]);
    let (messages, events) = played(&Folders::new(), turns, does, &["go", "again"]).await;
    let expected = [
        "user[user]: go",
        "assistant: one",
        "user[user]: again",
        "user[steering]: steered by a",
        "assistant: two",
        "user[follow_up]: follow-up of a",
        "assistant: three",
    ];
    assert_eq!((messages, events), (expected.map(str::to_owned).to_vec(), vec![]));
}

#[tokio::test]
async fn a_message_without_a_text_is_refused() {
    let (_, events) = played(&Folders::new(), json!([{ "text": "one" }]), "queue-nothing", &["go"]).await;
    assert_eq!(events, ["notice a: Some(\"a message that is queued needs a text, got none\")"]);
}

/// Writes the scenario of the model that the mod chooses.
fn other(folders: &Folders, turns: &Value) {
    std::fs::write(folders.dir().join("b"), json!({ "turns": turns }).to_string()).unwrap();
}

#[tokio::test]
async fn decision_30_a_model_and_an_effort_that_a_factory_sets_hold_from_the_first_call_on() {
    let folders = Folders::new();
    other(&folders, &json!([{ "text": "other", "expect": { "effort": "low" } }]));
    let (messages, events) = played(&folders, json!([]), "model", &["go"]).await;
    assert_eq!(messages, ["user[user]: go", "assistant: other"]);
    assert_eq!(events, [""; 0]);
}

#[tokio::test]
async fn a_model_that_is_set_in_a_round_answers_the_next_one() {
    let folders = Folders::new();
    other(&folders, &json!([{ "text": "other", "expect": { "effort": "low" } }]));
    let (messages, events) = played(&folders, json!([echoes(&["x"])]), "model-at-call", &["go"]).await;
    let expected =
        ["user[user]: go", "assistant: <call c1>", "user[tool_results]: <c1: x>", "assistant: other"];
    assert_eq!((messages, events), (expected.map(str::to_owned).to_vec(), vec![]));
}

#[tokio::test]
async fn a_model_that_cannot_be_called_is_told_and_nothing_changes() {
    for does in ["model-none", "model-none-at-call"] {
        let turns = json!([echoes(&["x"]), { "text": "same" }]);
        let (messages, events) = played(&Folders::new(), turns, does, &["go"]).await;
        assert_eq!(messages.last().unwrap(), "assistant: same");
        let told = |line: &String| line.split(", only").next().map(str::to_owned);
        let refused = "mod_error mod:behaving-a set_model: there is no such model provider".to_owned();
        assert_eq!(events.iter().map(told).collect::<Vec<_>>(), [Some(refused)]);
    }
}

//! Compaction: what is sent of a long conversation, when, and what stays as it was.

use std::{
    num::NonZeroU64,
    sync::{Arc, Mutex},
};

use mod_interface::types::{
    AgentState, ContentBlock, Hook, HookOutcome, Message, MessageEdit, StatePatch, ToolOutput, Usage,
};
use serde_json::json;

use super::fakes::{FakeTool, Scene, ScriptedModel, Turn, answer, call, say, told};
use crate::{
    agent::{Compaction, CompactionError, ModelCall, ModelResponse},
    events::EventBus,
    hooks::Subject,
};

/// What stands for the beginning, once the model said `notes` of it.
const NOTES: &str = "user[other]: The conversation so far was too long to be sent. This is a summary of it; what \
    follows is the rest, word for word.\n\nnotes";

/// A conversation of two long messages.
fn long() -> AgentState {
    let mut state = AgentState::new("s1");
    state.push(Message::user("a".repeat(400)));
    state.push(Message::assistant(vec![ContentBlock::text("b".repeat(400))]));
    state
}

fn from(tokens: u64) -> Arc<Compaction> {
    Arc::new(Compaction::new(NonZeroU64::new(tokens)))
}

fn scene<const N: usize>(turns: [Turn; N], threshold: u64) -> Scene {
    let mut scene = Scene::new(turns);
    (scene.state, scene.compaction) = (long(), from(threshold));
    scene
}

/// Says `notes` of two long messages, with which this call is asked.
fn is_asked_for_notes(call: &ModelCall) {
    let text = call.messages[0].text();
    let record = format!("<record>\nUSER: {}\nAGENT: {}\n</record>\n\n", "a".repeat(400), "b".repeat(400));
    assert_eq!((call.messages.len(), &text[..record.len()], call.tools.len()), (1, &*record, 0));
}

/// What a conversation of [`long`] and a prompt is sent as, once it is compacted.
fn sent(call: &ModelCall) -> Vec<String> {
    told(&call.messages)
}

#[tokio::test(start_paused = true)]
async fn over_the_threshold_the_beginning_is_sent_as_a_summary_and_mods_see_the_post_compaction_context() {
    let scene = scene([say("notes"), say("done")], 200);
    let seen = Arc::<Mutex<Vec<String>>>::default();
    let keeps = Arc::clone(&seen);
    let a = scene.fake_mod("a").watching([Hook::OnTurnStart, Hook::AppendSystemPrompt]).on(
        Hook::TransformContext,
        move |input| {
            let Subject::Context(messages) = &input.subject else { return None };
            keeps.lock().unwrap().extend(told(messages));
            None
        },
    );
    let ran = scene.with([a]).run().await;
    let expected = [
        "run_start s1",
        "◆ mod:a onTurnStart",
        "turn_start 1",
        "compaction_start",
        "compaction_done saved=170",
        "◆ mod:a appendSystemPrompt",
        "◆ mod:a transformContext",
        "message_start",
        "model_request_start p/one",
        "text_delta done",
        "model_request_end p/one tokens=15 end_turn",
        "message_end done",
        "turn_end 1 tools=false tokens=15",
        "commit",
        "run_end end_turn 1",
    ];
    assert_eq!(ran.log, expected);
    assert_eq!(*seen.lock().unwrap(), [NOTES, "user[user]: go"]);
    is_asked_for_notes(&ran.calls[0]);
    assert_eq!(sent(&ran.calls[1]), [format!("{NOTES} go")]);
    assert_eq!(ran.outcome.result.usage.total(), 30, "the summary's tokens are the run's");
}

#[tokio::test(start_paused = true)]
async fn the_recorded_transcript_stays_whole_and_a_session_that_goes_on_sends_the_summary() {
    let ran = scene([say("notes"), say("done")], 200).run().await;
    let whole = ran.told();
    assert_eq!((whole.len(), &whole[0][..17], &*whole[3]), (4, "user[user]: aaaaa", "assistant: done"));
    let [committed] = &ran.commits[..] else { panic!("one turn") };
    assert_eq!(committed.messages, ran.outcome.state.messages);
    let mut later = Scene::new([say("on")]);
    later.state = serde_json::from_value(serde_json::to_value(committed).unwrap()).unwrap();
    let ran = later.run().await;
    assert_eq!(
        sent(&ran.calls[0]),
        [format!("{NOTES} go"), "assistant: done".into(), "user[user]: go".into()]
    );
    assert_eq!(ran.only(["compaction"]), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_summary_of_messages_that_a_mod_has_rewritten_is_not_sent() {
    let compacted = scene([say("notes"), say("done")], 200).run().await.outcome.state;
    let edits = [
        MessageEdit::Remove { start: 0, end: 1 },
        MessageEdit::Remove { start: 0, end: 3 },
        MessageEdit::Replace { index: 1, message: Message::user("other") },
    ];
    for edit in edits {
        let mut scene = Scene::new([say("on")]);
        scene.state = compacted.clone();
        let a = scene.fake_mod("a").on(Hook::OnTurnStart, move |_| {
            let messages = vec![edit.clone()];
            Some(HookOutcome::State(StatePatch { messages, mod_state: None }))
        });
        let ran = scene.with([a]).run().await;
        assert_eq!(sent(&ran.calls[0]).iter().filter(|said| said.contains("notes")).count(), 0);
        let told = told(&ran.outcome.state.messages);
        assert_eq!(sent(&ran.calls[0]).last().unwrap(), "user[user]: go");
        assert_eq!(told.last().unwrap(), "assistant: on");
    }
}

/// Calls a tool, after a model call of so many tokens.
fn calls_after(input_tokens: u64) -> Turn {
    let Turn::Say(response) = call([("c1", "echo", json!({}))]) else { panic!("an answer") };
    Turn::Say(ModelResponse { usage: Usage { input_tokens, ..Usage::default() }, ..response })
}

#[tokio::test(start_paused = true)]
async fn a_run_goes_by_the_tokens_of_its_last_call_and_compacts_once() {
    let turns = [calls_after(400), calls_after(500), say("notes"), calls_after(900), say("done")];
    let ran = scene(turns, 500).run().await;
    let rounds = ran.only(["turn_start", "compaction"]);
    let expected = [
        "turn_start 1",
        "turn_start 2",
        "turn_start 3",
        "compaction_start",
        "compaction_done saved=170",
        "turn_start 4",
    ];
    assert_eq!(rounds, expected);
    is_asked_for_notes(&ran.calls[2]);
    let sent = sent(&ran.calls[3]);
    assert_eq!((&*sent[0], sent.len()), (&*format!("{NOTES} go"), 5));
}

#[tokio::test(start_paused = true)]
async fn a_compaction_that_fails_is_told_once_and_the_run_goes_on_with_the_whole_conversation() {
    for (turn, reason) in
        [(Turn::Fail("busy"), "busy"), (answer(vec![], "refusal"), "its answer has no text (refusal)")]
    {
        let ran = scene([turn, calls_after(900), say("done")], 200).run().await;
        let notice = format!(
            "notice the conversation is sent as it is, for it could not be compacted: the model p/one gave no summary: {reason}"
        );
        let told = ran.only(["compaction", "notice", "run_e"]);
        assert_eq!(told, ["compaction_start", "compaction_done", &*notice, "run_end end_turn 2"]);
        assert_eq!(sent(&ran.calls[1]).len(), 3);
    }
}

#[tokio::test(start_paused = true)]
async fn where_there_is_nothing_to_compact_nothing_is_told() {
    let mut scene = Scene::new([calls_after(900), say("done")]);
    scene.compaction = from(1);
    let ran = scene.run().await;
    assert_eq!(ran.only(["compaction", "notice", "run_e"]), ["run_end end_turn 2"]);
}

#[tokio::test(start_paused = true)]
async fn a_compaction_can_be_interrupted() {
    let mut scene = scene([], 200);
    let cancel = scene.cancel.clone();
    scene.model = Arc::new(ScriptedModel::new([Turn::Hang(Box::new(move || cancel.cancel()))]));
    let ran = scene.run().await;
    let told = ["run_start s1", "turn_start 1", "compaction_start", "compaction_done", "interrupted"];
    assert_eq!(ran.log, [&told[..], &["run_end interrupted 0"]].concat());
    assert_eq!(ran.outcome.state.messages.len(), 3);
}

/// A tool that asks for a compaction of what was said before the run.
fn asks(scene: &Scene, told: &Arc<Mutex<Vec<String>>>) -> FakeTool {
    let (model, compaction, told) =
        (Arc::clone(&scene.model), Arc::clone(&scene.compaction), Arc::clone(told));
    let (emitter, cancel) = (scene.log.bus().main(), scene.cancel.clone());
    FakeTool::working("echo", move |_, _| {
        let (model, compaction, told) = (Arc::clone(&model), Arc::clone(&compaction), Arc::clone(&told));
        let (emitter, cancel) = (emitter.clone(), cancel.clone());
        Box::pin(async move {
            let asked = compaction.ask(&long(), &*model, "p/one".into(), &emitter, &cancel).await;
            told.lock().unwrap().push(asked.map_or_else(|error| error.to_string(), |()| "compacted".into()));
            ToolOutput::text("asked")
        })
    })
}

#[tokio::test(start_paused = true)]
async fn what_is_asked_for_during_a_run_is_committed_with_the_turn_and_sent_from_the_next_call_on() {
    let mut scene = scene([calls_after(0), say("notes"), say("done")], 0);
    let asked = Arc::default();
    scene.tools = vec![asks(&scene, &asked)];
    let ran = scene.run().await;
    assert_eq!(*asked.lock().unwrap(), ["compacted"]);
    let expected = [
        "tool_running c1",
        "compaction_start",
        "compaction_done saved=70",
        "tool_completed c1: asked",
        "commit",
        "commit",
    ];
    assert_eq!(ran.only(["tool_running", "tool_completed", "compaction", "commit"]), expected);
    assert_eq!(sent(&ran.calls[0]).len(), 3);
    let whole = ran.told()[..5].to_vec();
    let sent = sent(&ran.calls[2]);
    assert_eq!((&*sent[0], &sent[2..]), (NOTES, &whole[2..]));
    let from = |state: &AgentState| state.mod_state["compaction"]["from"].clone();
    assert_eq!(ran.commits.iter().map(from).collect::<Vec<_>>(), [json!(1), json!(1)]);
    assert_eq!(ran.outcome.result.usage.total(), 30, "of the notes and the last answer");
}

#[tokio::test(start_paused = true)]
async fn who_asks_is_told_why_not() {
    let model = Arc::new(ScriptedModel::new([Turn::Fail("busy"), Turn::Hang(Box::new(|| ()))]));
    let compaction = Arc::new(Compaction::default());
    let (emitter, cancel) = (EventBus::new().main(), tokio_util::sync::CancellationToken::new());
    let ask = async |state: AgentState| {
        let asked = compaction.ask(&state, &*model, "p/one".into(), &emitter, &cancel).await;
        asked.map_err(|error: CompactionError| error.to_string())
    };
    let nothing =
        "there is nothing to compact: no beginning of the conversation is longer than what must stay";
    assert_eq!(ask(AgentState::new("s")).await, Err(nothing.to_owned()));
    assert_eq!(ask(long()).await, Err("the model p/one gave no summary: busy".to_owned()));
    let mut hangs = Box::pin(ask(long()));
    assert!(futures::poll!(&mut hangs).is_pending());
    assert_eq!(ask(long()).await, Err("the conversation is being compacted already".to_owned()));
    cancel.cancel();
    assert_eq!(hangs.await, Err("the compaction was interrupted".to_owned()));
    assert!(!compaction.apply(&mut long()));
}

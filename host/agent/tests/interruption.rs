//! Interruptions and failures: everything is answered, told, and handed back.

use std::{future::pending, sync::Arc, time::Duration};

use futures::future::ready;
use mod_interface::types::{Hook, HookOutcome, StopDecision, StopReason, ToolOutput};
use serde_json::json;

use super::fakes::{FakeAsk, FakeTool, Scene, Turn, call, say};
use crate::{
    agent::{Delivery, Error, Sender},
    tools::Access,
};

const NOT_RUN: &str = "This call did not run, because the user interrupted.";

fn two_calls(tool: &str) -> [Turn; 1] {
    [call([("c1", tool, json!({})), ("c2", tool, json!({}))])]
}

#[tokio::test(start_paused = true)]
async fn an_interrupted_run_begins_no_round() {
    let scene = Scene::new([]);
    scene.cancel.cancel();
    let a = scene.fake_mod("a").watching([Hook::OnTurnStart, Hook::OnTurnEnd, Hook::OnRunEnd]);
    let ran = scene.with([a]).run().await;
    assert_eq!(ran.log, ["run_start s1", "interrupted", "◆ mod:a onRunEnd", "run_end interrupted 0"]);
    assert_eq!(ran.told(), ["user[user]: go"]);
}

#[tokio::test(start_paused = true)]
async fn decision_18_interrupted_in_a_model_call_on_turn_end_does_not_run_and_on_run_end_does() {
    let mut scene = Scene::new([]);
    let cancel = scene.cancel.clone();
    scene.model = Arc::new(super::fakes::ScriptedModel::new([Turn::Hang(Box::new(move || cancel.cancel()))]));
    let a = scene.fake_mod("a").watching([Hook::OnTurnEnd, Hook::OnRunEnd]);
    let ran = scene.with([a]).run().await;
    assert_eq!(
        ran.log,
        [
            "run_start s1",
            "turn_start 1",
            "message_start",
            "model_request_start p/one",
            "interrupted",
            "◆ mod:a onRunEnd",
            "run_end interrupted 0",
        ]
    );
    assert_eq!(ran.told(), ["user[user]: go"]);
}

#[tokio::test(start_paused = true)]
async fn decision_18_an_interrupted_batch_is_answered_and_its_turn_completed_with_on_turn_end() {
    let mut scene = Scene::new(two_calls("stops"));
    let cancel = scene.cancel.clone();
    scene.tools = vec![FakeTool::working("stops", move |_, context| {
        let cancel = cancel.clone();
        Box::pin(async move {
            cancel.cancel();
            context.cancel.cancelled().await;
            tokio::time::sleep(Duration::from_secs(1)).await;
            ToolOutput::error("stopped in good order")
        })
    })];
    let hooks = [Hook::BeforeToolCall, Hook::AfterToolCall, Hook::OnTurnEnd, Hook::ShouldStopAfterTurn];
    let a =
        scene.fake_mod("a").watching(hooks).watching([Hook::PrepareNextTurn, Hook::OnStop, Hook::OnRunEnd]);
    let ran = scene.with([a]).run().await;
    assert_eq!(
        ran.since_batch(),
        [
            "tool_queued c1 stops {}",
            "tool_queued c2 stops {}",
            "◆ mod:a beforeToolCall c1",
            "tool_running c1",
            "◆ mod:a afterToolCall c1",
            "tool_errored c1: stopped in good order",
            "◆ mod:a onTurnEnd",
            "turn_end 1 tools=true tokens=15",
            "commit",
            "interrupted",
            "◆ mod:a onRunEnd",
            "run_end interrupted 1",
        ]
    );
    assert_eq!(
        ran.told()[2],
        format!("user[tool_results]: <c1 failed: stopped in good order> <c2 failed: {NOT_RUN}>")
    );
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_does_not_stop_is_given_up_after_a_moment() {
    for parallel in [false, true] {
        let mut scene = Scene::new(two_calls("hangs"));
        scene.parallel = parallel;
        let cancel = scene.cancel.clone();
        scene.tools = vec![FakeTool::working("hangs", move |_, _| {
            cancel.cancel();
            Box::pin(pending())
        })];
        let begun = tokio::time::Instant::now();
        let ran = scene.run().await;
        assert_eq!(begun.elapsed(), Duration::from_secs(2));
        let cut = "The user interrupted this call before it was done; what it did until then stands.";
        assert_eq!(ran.only(["tool_errored"])[0], format!("tool_errored c1: {cut}"));
        assert_eq!(ran.told()[2], format!("user[tool_results]: <c1 failed: {cut}> <c2 failed: {NOT_RUN}>"));
    }
}

#[tokio::test(start_paused = true)]
async fn decision_18_an_interruption_ends_a_question_and_nothing_of_the_batch_runs() {
    let mut scene = Scene::new(two_calls("writes"));
    scene.tools = vec![FakeTool::new("writes").access(Access::Other)];
    let cancel = scene.cancel.clone();
    let answer = move |_: &_| {
        cancel.cancel();
        Ok(crate::agent::Answer::Deny { reason: "dismissed".into() })
    };
    scene.ask = Arc::new(FakeAsk { log: scene.log.clone(), answer: Box::new(answer) });
    let ran = scene.run().await;
    assert_eq!(ran.only(["tool_denied", "tool_running", "run_end"]), ["run_end interrupted 1"]);
    assert_eq!(ran.told()[2], format!("user[tool_results]: <c1 failed: {NOT_RUN}> <c2 failed: {NOT_RUN}>"));
}

#[tokio::test(start_paused = true)]
async fn hooks_that_hang_share_one_moment_after_an_interruption() {
    let scene = Scene::new(two_calls("echo"));
    let cancel = scene.cancel.clone();
    let interrupts = scene.fake_mod("i").on(Hook::BeforeToolCall, move |_| {
        cancel.cancel();
        None
    });
    let hangs = ["x", "y", "z"]
        .map(|id| scene.fake_mod(id).never_answering(Hook::BeforeToolCall).never_answering(Hook::OnTurnEnd));
    let [x, y, z] = hangs;
    let begun = tokio::time::Instant::now();
    let ran = scene.with([interrupts, x, y, z]).run().await;
    assert_eq!(begun.elapsed(), Duration::from_secs(2));
    assert_eq!(
        ran.only(["tool_running", "mod_error", "commit", "run_end"]),
        ["commit", "run_end interrupted 1"]
    );
}

#[tokio::test(start_paused = true)]
async fn after_an_interruption_no_hook_is_asked_how_the_run_goes_on() {
    let after_the_turn = [Hook::ShouldStopAfterTurn, Hook::OnStop, Hook::PrepareNextTurn];
    for (at, asked) in [(Hook::OnTurnEnd, 1), (Hook::ShouldStopAfterTurn, 1), (Hook::OnStop, 2)] {
        let scene = Scene::new([say("hi")]);
        let cancel = scene.cancel.clone();
        let a = scene.fake_mod("a").watching(after_the_turn).on(at, move |_| {
            cancel.cancel();
            let go_on = StopDecision::Continue { reason: None };
            (at == Hook::OnStop).then_some(HookOutcome::Stop(go_on))
        });
        let ran = scene.with([a]).run().await;
        let hooks = ran.only(["◆"]);
        assert_eq!(hooks.last(), Some(&&*format!("◆ mod:a {at}")));
        assert_eq!(hooks.len(), asked);
        assert_eq!(ran.only(["interrupted", "run_end"]), ["interrupted", "run_end interrupted 1"]);
    }
}

#[tokio::test(start_paused = true)]
async fn an_interrupted_batch_leaves_the_queue_for_the_next_run() {
    let mut scene = Scene::new(two_calls("echo"));
    let (cancel, queue) = (scene.cancel.clone(), Arc::clone(&scene.queue));
    scene.tools = vec![FakeTool::working("echo", move |_, _| {
        queue.push(Sender::Person, Delivery::Steer, "wait");
        cancel.cancel();
        Box::pin(ready(ToolOutput::text("done")))
    })];
    let queue = Arc::clone(&scene.queue);
    let ran = scene.run().await;
    assert_eq!(ran.told().len(), 3);
    assert_eq!(queue.take_steering().messages.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn decision_18_on_run_end_is_awaited_even_when_interrupted() {
    let scene = Scene::new([]);
    scene.cancel.cancel();
    let a = scene.fake_mod("a").slowly(Hook::OnRunEnd, Duration::from_secs(4), |_| Ok(None));
    let begun = tokio::time::Instant::now();
    scene.with([a]).run().await;
    assert_eq!(begun.elapsed(), Duration::from_secs(4));
}

#[tokio::test(start_paused = true)]
async fn a_failing_model_is_a_run_error_and_the_state_is_handed_back() {
    let scene = Scene::new([call([("c1", "echo", json!({}))]), Turn::Fail("overloaded")]);
    let a = scene.fake_mod("a").watching([Hook::OnTurnEnd, Hook::OnRunEnd]);
    let ran = scene.with([a]).run().await;
    assert_eq!(
        ran.only(["◆", "model_request", "commit", "run_"]),
        [
            "run_start s1",
            "model_request_start p/one",
            "model_request_end p/one tokens=15 tool_use",
            "◆ mod:a onTurnEnd",
            "commit",
            "model_request_start p/one",
            "run_error the model p/one gave no answer: overloaded",
            "◆ mod:a onRunEnd",
            "run_end error 1",
        ]
    );
    assert_eq!(ran.told().len(), 3);
    assert!(matches!(ran.outcome.error, Some(Error::Model { .. })));
}

#[tokio::test(start_paused = true)]
async fn a_failing_commit_ends_the_run_and_nothing_is_lost_from_the_state() {
    let mut scene = Scene::new([call([("c1", "echo", json!({}))])]);
    scene.commit_fails = true;
    let a = scene.fake_mod("a").watching([Hook::ShouldStopAfterTurn, Hook::OnRunEnd]);
    let ran = scene.with([a]).run().await;
    assert_eq!(
        ran.only(["turn_end", "commit", "◆", "run_"]),
        [
            "run_start s1",
            "turn_end 1 tools=true tokens=15",
            "commit",
            "run_error turn 1 could not be saved, so the run ends: the disk is full",
            "◆ mod:a onRunEnd",
            "run_end error 0",
        ]
    );
    assert_eq!(
        ran.told(),
        ["user[user]: go", "assistant: <call c1>", "user[tool_results]: <c1: echo ran {}>"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_run_with_nothing_to_send_says_so() {
    let mut scene = Scene::new([]);
    let (agent, _) = scene.agent();
    let outcome = agent.run(scene.state.clone(), None, &scene.cancel).await;
    assert_eq!(outcome.result.stop_reason, StopReason::Error);
    scene.follows_the_diagrams();
    assert_eq!(
        scene.log.lines(),
        [
            "run_start s1",
            "turn_start 1",
            "run_error there is no message to send; give a prompt, or look for a mod whose \
             transformContext leaves none",
            "run_end error 0",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn an_empty_answer_is_no_message() {
    let ran = Scene::new([super::fakes::answer(vec![], "refusal")]).run().await;
    assert_eq!(ran.told(), ["user[user]: go"]);
    assert_eq!(ran.only(["message_end", "run_end"]), ["message_end", "run_end end_turn 1"]);
}

#[tokio::test]
async fn a_run_may_move_between_threads() {
    let mut scene = Scene::new([say("hi")]);
    scene.tools = vec![FakeTool::working("x", |_, _| Box::pin(ready(ToolOutput::text(""))))];
    let (agent, _) = scene.agent();
    let (state, cancel) = (scene.state.clone(), scene.cancel.clone());
    let run = tokio::spawn(async move {
        agent.run(state, Some(mod_interface::types::Message::user("go")), &cancel).await
    });
    assert_eq!(run.await.unwrap().result.final_text, "hi");
    scene.follows_the_diagrams();
}

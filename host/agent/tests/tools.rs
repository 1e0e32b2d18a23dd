//! Tool dispatch: admission, execution, and results in every case.

use std::{future::pending, sync::Arc, time::Duration};

use futures::future::ready;
use mod_interface::types::{BeforeToolCall, ContentBlock, Hook, HookOutcome, ToolOutput};
use serde_json::json;

use super::fakes::{FakeAsk, FakeTool, Scene, Turn, answer, call, say};
use crate::{agent::Answer, hooks::Subject, tools::Access};

pub(super) fn failing(name: &str) -> FakeTool {
    FakeTool::working(name, |_, _| Box::pin(ready(ToolOutput::error("no luck"))))
}

fn two_calls() -> [Turn; 2] {
    [call([("c1", "echo", json!({"n": 1})), ("c2", "echo", json!({"n": 2}))]), say("done")]
}

#[tokio::test(start_paused = true)]
async fn calls_run_one_after_another() {
    let ran = Scene::new(two_calls()).run().await;
    assert_eq!(
        ran.batch(),
        [
            "tool_queued c1 echo {\"n\":1}",
            "tool_queued c2 echo {\"n\":2}",
            "tool_running c1",
            "tool_completed c1: echo ran {\"n\":1}",
            "tool_running c2",
            "tool_completed c2: echo ran {\"n\":2}",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn decision_16_parallel_calls_run_at_once_with_hooks_and_ends_in_source_order() {
    let mut scene =
        Scene::new([call([("c1", "waits", json!({"s": 3})), ("c2", "waits", json!({"s": 1}))]), say("done")]);
    let log = scene.log.clone();
    scene.tools = vec![FakeTool::working("waits", move |input, _| {
        let (log, seconds) = (log.clone(), input["s"].as_u64().unwrap());
        Box::pin(async move {
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            log.add(format!("waited {seconds}"));
            ToolOutput::text(format!("{seconds}"))
        })
    })];
    scene.parallel = true;
    let a = scene.fake_mod("a").watching([Hook::BeforeToolCall, Hook::AfterToolCall]);
    let begun = tokio::time::Instant::now();
    let ran = scene.with([a]).run().await;
    assert_eq!(begun.elapsed(), Duration::from_secs(3));
    assert_eq!(
        ran.batch(),
        [
            "tool_queued c1 waits {\"s\":3}",
            "tool_queued c2 waits {\"s\":1}",
            "◆ mod:a beforeToolCall c1",
            "◆ mod:a beforeToolCall c2",
            "tool_running c1",
            "tool_running c2",
            "waited 1",
            "waited 3",
            "◆ mod:a afterToolCall c1",
            "tool_completed c1: 3",
            "◆ mod:a afterToolCall c2",
            "tool_completed c2: 1",
        ]
    );
    assert_eq!(ran.told()[2], "user[tool_results]: <c1: 3> <c2: 1>");
}

#[tokio::test(start_paused = true)]
async fn an_unknown_tool_is_an_error_result_without_a_question() {
    let ran =
        Scene::new([call([("c1", "nope", json!({})), ("c2", "echo", json!({}))]), say("done")]).run().await;
    assert_eq!(
        ran.batch(),
        [
            "tool_queued c1 nope {}",
            "tool_queued c2 echo {}",
            "tool_errored c1: no such tool: nope",
            "tool_running c2",
            "tool_completed c2: echo ran {}",
        ]
    );
    assert_eq!(ran.told()[2], "user[tool_results]: <c1 failed: no such tool: nope> <c2: echo ran {}>");
}

#[tokio::test(start_paused = true)]
async fn an_input_against_the_schema_is_an_error_result_and_no_hook_is_asked() {
    let scene = Scene::new([call([("c1", "echo", json!({"bad": 1}))]), say("done")]);
    let a = scene.fake_mod("a").watching([Hook::BeforeToolCall, Hook::AfterToolCall]);
    let ran = scene.with([a]).run().await;
    assert_eq!(ran.batch(), ["tool_queued c1 echo {\"bad\":1}", "tool_errored c1: the input is bad"]);
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_panics_is_an_error_result_that_the_hooks_see() {
    let mut scene =
        Scene::new([call([("c1", "panics", json!({})), ("c2", "later", json!({}))]), say("done")]);
    scene.tools = vec![
        FakeTool::working("panics", |_, _| panic!("at once")),
        FakeTool::working("later", |_, _| Box::pin(async { panic!("when {}", "polled") })),
    ];
    let a = scene.fake_mod("a").on(Hook::AfterToolCall, |input| {
        let Subject::ToolResult { is_error, .. } = &input.subject else { panic!("not a result") };
        assert!(is_error);
        None
    });
    let ran = scene.with([a]).run().await;
    assert_eq!(
        ran.batch(),
        [
            "tool_queued c1 panics {}",
            "tool_queued c2 later {}",
            "tool_running c1",
            "◆ mod:a afterToolCall c1",
            "tool_errored c1: the tool panics panicked: at once",
            "tool_running c2",
            "◆ mod:a afterToolCall c2",
            "tool_errored c2: the tool later panicked: when polled",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_answers_garbage_is_an_error_result() {
    let mut scene = Scene::new([call([("c1", "odd", json!({}))]), say("done")]);
    scene.tools = vec![FakeTool::working("odd", |_, _| {
        let thinking = ContentBlock::Thinking { thinking: String::new(), signature: None };
        Box::pin(ready(ToolOutput { content: vec![thinking], is_error: false }))
    })];
    let ran = scene.run().await;
    let error =
        "the tool odd answered something invalid: a tool result holds text and image blocks, got: thinking";
    let told = ["tool_queued c1 odd {}", "tool_running c1", &format!("tool_errored c1: {error}")];
    assert_eq!(ran.batch(), told);
}

#[tokio::test(start_paused = true)]
async fn progress_is_told_while_the_tool_runs_and_not_behind_its_end() {
    let mut scene = Scene::new([call([("c1", "works", json!({}))]), say("done")]);
    let kept: Arc<std::sync::Mutex<Option<crate::tools::ToolContext>>> = Arc::default();
    let keep = Arc::clone(&kept);
    scene.tools = vec![FakeTool::working("works", move |_, context| {
        (context.progress)("half");
        assert_eq!((&*context.tool_call_id, &*context.agent_id), ("c1", "main"));
        *keep.lock().unwrap() = Some(context);
        Box::pin(ready(ToolOutput::text("whole")))
    })];
    let a = scene.fake_mod("a").on(Hook::AfterToolCall, move |_| {
        (kept.lock().unwrap().as_ref().unwrap().progress)("too late");
        None
    });
    let ran = scene.with([a]).run().await;
    assert_eq!(
        ran.batch(),
        [
            "tool_queued c1 works {}",
            "tool_running c1",
            "tool_update c1: half",
            "◆ mod:a afterToolCall c1",
            "tool_completed c1: whole",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn the_description_of_the_tool_goes_to_the_question_and_to_tool_running() {
    let mut scene = Scene::new([call([("c1", "echo", json!({}))]), say("done")]);
    scene.tools = vec![
        FakeTool::new("echo").access(Access::Other).described(|| Box::pin(ready(Some("echoes".into())))),
    ];
    scene.ask = Arc::new(FakeAsk { log: scene.log.clone(), answer: Box::new(|_| Ok(Answer::Allow)) });
    let ran = scene.run().await;
    assert_eq!(
        ran.batch(),
        [
            "tool_queued c1 echo {}",
            "ask echo Some(\"echoes\")",
            "tool_running c1: echoes",
            "tool_completed c1: echo ran {}",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_description_that_takes_five_seconds_or_panics_is_none() {
    let mut scene =
        Scene::new([call([("c1", "hangs", json!({})), ("c2", "panics", json!({}))]), say("done")]);
    scene.tools = vec![
        FakeTool::new("hangs").described(|| Box::pin(pending())),
        FakeTool::new("panics").described(|| panic!("no words")),
    ];
    let begun = tokio::time::Instant::now();
    let ran = scene.run().await;
    assert_eq!(begun.elapsed(), Duration::from_secs(5));
    assert_eq!(
        ran.batch(),
        [
            "tool_queued c1 hangs {}",
            "tool_queued c2 panics {}",
            "tool_running c1",
            "tool_completed c1: hangs ran {}",
            "tool_running c2",
            "tool_completed c2: panics ran {}",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_rewrite_against_the_schema_is_an_error_result() {
    let scene = Scene::new([call([("c1", "echo", json!({}))]), say("done")]);
    let a = scene.fake_mod("a").on(Hook::BeforeToolCall, |_| {
        Some(HookOutcome::BeforeToolCall(BeforeToolCall::rewrite(json!({"bad": 1}))))
    });
    let ran = scene.with([a]).run().await;
    let error = "This call did not run: mod:a rewrote its input, and now the input is bad";
    let told = ["tool_queued c1 echo {}", "◆ mod:a beforeToolCall c1", &format!("tool_errored c1: {error}")];
    assert_eq!(ran.batch(), told);
}

#[tokio::test(start_paused = true)]
async fn the_last_call_of_an_answer_that_was_cut_off_does_not_run() {
    let block = |id: &str| ContentBlock::ToolUse { id: id.into(), name: "echo".into(), input: json!({}) };
    let ran = Scene::new([answer(vec![block("c1"), block("c2")], "length"), say("done")]).run().await;
    assert_eq!(
        ran.batch(),
        [
            "tool_queued c1 echo {}",
            "tool_queued c2 echo {}",
            "tool_running c1",
            "tool_completed c1: echo ran {}",
            "tool_errored c2: This call did not run: the answer hit the output limit, so its input may be \
             incomplete. Send it again.",
        ]
    );
}

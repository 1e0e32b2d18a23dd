//! A run inside of a tool call: what it shares with its parent, and what it has of its own.

use std::time::Duration;

use futures::future::ready;
use mod_interface::types::{BeforeToolCall, Hook, HookOutcome, PermissionMode, StatePatch, ToolOutput};
use serde_json::json;

use super::fakes::{FakeAsk, FakeTool, Scene, Turn, call, say, told};
use crate::{agent::Answer, tools::Access};

fn delegates() -> Turn {
    call([("c1", "agent", json!({"prompt": "look"}))])
}

fn one_tool_call() -> [Turn; 4] {
    [delegates(), call([("d1", "echo", json!({"n": 1}))]), say("found it"), say("done")]
}

const FAILED_EARLY: &str = "the sub-agent ended early";

#[tokio::test(start_paused = true)]
async fn a_sub_agent_runs_its_own_conversation_and_only_its_last_text_comes_back() {
    let ran = Scene::new(one_tool_call()).with_subagents().run().await;
    assert_eq!(
        ran.told(),
        ["user[user]: go", "assistant: <call c1>", "user[tool_results]: <c1: found it>", "assistant: done"]
    );
    let sent: Vec<_> = ran.calls.iter().map(|call| told(&call.messages)).collect();
    assert_eq!(sent[1], ["user[user]: look"]);
    assert_eq!(sent[2], ["user[user]: look", "assistant: <call d1>", "user[user]: <d1: echo ran {\"n\":1}>"]);
    assert!(
        ran.calls[1].system.starts_with("base default\n\nYou are a sub-agent:"),
        "{}",
        ran.calls[1].system
    );
    assert_eq!(&*ran.calls[3].system, "base default");
    assert_eq!(ran.commits.len(), 2, "a sub-agent's turns are no turns of the record");
    assert_eq!(ran.outcome.result.usage.total(), 30, "its tokens are told by subagent_stop");
}

#[tokio::test(start_paused = true)]
async fn decision_22_its_events_carry_its_id_and_the_parent_tells_of_it() {
    let ran = Scene::new(one_tool_call()).with_subagents().run().await;
    let from = ran.log.iter().position(|line| line == "tool_running c1").unwrap();
    let to = ran.log.iter().position(|line| line.starts_with("tool_completed c1")).unwrap();
    assert_eq!(
        ran.log[from..=to],
        [
            "tool_running c1",
            "subagent_start c1 general",
            "[agent:c1] run_start s1",
            "[agent:c1] turn_start 1",
            "[agent:c1] message_start",
            "[agent:c1] model_request_start p/one",
            "[agent:c1] model_request_end p/one tokens=15 tool_use",
            "[agent:c1] message_end tool_use",
            "[agent:c1] tool_queued d1 echo {\"n\":1}",
            "subagent_progress c1: echo {\"n\":1} tokens=15",
            "[agent:c1] tool_running d1",
            "[agent:c1] tool_completed d1: echo ran {\"n\":1}",
            "[agent:c1] turn_end 1 tools=true tokens=15",
            "[agent:c1] turn_start 2",
            "[agent:c1] message_start",
            "[agent:c1] model_request_start p/one",
            "[agent:c1] text_delta found it",
            "[agent:c1] model_request_end p/one tokens=15 end_turn",
            "[agent:c1] message_end found it",
            "[agent:c1] turn_end 2 tools=false tokens=15",
            "[agent:c1] run_end end_turn 2",
            "subagent_stop c1 general tokens=30",
            "tool_completed c1: found it",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn decision_22_every_hook_of_the_loop_runs_for_it_under_its_id() {
    let scene = Scene::new(one_tool_call()).with_subagents();
    let a = scene.fake_mod("a").watching(Hook::ALL);
    let ran = scene.with([a]).run().await;
    assert_eq!(
        ran.only(["[agent:c1] ◆"]),
        [
            "[agent:c1] ◆ mod:a onTurnStart",
            "[agent:c1] ◆ mod:a appendSystemPrompt",
            "[agent:c1] ◆ mod:a transformContext",
            "[agent:c1] ◆ mod:a beforeToolCall d1",
            "[agent:c1] ◆ mod:a afterToolCall d1",
            "[agent:c1] ◆ mod:a onTurnEnd",
            "[agent:c1] ◆ mod:a shouldStopAfterTurn",
            "[agent:c1] ◆ mod:a prepareNextTurn",
            "[agent:c1] ◆ mod:a onTurnStart",
            "[agent:c1] ◆ mod:a appendSystemPrompt",
            "[agent:c1] ◆ mod:a transformContext",
            "[agent:c1] ◆ mod:a onTurnEnd",
            "[agent:c1] ◆ mod:a shouldStopAfterTurn",
            "[agent:c1] ◆ mod:a onStop",
            "[agent:c1] ◆ mod:a onRunEnd",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn decision_22_a_guard_that_blocks_the_parent_blocks_it() {
    let scene = Scene::new(one_tool_call()).with_subagents();
    let a = scene.fake_mod("a").on(Hook::BeforeToolCall, |input| {
        let about = matches!(&input.subject, crate::hooks::Subject::ToolCall(call) if &*call.name == "echo");
        about.then(|| HookOutcome::BeforeToolCall(BeforeToolCall::block("not here")))
    });
    let ran = scene.with([a]).run().await;
    assert_eq!(
        ran.only(["[agent:c1] tool_"]),
        ["[agent:c1] tool_queued d1 echo {\"n\":1}", "[agent:c1] tool_hook_blocked d1: not here"]
    );
}

#[tokio::test(start_paused = true)]
async fn the_rules_the_mode_and_the_asking_of_the_parent_hold_for_it() {
    let writes = || call([("d1", "write", json!({}))]);
    let scene = || {
        let mut scene = Scene::new([delegates(), writes(), say("done")]).with_subagents();
        scene.tools.push(FakeTool::new("write").access(Access::Edit));
        scene
    };
    let mut denied = scene();
    denied.deny = vec!["write"];
    let ran = denied.run().await;
    assert_eq!(ran.only(["[agent:c1] tool_denied"]).len(), 1);
    let failed = ran.only(["tool_errored c1"]);
    assert_eq!(
        failed,
        [format!("tool_errored c1: {FAILED_EARLY} (permission_denied); it said last: nothing")]
    );

    let planning = scene();
    planning.mode.set(PermissionMode::Plan);
    let ran = planning.run().await;
    assert_eq!(ran.only(["[agent:c1] tool_denied"]).len(), 1);

    let mut asking = Scene::new([delegates(), writes(), say("written"), say("done")]).with_subagents();
    asking.tools.push(FakeTool::new("write").access(Access::Edit));
    let ask = |question: &crate::agent::Question| {
        assert_eq!(&*question.agent_id, "agent:c1");
        Ok(Answer::Allow)
    };
    asking.ask = std::sync::Arc::new(FakeAsk { log: asking.log.clone(), answer: Box::new(ask) });
    let ran = asking.run().await;
    assert_eq!(
        ran.only(["[agent:c1] ask", "tool_completed"]),
        ["[agent:c1] ask write None", "tool_completed c1: written"]
    );
}

#[tokio::test(start_paused = true)]
async fn it_has_every_tool_but_the_one_that_began_it() {
    let scene = Scene::new([
        delegates(),
        call([("d1", "agent", json!({"prompt": "deeper"}))]),
        say("no"),
        say("done"),
    ]);
    let ran = scene.with_subagents().run().await;
    let names = |index: usize| ran.calls[index].tools.iter().map(|it| it.name.clone()).collect::<Vec<_>>();
    assert_eq!([names(0), names(1)], [vec!["echo".to_owned(), "agent".to_owned()], vec!["echo".to_owned()]]);
    assert_eq!(
        ran.only(["[agent:c1] tool_errored", "subagent_start"]),
        [
            "subagent_start c1 general",
            "[agent:c1] tool_errored d1: a sub-agent cannot begin another one; do it yourself",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn its_mod_state_is_its_own() {
    let scene = Scene::new(one_tool_call()).with_subagents();
    let a = scene.fake_mod("a").on(Hook::OnTurnStart, |input| {
        let seen = input.state.mod_state.get("mod:a").and_then(|it| it.as_u64()).unwrap_or(0);
        Some(HookOutcome::State(StatePatch { mod_state: Some(json!(seen + 1)), ..Default::default() }))
    });
    let ran = scene.with([a]).run().await;
    assert_eq!(ran.outcome.state.mod_state["mod:a"], json!(2), "two turns of the parent, none of the other");
}

#[tokio::test(start_paused = true)]
async fn it_runs_the_model_that_the_session_is_set_to() {
    let mut scene = Scene::new(one_tool_call()).with_subagents();
    let choice = std::sync::Arc::clone(&scene.choice);
    scene.tools[0] = FakeTool::working("echo", move |_, _| {
        choice.set_model("p/two");
        Box::pin(ready(ToolOutput::text("")))
    });
    let ran = scene.run().await;
    let models: Vec<_> = ran.calls.iter().map(|call| &*call.model).collect();
    assert_eq!(models, ["p/one", "p/one", "p/two", "p/two"]);
}

#[tokio::test(start_paused = true)]
async fn interrupting_the_parent_interrupts_it_and_its_end_is_told() {
    let mut scene = Scene::new([delegates(), call([("d1", "waits", json!({}))])]).with_subagents();
    let cancel = scene.cancel.clone();
    scene.tools.push(FakeTool::working("waits", move |_, ctx| {
        let cancel = cancel.clone();
        Box::pin(async move {
            cancel.cancel();
            ctx.cancel.cancelled().await;
            ToolOutput::error("stopped")
        })
    }));
    let ran = scene.run().await;
    let from = ran.log.iter().position(|line| line == "[agent:c1] tool_running d1").unwrap();
    assert_eq!(
        ran.log[from + 1..],
        [
            "[agent:c1] tool_errored d1: stopped".to_owned(),
            "[agent:c1] turn_end 1 tools=true tokens=15".to_owned(),
            "[agent:c1] interrupted".to_owned(),
            "[agent:c1] run_end interrupted 1".to_owned(),
            "subagent_stop c1 general tokens=15".to_owned(),
            format!("tool_errored c1: {FAILED_EARLY} (interrupted); it said last: nothing"),
            "turn_end 1 tools=true tokens=15".to_owned(),
            "commit".to_owned(),
            "interrupted".to_owned(),
            "run_end interrupted 1".to_owned(),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn one_that_does_not_end_is_given_up_and_its_end_is_told() {
    let mut scene = Scene::new([delegates(), call([("d1", "hangs", json!({}))])]).with_subagents();
    let cancel = scene.cancel.clone();
    scene.tools.push(FakeTool::working("hangs", move |_, _| {
        cancel.cancel();
        Box::pin(std::future::pending())
    }));
    let a = scene.fake_mod("a").never_answering(Hook::OnTurnEnd);
    let ran = scene.with([a]).run().await;
    assert_eq!(
        ran.only(["subagent_stop", "run_end"]),
        ["subagent_stop c1 general tokens=15", "run_end interrupted 1",]
    );
}

#[tokio::test(start_paused = true)]
async fn its_turns_are_bounded_by_those_of_the_parent_and_its_failure_is_an_error_result() {
    let mut scene = Scene::new([
        delegates(),
        call([("d1", "echo", json!({}))]),
        call([("d2", "echo", json!({}))]),
        say("ok"),
    ]);
    scene.max_turns = 2;
    let ran = scene.with_subagents().run().await;
    assert_eq!(
        ran.only(["tool_errored c1"]),
        [format!("tool_errored c1: {FAILED_EARLY} (max_turns); it said last: nothing")]
    );

    let ran = Scene::new([delegates(), Turn::Fail("overloaded"), say("ok")]).with_subagents().run().await;
    assert_eq!(
        ran.only(["tool_errored c1", "[agent:c1] run_error", "run_end"]),
        [
            "[agent:c1] run_error the model p/one gave no answer: overloaded",
            "tool_errored c1: the sub-agent failed: the model p/one gave no answer: overloaded",
            "run_end end_turn 2",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn several_of_one_batch_run_at_once() {
    let two = call([("c1", "agent", json!({"prompt": "a"})), ("c2", "agent", json!({"prompt": "b"}))]);
    let waits = |seconds: u64| call([("d1", "waits", json!({ "s": seconds }))]);
    let turns = [two, waits(3), waits(1), say("second"), say("first"), say("done")];
    let mut scene = Scene::new(turns).with_subagents();
    scene.parallel = true;
    scene.tools.push(FakeTool::working("waits", |input, _| {
        let seconds = input["s"].as_u64().unwrap();
        Box::pin(async move {
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            ToolOutput::text(format!("{seconds}"))
        })
    }));
    let begun = tokio::time::Instant::now();
    let ran = scene.run().await;
    assert_eq!(begun.elapsed(), Duration::from_secs(3));
    assert_eq!(ran.told()[2], "user[tool_results]: <c1: first> <c2: second>");
    let own = |id: &str, lines: &[&str]| {
        lines.iter().map(|line| format!("[agent:{id}] {line}")).collect::<Vec<_>>()
    };
    let begins = |id: &str, seconds: u64| {
        let input = format!("{{\"s\":{seconds}}}");
        let asks = ["run_start s1", "turn_start 1", "message_start", "model_request_start p/one"];
        let answer = ["model_request_end p/one tokens=15 tool_use", "message_end tool_use"];
        let queued = format!("tool_queued d1 waits {input}");
        [
            vec![format!("tool_running {id}"), format!("subagent_start {id} general")],
            own(id, &asks),
            own(id, &answer),
            own(id, &[&queued]),
            vec![format!("subagent_progress {id}: waits {input} tokens=15")],
            own(id, &["tool_running d1"]),
        ]
        .concat()
    };
    let ends = |id: &str, seconds: u64, text: &str| {
        let (completed, delta) = (format!("tool_completed d1: {seconds}"), format!("text_delta {text}"));
        let turn = [&completed, "turn_end 1 tools=true tokens=15", "turn_start 2", "message_start"];
        let message = format!("message_end {text}");
        let answer =
            ["model_request_start p/one", &delta, "model_request_end p/one tokens=15 end_turn", &message];
        let end = ["turn_end 2 tools=false tokens=15", "run_end end_turn 2"];
        let stop = vec![format!("subagent_stop {id} general tokens=30")];
        [own(id, &turn), own(id, &answer), own(id, &end), stop].concat()
    };
    let queued = ["tool_queued c1 agent {\"prompt\":\"a\"}", "tool_queued c2 agent {\"prompt\":\"b\"}"];
    let completed = ["tool_completed c1: first", "tool_completed c2: second"];
    let expected = [
        queued.map(str::to_owned).to_vec(),
        begins("c1", 3),
        begins("c2", 1),
        ends("c2", 1, "second"),
        ends("c1", 3, "first"),
        completed.map(str::to_owned).to_vec(),
    ];
    assert_eq!(ran.batch(), expected.concat());
}

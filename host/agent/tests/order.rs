//! The ordering guarantees of the specification, and the two diagrams, row by row.

use std::time::Duration;

use mod_interface::types::{
    AfterToolCall, BeforeToolCall, ContentBlock, Hook, HookOutcome, Message, MessageEdit, StatePatch,
};
use serde_json::json;

use super::fakes::{Scene, Turn, answer, call, say, told};
use crate::hooks::Subject;

const LOOP_HOOKS: [Hook; 10] = [
    Hook::TransformContext,
    Hook::AppendSystemPrompt,
    Hook::BeforeToolCall,
    Hook::AfterToolCall,
    Hook::OnTurnStart,
    Hook::OnTurnEnd,
    Hook::ShouldStopAfterTurn,
    Hook::PrepareNextTurn,
    Hook::OnRunEnd,
    Hook::OnStop,
];

fn one_call_then_done() -> [Turn; 2] {
    [call([("c1", "echo", json!({"x": 1}))]), say("done")]
}

#[tokio::test(start_paused = true)]
async fn every_hook_and_event_of_a_run_comes_in_the_documented_order() {
    let scene = Scene::new(one_call_then_done());
    let a = scene.fake_mod("a").watching(LOOP_HOOKS);
    let ran = scene.with([a]).run().await;
    let expected = [
        "run_start s1",
        "◆ mod:a onTurnStart",
        "turn_start 1",
        "◆ mod:a appendSystemPrompt",
        "◆ mod:a transformContext",
        "message_start",
        "model_request_start p/one",
        "model_request_end p/one tokens=15 tool_use",
        "message_end tool_use",
        "tool_queued c1 echo {\"x\":1}",
        "◆ mod:a beforeToolCall c1",
        "tool_running c1",
        "◆ mod:a afterToolCall c1",
        "tool_completed c1: echo ran {\"x\":1}",
        "◆ mod:a onTurnEnd",
        "turn_end 1 tools=true tokens=15",
        "commit",
        "◆ mod:a shouldStopAfterTurn",
        "◆ mod:a prepareNextTurn",
        "◆ mod:a onTurnStart",
        "turn_start 2",
        "◆ mod:a appendSystemPrompt",
        "◆ mod:a transformContext",
        "message_start",
        "model_request_start p/one",
        "text_delta done",
        "model_request_end p/one tokens=15 end_turn",
        "message_end done",
        "◆ mod:a onTurnEnd",
        "turn_end 2 tools=false tokens=15",
        "commit",
        "◆ mod:a shouldStopAfterTurn",
        "◆ mod:a onStop",
        "◆ mod:a onRunEnd",
        "run_end end_turn 2",
    ];
    assert_eq!(ran.log, expected);
    assert_eq!(
        ran.told(),
        [
            "user[user]: go",
            "assistant: <call c1>",
            "user[tool_results]: <c1: echo ran {\"x\":1}>",
            "assistant: done",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_run_without_mods_tells_the_same_events() {
    let ran = Scene::new([say("hi")]).run().await;
    let expected = [
        "run_start s1",
        "turn_start 1",
        "message_start",
        "model_request_start p/one",
        "text_delta hi",
        "model_request_end p/one tokens=15 end_turn",
        "message_end hi",
        "turn_end 1 tools=false tokens=15",
        "commit",
        "run_end end_turn 1",
    ];
    assert_eq!(ran.log, expected);
    assert_eq!(ran.outcome.result.final_text, "hi");
}

#[tokio::test(start_paused = true)]
async fn what_the_provider_has_run_itself_is_told_and_stays_out_of_the_conversation() {
    let searched = ContentBlock::ToolResult {
        tool_use_id: "p1".into(),
        content: vec![ContentBlock::text("found")],
        is_error: false,
    };
    let ran = Scene::new([answer(vec![searched, ContentBlock::text("hi")], "end_turn")]).run().await;
    let expected = [
        "run_start s1",
        "turn_start 1",
        "message_start",
        "model_request_start p/one",
        "text_delta hi",
        "model_request_end p/one tokens=15 end_turn",
        "message_end tool_result + hi",
        "turn_end 1 tools=false tokens=15",
        "commit",
        "run_end end_turn 1",
    ];
    assert_eq!(ran.log, expected);
    assert_eq!(ran.told(), ["user[user]: go", "assistant: hi"]);
}

#[tokio::test(start_paused = true)]
async fn every_hook_receives_the_same_context_of_the_run() {
    let scene = Scene::new(one_call_then_done());
    let seen = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let a = LOOP_HOOKS.into_iter().fold(scene.fake_mod("a"), |a, hook| {
        let seen = std::sync::Arc::clone(&seen);
        a.on(hook, move |input| {
            seen.lock().unwrap().push((hook, input.turn_number, std::sync::Arc::clone(&input.scope)));
            None
        })
    });
    let cancel = scene.cancel.clone();
    scene.with([a]).run().await;
    let seen = seen.lock().unwrap();
    let interrupted = || seen.iter().map(|(.., scope)| scope.cancel.is_cancelled()).collect::<Vec<_>>();
    assert_eq!(interrupted(), [false; 15]);
    cancel.cancel();
    // The last is on_run_end: what it asks of the host is not interrupted with the run.
    assert_eq!(interrupted(), [[true; 14].as_slice(), &[false]].concat());
    let (.., first) = &seen[0];
    for (hook, _, scope) in seen.iter() {
        let agent = &**scope.emitter.agent_id();
        assert_eq!((agent, &*scope.cwd), ("main", std::path::Path::new("/project")), "{hook}");
        assert_eq!(std::sync::Arc::ptr_eq(scope, first), *hook != Hook::OnRunEnd, "{hook}");
    }
    let turns: Vec<_> = seen.iter().map(|(_, turn, _)| *turn).collect();
    assert_eq!(turns, [1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2]);
}

#[tokio::test(start_paused = true)]
async fn before_tool_call_completes_for_every_mod_before_tool_running() {
    let scene = Scene::new(one_call_then_done());
    let slow = scene.fake_mod("slow").slowly(Hook::BeforeToolCall, Duration::from_secs(3), |_| Ok(None));
    let last = scene.fake_mod("last").watching([Hook::BeforeToolCall]);
    let ran = scene.with([slow, last]).run().await;
    assert_eq!(
        ran.only(["◆", "tool_"]),
        [
            "tool_queued c1 echo {\"x\":1}",
            "◆ mod:slow beforeToolCall c1",
            "◆ mod:last beforeToolCall c1",
            "tool_running c1",
            "tool_completed c1: echo ran {\"x\":1}",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn tool_queued_shows_the_original_input_and_only_execution_sees_the_rewrite() {
    let scene = Scene::new(one_call_then_done());
    let rewrites =
        |x: i64| move |_: &_| Some(HookOutcome::BeforeToolCall(BeforeToolCall::rewrite(json!({"x": x}))));
    let a = scene.fake_mod("a").on(Hook::BeforeToolCall, rewrites(2));
    let b = scene.fake_mod("b").on(Hook::BeforeToolCall, |input| {
        let Subject::ToolCall(call) = &input.subject else { panic!("not a call") };
        assert_eq!(*call.input, json!({"x": 2}));
        Some(HookOutcome::BeforeToolCall(BeforeToolCall::rewrite(json!({"x": 3}))))
    });
    let ran = scene.with([a, b]).run().await;
    assert_eq!(
        ran.only(["tool_"]),
        ["tool_queued c1 echo {\"x\":1}", "tool_running c1", "tool_completed c1: echo ran {\"x\":3}"]
    );
}

#[tokio::test(start_paused = true)]
async fn the_terminal_event_carries_the_content_after_the_hooks() {
    let scene = Scene::new(one_call_then_done());
    let a = scene.fake_mod("a").slowly(Hook::AfterToolCall, Duration::from_secs(1), |_| {
        Ok(Some(HookOutcome::AfterToolCall(AfterToolCall::text("seen by a"))))
    });
    let ran = scene.with([a]).run().await;
    assert_eq!(
        ran.only(["◆", "tool_completed"]),
        ["◆ mod:a afterToolCall c1", "tool_completed c1: seen by a"]
    );
}

#[tokio::test(start_paused = true)]
async fn is_error_of_after_tool_call_selects_the_terminal_event_both_ways() {
    let scene = Scene::new([
        call([("c1", "echo", json!({})), ("c2", "fails", json!({})), ("c3", "fails", json!({}))]),
        say("done"),
    ]);
    let a = scene.fake_mod("a").on(Hook::AfterToolCall, |input| {
        let Subject::ToolResult { call, is_error, .. } = &input.subject else { panic!("not a result") };
        let flipped = (&*call.id != "c3").then_some(!is_error);
        Some(HookOutcome::AfterToolCall(AfterToolCall { is_error: flipped, ..AfterToolCall::default() }))
    });
    let mut scene = scene.with([a]);
    scene.tools.push(super::tools::failing("fails"));
    let ran = scene.run().await;
    assert_eq!(
        ran.only(["tool_completed", "tool_errored"]),
        ["tool_errored c1: echo ran {}", "tool_completed c2: no luck", "tool_errored c3: no luck"]
    );
    assert_eq!(
        ran.told()[2],
        "user[tool_results]: <c1 failed: echo ran {}> <c2: no luck> <c3 failed: no luck>"
    );
}

#[tokio::test(start_paused = true)]
async fn mod_state_of_after_tool_call_is_there_when_on_turn_end_runs() {
    let scene = Scene::new(one_call_then_done());
    let a = scene
        .fake_mod("a")
        .on(Hook::AfterToolCall, |input| {
            assert_eq!(input.state.mod_state.get("mod:a"), None);
            let mod_state = Some(json!({"calls": 1}));
            Some(HookOutcome::AfterToolCall(AfterToolCall { mod_state, ..AfterToolCall::default() }))
        })
        .on(Hook::OnTurnEnd, |input| {
            assert_eq!(input.state.mod_state.get("mod:a"), Some(&json!({"calls": 1})));
            None
        });
    let ran = scene.with([a]).run().await;
    assert_eq!(ran.commits[0].mod_state.get("mod:a"), Some(&json!({"calls": 1})));
    assert_eq!(ran.only(["mod_error"]), Vec::<&str>::new());
}

#[tokio::test(start_paused = true)]
async fn on_commit_fires_once_per_completed_turn_with_the_full_state() {
    let ran = Scene::new(one_call_then_done()).run().await;
    let lengths: Vec<_> = ran.commits.iter().map(|state| state.messages.len()).collect();
    assert_eq!(lengths, [3, 4]);
    assert_eq!(ran.commits[1], ran.outcome.state);
    assert_eq!(ran.only(["turn_end", "commit"]).len(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_stop_hook_never_loses_the_turn_that_triggered_it() {
    let scene = Scene::new(one_call_then_done());
    let a = scene.fake_mod("a").on(Hook::ShouldStopAfterTurn, |_| Some(HookOutcome::ShouldStop));
    let ran = scene.with([a]).run().await;
    assert_eq!(
        ran.only(["commit", "◆", "run_end"]),
        ["commit", "◆ mod:a shouldStopAfterTurn", "run_end stop_hook 1"]
    );
    assert_eq!(ran.commits, [ran.outcome.state]);
}

#[tokio::test(start_paused = true)]
async fn prepare_next_turn_never_runs_on_a_stopping_turn() {
    let scene = Scene::new(one_call_then_done());
    let a = scene.fake_mod("a").watching([Hook::PrepareNextTurn]);
    let ran = scene.with([a]).run().await;
    assert_eq!(
        ran.only(["◆", "turn_end", "run_end"]),
        [
            "turn_end 1 tools=true tokens=15",
            "◆ mod:a prepareNextTurn",
            "turn_end 2 tools=false tokens=15",
            "run_end end_turn 2",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn on_run_end_is_awaited_before_run_end() {
    let scene = Scene::new([say("hi")]);
    let log = scene.log.clone();
    let a = scene.fake_mod("a").answering(Hook::OnRunEnd, move |_| {
        let log = log.clone();
        crate::hooks::HookAnswer::Pending(crate::hooks::LaterAnswer::of(async move {
            tokio::time::sleep(Duration::from_secs(50)).await;
            log.add("flushed");
            Ok(None)
        }))
    });
    let ran = scene.with([a]).run().await;
    assert_eq!(ran.only(["◆", "flushed", "run_end"]), ["◆ mod:a onRunEnd", "flushed", "run_end end_turn 1"]);
}

#[tokio::test(start_paused = true)]
async fn mods_run_in_registration_order_in_every_phase() {
    let scene = Scene::new(one_call_then_done());
    let mods = ["first", "second", "third"].map(|id| scene.fake_mod(id).watching(LOOP_HOOKS));
    let ran = scene.with(mods).run().await;
    let asked = ran.only(["◆"]);
    for three in asked.chunks(3) {
        let hook = three[0].strip_prefix("◆ mod:first ").unwrap();
        assert_eq!(three, ["first", "second", "third"].map(|id| format!("◆ mod:{id} {hook}")));
    }
    assert_eq!(asked.len(), 3 * 15);
}

#[tokio::test(start_paused = true)]
async fn a_later_mod_sees_the_context_and_the_results_that_earlier_mods_left() {
    let scene = Scene::new(one_call_then_done());
    let builtin = scene
        .fake_mod("builtin")
        .on(Hook::TransformContext, |_| {
            let message = Message::user("compacted");
            Some(HookOutcome::TransformContext(vec![MessageEdit::Replace { index: 0, message }]))
        })
        .on(Hook::AfterToolCall, |_| Some(HookOutcome::AfterToolCall(AfterToolCall::text("after builtin"))));
    let caller = scene
        .fake_mod("caller")
        .on(Hook::TransformContext, |input| {
            let Subject::Context(messages) = &input.subject else { panic!("no context") };
            assert_eq!(told(&messages[..1]), ["user[user]: compacted"]);
            assert_eq!(told(&input.state.messages[..1]), ["user[user]: go"]);
            None
        })
        .on(Hook::AfterToolCall, |input| {
            let Subject::ToolResult { content, .. } = &input.subject else { panic!("not a result") };
            assert_eq!(**content, [ContentBlock::text("after builtin")]);
            None
        });
    let ran = scene.with([builtin, caller]).run().await;
    assert_eq!(ran.told()[0], "user[user]: go");
    assert_eq!(told(&ran.calls[0].messages), ["user[user]: compacted"]);
}

#[tokio::test(start_paused = true)]
async fn a_failing_hook_changes_no_decision_and_is_never_silent() {
    let healthy = Scene::new(one_call_then_done()).run().await;
    let scene = Scene::new(one_call_then_done());
    let faulty = LOOP_HOOKS.into_iter().fold(scene.fake_mod("bad"), |it, hook| it.failing(hook, "broken"));
    let ran = scene.with([faulty]).run().await;
    let rest: Vec<_> =
        ran.log.iter().filter(|line| !line.starts_with("◆") && !line.starts_with("mod_error")).collect();
    let (notices, rest): (Vec<_>, Vec<_>) = rest.into_iter().partition(|line| line.starts_with("notice"));
    assert_eq!(rest, healthy.log.iter().collect::<Vec<_>>());
    assert_eq!(ran.outcome.state, healthy.outcome.state);
    let told: std::collections::BTreeSet<_> = ran.only(["mod_error"]).into_iter().collect();
    let expected = LOOP_HOOKS.map(|hook| format!("mod_error mod:bad {hook}: broken"));
    assert_eq!(told, expected.iter().map(String::as_str).collect());
    assert_eq!(notices.len(), 5, "five hooks failed in both rounds: {notices:?}");
}

#[tokio::test(start_paused = true)]
async fn a_mod_that_is_removed_in_a_round_is_gone_in_the_next() {
    let scene = Scene::new(one_call_then_done());
    let mods = std::sync::Arc::clone(&scene.mods);
    let a = scene.fake_mod("a").watching([Hook::OnTurnEnd]).on(Hook::OnTurnStart, move |_| {
        *mods.now.lock().unwrap() = Default::default();
        Some(HookOutcome::State(StatePatch::default()))
    });
    let ran = scene.with([a]).run().await;
    assert_eq!(ran.only(["◆"]), ["◆ mod:a onTurnStart", "◆ mod:a onTurnEnd"]);
    assert_eq!(ran.only(["run_end"]), ["run_end end_turn 2"]);
}

//! Who may run what: questions, denials, rewrites that are looked at once more.

use std::sync::Arc;

use mod_interface::types::{AfterToolCall, BeforeToolCall, Hook, HookOutcome, PermissionMode};
use serde_json::json;

use super::fakes::{FakeAsk, FakeTool, Scene, call, say};
use crate::{agent::Answer, hooks::Subject, tools::Access};

#[tokio::test(start_paused = true)]
async fn decision_14_a_denied_call_aborts_its_batch_and_the_run_ends_after_the_turn_commits() {
    let mut scene = Scene::new([call([
        ("c1", "echo", json!({})),
        ("c2", "writes", json!({})),
        ("c3", "writes", json!({})),
    ])]);
    scene.tools.push(FakeTool::new("writes").access(Access::Other));
    let answer = |_: &_| Ok(Answer::Deny { reason: "not today".into() });
    scene.ask = Arc::new(FakeAsk { log: scene.log.clone(), answer: Box::new(answer) });
    let a = scene.fake_mod("a").watching([Hook::BeforeToolCall, Hook::AfterToolCall, Hook::OnTurnEnd]);
    let ran = scene.with([a]).run().await;
    assert_eq!(
        ran.since_batch(),
        [
            "tool_queued c1 echo {}",
            "tool_queued c2 writes {}",
            "tool_queued c3 writes {}",
            "ask writes None",
            "tool_denied c2: not today",
            "◆ mod:a onTurnEnd",
            "turn_end 1 tools=true tokens=15",
            "commit",
            "run_end permission_denied 1",
        ]
    );
    let not_run = "This call did not run, because another call of the same batch was denied.";
    assert_eq!(
        ran.told()[2],
        format!(
            "user[tool_results]: <c1 failed: {not_run}> <c2 failed: Permission denied: not today> <c3 failed: {not_run}>"
        )
    );
}

#[tokio::test(start_paused = true)]
async fn a_permission_check_that_throws_denies() {
    let answers: [Box<dyn Fn() -> Result<Answer, crate::agent::BoxError> + Send + Sync>; 2] =
        [Box::new(|| Err("the dialog is gone".into())), Box::new(|| panic!("the dialog fell over"))];
    let reasons = [
        "the permission could not be asked for: the dialog is gone",
        "the permission check panicked: the dialog fell over",
    ];
    for (answer, reason) in answers.into_iter().zip(reasons) {
        let mut scene = Scene::new([call([("c1", "writes", json!({}))])]);
        scene.tools = vec![FakeTool::new("writes").access(Access::Other)];
        scene.ask = Arc::new(FakeAsk { log: scene.log.clone(), answer: Box::new(move |_| answer()) });
        let ran = scene.run().await;
        assert_eq!(
            ran.since_batch(),
            [
                "tool_queued c1 writes {}",
                "ask writes None",
                &format!("tool_denied c1: {reason}"),
                "turn_end 1 tools=true tokens=15",
                "commit",
                "run_end permission_denied 1",
            ]
        );
    }
}

#[tokio::test(start_paused = true)]
async fn without_anybody_to_ask_a_call_is_denied_with_what_would_allow_it() {
    let mut scene = Scene::new([call([("c1", "sh", json!({"about": "make && make test"}))])]);
    scene.tools = vec![FakeTool::new("sh").access(Access::Other)];
    let ran = scene.run().await;
    let reason = "nobody is there to allow this call; to allow it, start with \
                  --dangerously-skip-permissions, or add to the allow rules: sh(make), sh(make test)";
    let queued = "tool_queued c1 sh {\"about\":\"make && make test\"}";
    assert_eq!(ran.batch(), [queued, &format!("tool_denied c1: {reason}")]);
}

#[tokio::test(start_paused = true)]
async fn the_permission_mode_is_pinned_for_the_round() {
    let mut scene = Scene::new([
        call([("c1", "writes", json!({"about": "a"})), ("c2", "writes", json!({"about": "a"}))]),
        call([("c3", "writes", json!({"about": "a"}))]),
    ]);
    scene.tools = vec![FakeTool::new("writes").access(Access::Edit)];
    scene.mode.set(PermissionMode::AcceptEdits);
    let mode = Arc::clone(&scene.mode);
    let a = scene.fake_mod("a").on(Hook::BeforeToolCall, move |_| {
        mode.set(PermissionMode::Plan);
        None
    });
    let ran = scene.with([a]).run().await;
    assert_eq!(
        ran.only(["tool_running", "tool_denied", "permission"]),
        [
            "permission_mode_changed accept-edits",
            "permission_mode_changed plan",
            "tool_running c1",
            "tool_running c2",
            "tool_denied c3: only tools that read run in plan mode, got: writes",
        ]
    );
    let systems: Vec<_> = ran.calls.iter().map(|call| &*call.system).collect();
    assert_eq!(systems, ["base accept-edits", "base plan"]);
}

fn rewriting_to(about: &'static str) -> impl Fn(&crate::hooks::HookInput) -> Option<HookOutcome> {
    move |_| Some(HookOutcome::BeforeToolCall(BeforeToolCall::rewrite(json!({"about": about}))))
}

#[tokio::test(start_paused = true)]
async fn decision_13_a_rewritten_call_is_held_against_the_deny_rules_again() {
    let mut scene = Scene::new([call([("c1", "sh", json!({"about": "ls"})), ("c2", "echo", json!({}))])]);
    scene.tools.push(FakeTool::new("sh").access(Access::Other));
    scene.mode.set(PermissionMode::Bypass);
    scene.deny = vec!["sh(rm *)"];
    let a = scene.fake_mod("a").on(Hook::BeforeToolCall, rewriting_to("ls; rm -rf /"));
    let ran = scene.with([a]).run().await;
    assert_eq!(
        ran.since_batch(),
        [
            "tool_queued c1 sh {\"about\":\"ls\"}",
            "tool_queued c2 echo {}",
            "◆ mod:a beforeToolCall c1",
            "tool_denied c1: a deny rule forbids this call: sh(rm *) (after a rewrite by mod:a)",
            "turn_end 1 tools=true tokens=15",
            "commit",
            "run_end permission_denied 1",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn decision_13_a_rewrite_never_turns_a_deny_into_an_allow() {
    let mut scene = Scene::new([call([("c1", "sh", json!({"about": "rm -rf /"}))])]);
    scene.tools = vec![FakeTool::new("sh").access(Access::Other)];
    scene.mode.set(PermissionMode::Bypass);
    scene.deny = vec!["sh(rm *)"];
    let a = scene.fake_mod("a").on(Hook::BeforeToolCall, rewriting_to("ls"));
    let ran = scene.with([a]).run().await;
    assert_eq!(
        ran.since_batch(),
        [
            "tool_queued c1 sh {\"about\":\"rm -rf /\"}",
            "tool_denied c1: a deny rule forbids this call: sh(rm *)",
            "turn_end 1 tools=true tokens=15",
            "commit",
            "run_end permission_denied 1",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn decision_14_a_deny_outranks_terminate_and_applies_no_mod_state() {
    let mut scene = Scene::new([call([("c1", "echo", json!({})), ("c2", "sh", json!({"about": "ls"}))])]);
    scene.tools.push(FakeTool::new("sh").access(Access::Other));
    scene.allow = vec!["sh(ls)"];
    scene.deny = vec!["sh(rm *)"];
    let a = scene
        .fake_mod("a")
        .on(Hook::BeforeToolCall, |input| {
            let Subject::ToolCall(call) = &input.subject else { panic!("not a call") };
            let rewrite = BeforeToolCall::rewrite(json!({"about": "rm x"})).and_terminate();
            (&*call.id == "c2").then_some(HookOutcome::BeforeToolCall(rewrite))
        })
        .on(Hook::AfterToolCall, |_| {
            let answer = AfterToolCall { mod_state: Some(json!(1)), ..AfterToolCall::default() };
            Some(HookOutcome::AfterToolCall(answer))
        });
    let ran = scene.with([a]).run().await;
    assert_eq!(
        ran.since_batch(),
        [
            "tool_queued c1 echo {}",
            "tool_queued c2 sh {\"about\":\"ls\"}",
            "◆ mod:a beforeToolCall c1",
            "tool_running c1",
            "◆ mod:a afterToolCall c1",
            "tool_completed c1: echo ran {}",
            "◆ mod:a beforeToolCall c2",
            "tool_denied c2: a deny rule forbids this call: sh(rm *) (after a rewrite by mod:a)",
            "turn_end 1 tools=true tokens=15",
            "commit",
            "run_end permission_denied 1",
        ]
    );
    assert!(ran.outcome.state.mod_state.is_empty());
}

#[tokio::test(start_paused = true)]
async fn decision_13_in_a_parallel_batch_a_rewrite_that_is_denied_runs_nothing() {
    let sh = |id: &'static str| (id, "sh", json!({"about": "ls"}));
    let mut scene = Scene::new([call([("c1", "echo", json!({})), sh("c2"), sh("c3")])]);
    scene.tools.push(FakeTool::new("sh").access(Access::Other));
    scene.parallel = true;
    scene.mode.set(PermissionMode::Bypass);
    scene.deny = vec!["sh(rm *)"];
    let a = scene
        .fake_mod("a")
        .on(Hook::BeforeToolCall, |input| {
            let Subject::ToolCall(call) = &input.subject else { panic!("not a call") };
            let rewrite = BeforeToolCall::rewrite(json!({"about": "rm x"})).and_terminate();
            (&*call.id == "c2").then_some(HookOutcome::BeforeToolCall(rewrite))
        })
        .on(Hook::AfterToolCall, |_| {
            let answer = AfterToolCall { mod_state: Some(json!(1)), ..AfterToolCall::default() };
            Some(HookOutcome::AfterToolCall(answer))
        });
    let ran = scene.with([a]).run().await;
    let denied = "a deny rule forbids this call: sh(rm *) (after a rewrite by mod:a)";
    assert_eq!(
        ran.since_batch(),
        [
            "tool_queued c1 echo {}",
            "tool_queued c2 sh {\"about\":\"ls\"}",
            "tool_queued c3 sh {\"about\":\"ls\"}",
            "◆ mod:a beforeToolCall c1",
            "◆ mod:a beforeToolCall c2",
            &format!("tool_denied c2: {denied}"),
            "turn_end 1 tools=true tokens=15",
            "commit",
            "run_end permission_denied 1",
        ]
    );
    let not_run = "failed: This call did not run, because another call of the same batch was denied.";
    assert_eq!(
        ran.told()[2],
        format!("user[tool_results]: <c1 {not_run}> <c2 failed: Permission denied: {denied}> <c3 {not_run}>")
    );
    assert!(ran.outcome.state.mod_state.is_empty());
}

#[tokio::test(start_paused = true)]
async fn before_tool_call_comes_after_the_answered_question() {
    let mut scene =
        Scene::new([call([("c1", "writes", json!({})), ("c2", "writes", json!({}))]), say("done")]);
    scene.tools = vec![FakeTool::new("writes").access(Access::Other)];
    let log = scene.log.clone();
    let answer = move |_: &_| {
        log.add("answered");
        Ok(Answer::Allow)
    };
    scene.ask = Arc::new(FakeAsk { log: scene.log.clone(), answer: Box::new(answer) });
    let a = scene.fake_mod("a").watching([Hook::BeforeToolCall]);
    let ran = scene.with([a]).run().await;
    assert_eq!(
        ran.batch(),
        [
            "tool_queued c1 writes {}",
            "tool_queued c2 writes {}",
            "ask writes None",
            "answered",
            "ask writes None",
            "answered",
            "◆ mod:a beforeToolCall c1",
            "tool_running c1",
            "tool_completed c1: writes ran {}",
            "◆ mod:a beforeToolCall c2",
            "tool_running c2",
            "tool_completed c2: writes ran {}",
        ]
    );
}

//! The contracts of `before_tool_call` and `after_tool_call`.

use std::time::Duration;

use mod_interface::types::{AfterToolCall, BeforeToolCall, ContentBlock, Hook, HookOutcome};
use serde_json::{Value, json};

use super::fakes::{FakeMod, FakeTool, Scene, Turn, call, say};
use crate::hooks::{HookFault, HookInput, Subject, ToolCallInput};

fn one_call() -> [Turn; 2] {
    [call([("c1", "echo", json!({"x": 1}))]), say("done")]
}

fn before(fake: FakeMod, answer: BeforeToolCall) -> FakeMod {
    fake.on(Hook::BeforeToolCall, move |_| Some(HookOutcome::BeforeToolCall(answer.clone())))
}

fn after(fake: FakeMod, answer: AfterToolCall) -> FakeMod {
    fake.on(Hook::AfterToolCall, move |_| Some(HookOutcome::AfterToolCall(answer.clone())))
}

fn the_call(input: &HookInput) -> &ToolCallInput {
    match &input.subject {
        Subject::ToolCall(call) | Subject::ToolResult { call, .. } => call,
        _ => panic!("no call"),
    }
}

#[tokio::test(start_paused = true)]
async fn decision_15_a_block_is_the_result_and_ends_the_chain_and_nothing_else_is_told_of_the_call() {
    let scene = Scene::new(one_call());
    let a = before(scene.fake_mod("a"), BeforeToolCall::block("not here"));
    let b = scene.fake_mod("b").watching([Hook::BeforeToolCall, Hook::AfterToolCall]);
    let ran = scene.with([a, b]).run().await;
    assert_eq!(
        ran.batch(),
        ["tool_queued c1 echo {\"x\":1}", "◆ mod:a beforeToolCall c1", "tool_hook_blocked c1: not here",]
    );
    assert_eq!(ran.told()[2], "user[tool_results]: <c1 failed: not here>");
}

#[tokio::test(start_paused = true)]
async fn a_block_without_a_reason_has_the_default_one() {
    let scene = Scene::new(one_call());
    let a = before(scene.fake_mod("a"), BeforeToolCall { block: true, ..BeforeToolCall::default() });
    let ran = scene.with([a]).run().await;
    assert_eq!(
        ran.batch(),
        [
            "tool_queued c1 echo {\"x\":1}",
            "◆ mod:a beforeToolCall c1",
            "tool_hook_blocked c1: Blocked by a pre-tool hook.",
        ]
    );
    assert_eq!(ran.told()[2], "user[tool_results]: <c1 failed: Blocked by a pre-tool hook.>");
}

#[tokio::test(start_paused = true)]
async fn decision_15_a_block_outranks_a_rewrite_on_the_same_return() {
    let scene = Scene::new(one_call());
    let both = BeforeToolCall { input: Some(json!({"bad": 1})), ..BeforeToolCall::block("no") };
    let a = before(scene.fake_mod("a"), both);
    let ran = scene.with([a]).run().await;
    assert_eq!(
        ran.batch(),
        ["tool_queued c1 echo {\"x\":1}", "◆ mod:a beforeToolCall c1", "tool_hook_blocked c1: no"]
    );
}

#[tokio::test(start_paused = true)]
async fn any_block_among_the_hooks_blocks() {
    let scene = Scene::new(one_call());
    let allows = before(scene.fake_mod("allows"), BeforeToolCall::context("fine by me"));
    let blocks = before(scene.fake_mod("blocks"), BeforeToolCall::block("no"));
    let ran = scene.with([allows, blocks]).run().await;
    assert_eq!(
        ran.batch(),
        [
            "tool_queued c1 echo {\"x\":1}",
            "◆ mod:allows beforeToolCall c1",
            "◆ mod:blocks beforeToolCall c1",
            "tool_hook_blocked c1: no",
        ]
    );
    assert_eq!(ran.told()[2], "user[tool_results]: <c1 failed: no>");
}

#[tokio::test(start_paused = true)]
async fn contexts_are_appended_after_the_result_before_hooks_first() {
    let scene = Scene::new(one_call());
    let with_both = |id: &str| {
        let fake = before(scene.fake_mod(id), BeforeToolCall::context(format!("before {id}")));
        after(fake, AfterToolCall::context(format!("after {id}")))
    };
    let replaces = after(scene.fake_mod("r"), AfterToolCall::text("replaced"));
    let (a, b) = (with_both("a"), with_both("b"));
    let ran = scene.with([a, b, replaces]).run().await;
    let whole = "replaced + before a + before b + after a + after b";
    assert_eq!(
        ran.batch(),
        [
            "tool_queued c1 echo {\"x\":1}",
            "◆ mod:a beforeToolCall c1",
            "◆ mod:b beforeToolCall c1",
            "tool_running c1",
            "◆ mod:a afterToolCall c1",
            "◆ mod:b afterToolCall c1",
            "◆ mod:r afterToolCall c1",
            &format!("tool_completed c1: {whole}"),
        ]
    );
    assert_eq!(ran.told()[2], format!("user[tool_results]: <c1: {whole}>"));
}

#[tokio::test(start_paused = true)]
async fn a_rewrite_replaces_the_whole_input_and_chains() {
    let scene = Scene::new(one_call());
    let adds = |key: &'static str| {
        move |input: &HookInput| {
            let mut fields = the_call(input).input.as_object().unwrap().clone();
            fields.insert(key.to_owned(), Value::Bool(true));
            Some(HookOutcome::BeforeToolCall(BeforeToolCall::rewrite(fields.into())))
        }
    };
    let a = scene.fake_mod("a").on(Hook::BeforeToolCall, adds("a"));
    let silent = scene.fake_mod("silent").watching([Hook::BeforeToolCall]);
    let b = scene.fake_mod("b").on(Hook::BeforeToolCall, adds("b"));
    let ran = scene.with([a, silent, b]).run().await;
    assert_eq!(
        ran.batch(),
        [
            "tool_queued c1 echo {\"x\":1}",
            "◆ mod:a beforeToolCall c1",
            "◆ mod:silent beforeToolCall c1",
            "◆ mod:b beforeToolCall c1",
            "tool_running c1",
            "tool_completed c1: echo ran {\"a\":true,\"b\":true,\"x\":1}",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn after_tool_call_sees_the_final_input() {
    let scene = Scene::new(one_call());
    let a = before(scene.fake_mod("a"), BeforeToolCall::rewrite(json!({"x": 2})));
    let a = a.on(Hook::AfterToolCall, |input| {
        assert_eq!(*the_call(input).input, json!({"x": 2}));
        assert_eq!((&*the_call(input).id, &*the_call(input).name), ("c1", "echo"));
        None
    });
    assert_eq!(scene.with([a]).run().await.only(["tool_errored", "mod_error"]), Vec::<&str>::new());
}

#[tokio::test(start_paused = true)]
async fn after_a_failed_tool_after_tool_call_sees_the_error_text_as_content() {
    type Make = fn() -> FakeTool;
    let tools: [(Make, &str); 2] = [
        (|| super::tools::failing("echo"), "no luck"),
        (|| FakeTool::working("echo", |_, _| panic!("at once")), "the tool echo panicked: at once"),
    ];
    for (tool, text) in tools {
        let mut scene = Scene::new(one_call());
        let a = scene.fake_mod("a").on(Hook::AfterToolCall, |input| {
            let Subject::ToolResult { content, is_error, .. } = &input.subject else { panic!("no result") };
            let seen = json!({"content": **content, "is_error": is_error});
            Some(HookOutcome::AfterToolCall(AfterToolCall { mod_state: Some(seen), ..Default::default() }))
        });
        scene.tools = vec![tool()];
        let ran = scene.with([a]).run().await;
        let seen = json!({"content": [{"type": "text", "text": text}], "is_error": true});
        assert_eq!(ran.outcome.state.mod_state["mod:a"], seen);
    }
}

#[tokio::test(start_paused = true)]
async fn decision_15_terminate_of_one_hook_on_one_call_a_block_too_ends_the_run_after_the_whole_batch() {
    let terminates = [
        |fake: FakeMod| {
            fake.on(Hook::BeforeToolCall, |input| {
                let answer = BeforeToolCall::default().and_terminate();
                (&*the_call(input).id == "c1").then_some(HookOutcome::BeforeToolCall(answer))
            })
        },
        |fake: FakeMod| {
            fake.on(Hook::BeforeToolCall, |input| {
                let answer = BeforeToolCall::block("no").and_terminate();
                (&*the_call(input).id == "c3").then_some(HookOutcome::BeforeToolCall(answer))
            })
        },
        |fake: FakeMod| {
            fake.on(Hook::AfterToolCall, |input| {
                let answer = AfterToolCall { terminate: true, ..AfterToolCall::default() };
                (&*the_call(input).id == "c2").then_some(HookOutcome::AfterToolCall(answer))
            })
        },
    ];
    let ids = ["c1", "c2", "c3"];
    let runs = |hooks: [&str; 2], id: &str| {
        let [before, after] = hooks.map(|hook| match hook {
            "" => vec![],
            hook => vec![format!("◆ mod:a {hook} {id}")],
        });
        let (running, end) = (format!("tool_running {id}"), format!("tool_completed {id}: echo ran {{}}"));
        [before, vec![running], after, vec![end]].concat()
    };
    let before = |id: &str| runs([Hook::BeforeToolCall.wire_name(), ""], id);
    let after = |id: &str| runs(["", Hook::AfterToolCall.wire_name()], id);
    let blocked = |id: &str| match id {
        "c3" => ["◆ mod:a beforeToolCall c3", "tool_hook_blocked c3: no"].map(str::to_owned).to_vec(),
        _ => before(id),
    };
    let told = [ids.map(before), ids.map(blocked), ids.map(after)];
    for (terminate, of_calls) in terminates.into_iter().zip(told) {
        let scene = Scene::new([call([
            ("c1", "echo", json!({})),
            ("c2", "echo", json!({})),
            ("c3", "echo", json!({})),
        ])]);
        let a = terminate(scene.fake_mod("a"));
        let ran = scene.with([a]).run().await;
        let queued = ids.map(|id| format!("tool_queued {id} echo {{}}"));
        let end = ["turn_end 1 tools=true tokens=15", "commit", "run_end terminate 1"].map(str::to_owned);
        let expected = [&queued[..], &of_calls.concat(), &end].concat();
        assert_eq!(ran.since_batch(), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn is_error_is_threaded_from_the_execution_through_the_mods() {
    let scene = Scene::new([call([("c1", "fails", json!({}))]), say("done")]);
    let seen = |expected: bool, flip: Option<bool>| {
        move |input: &HookInput| {
            let Subject::ToolResult { is_error, .. } = &input.subject else { panic!("not a result") };
            assert_eq!(*is_error, expected);
            Some(HookOutcome::AfterToolCall(AfterToolCall { is_error: flip, ..AfterToolCall::default() }))
        }
    };
    let a = scene.fake_mod("a").on(Hook::AfterToolCall, seen(true, None));
    let b = scene.fake_mod("b").on(Hook::AfterToolCall, seen(true, Some(false)));
    let c = scene.fake_mod("c").on(Hook::AfterToolCall, seen(false, None));
    let mut scene = scene.with([a, b, c]);
    scene.tools = vec![super::tools::failing("fails")];
    assert_eq!(
        scene.run().await.batch(),
        [
            "tool_queued c1 fails {}",
            "tool_running c1",
            "◆ mod:a afterToolCall c1",
            "◆ mod:b afterToolCall c1",
            "◆ mod:c afterToolCall c1",
            "tool_completed c1: no luck",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn decision_17_mod_state_replaces_the_mods_own_slot_in_source_order() {
    let mut scene = Scene::new([call([("c1", "echo", json!({})), ("c2", "echo", json!({}))]), say("done")]);
    scene.parallel = true;
    scene.state.set_mod_state("mod:a", json!({"old": true}));
    scene.state.set_mod_state("mod:b", json!("kept"));
    let a = scene.fake_mod("a").on(Hook::AfterToolCall, |input| {
        let mod_state = Some(json!({"last": *the_call(input).id}));
        Some(HookOutcome::AfterToolCall(AfterToolCall { mod_state, ..AfterToolCall::default() }))
    });
    let ran = scene.with([a]).run().await;
    assert_eq!(
        serde_json::to_value(&ran.outcome.state.mod_state).unwrap(),
        json!({"mod:a": {"last": "c2"}, "mod:b": "kept"})
    );
}

#[tokio::test(start_paused = true)]
async fn decision_19_a_failing_tool_hook_is_skipped_and_the_chain_goes_on() {
    let scene = Scene::new(one_call());
    let a = before(scene.fake_mod("a"), BeforeToolCall::rewrite(json!({"x": 2})));
    let bad =
        scene.fake_mod("bad").failing(Hook::BeforeToolCall, "boom").failing(Hook::AfterToolCall, "bang");
    let c = scene.fake_mod("c").on(Hook::BeforeToolCall, |input| {
        assert_eq!(*the_call(input).input, json!({"x": 2}));
        None
    });
    let ran = scene.with([a, bad, c]).run().await;
    assert_eq!(
        ran.batch(),
        [
            "tool_queued c1 echo {\"x\":1}",
            "◆ mod:a beforeToolCall c1",
            "◆ mod:bad beforeToolCall c1",
            "mod_error mod:bad beforeToolCall: boom",
            "◆ mod:c beforeToolCall c1",
            "tool_running c1",
            "◆ mod:bad afterToolCall c1",
            "mod_error mod:bad afterToolCall: bang",
            "tool_completed c1: echo ran {\"x\":2}",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn decision_19_a_guard_that_fails_closed_blocks_what_it_could_not_evaluate() {
    type Fail = fn(FakeMod) -> FakeMod;
    let fails: [(Fail, &str); 4] = [
        (|it| it.failing(Hook::BeforeToolCall, "boom"), "boom"),
        (
            |it| {
                it.slowly(Hook::BeforeToolCall, Duration::from_secs(1), |_| {
                    Err(HookFault::Panic("at x:1".into()))
                })
            },
            "panicked: at x:1",
        ),
        (
            |it| {
                it.slowly(Hook::BeforeToolCall, Duration::from_secs(10), |_| Err(HookFault::Timeout(10_000)))
            },
            "timeout: took longer than 10000 ms of its own time",
        ),
        (
            |it| it.on(Hook::BeforeToolCall, |_| Some(HookOutcome::ShouldStop)),
            "answered something invalid: the answer of another hook: an early stop",
        ),
    ];
    for (fail, error) in fails {
        let scene = Scene::new(one_call());
        let guard = fail(scene.fake_mod("guard")).failing_closed();
        let later = scene.fake_mod("later").watching([Hook::BeforeToolCall]);
        let ran = scene.with([guard, later]).run().await;
        let text = format!("This call could not be evaluated by mod:guard, so it did not run: {error}");
        assert_eq!(
            ran.batch(),
            [
                "tool_queued c1 echo {\"x\":1}".to_owned(),
                "◆ mod:guard beforeToolCall c1".to_owned(),
                format!("mod_error mod:guard beforeToolCall: {error}"),
                format!("tool_hook_blocked c1: {text}"),
            ]
        );
        assert_eq!(ran.told()[2], format!("user[tool_results]: <c1 failed: {text}>"));
    }
}

#[tokio::test(start_paused = true)]
async fn decision_28_a_bad_answer_is_left_out_whole() {
    let scene = Scene::new(one_call());
    let image_of_thought = ContentBlock::Thinking { thinking: "hm".into(), signature: None };
    let bad = AfterToolCall {
        content: Some(vec![image_of_thought]),
        is_error: Some(true),
        additional_context: Some("extra".into()),
        terminate: true,
        mod_state: Some(json!(1)),
    };
    let a = after(scene.fake_mod("a"), bad);
    let ran = scene.with([a]).run().await;
    let error = "answered something invalid: a tool result holds text and image blocks, got: thinking";
    assert_eq!(
        ran.batch(),
        [
            "tool_queued c1 echo {\"x\":1}",
            "tool_running c1",
            "◆ mod:a afterToolCall c1",
            &format!("mod_error mod:a afterToolCall: {error}"),
            "tool_completed c1: echo ran {\"x\":1}",
        ]
    );
    assert!(ran.outcome.state.mod_state.is_empty());
}

#[tokio::test(start_paused = true)]
async fn decision_28_a_slot_that_is_too_deep_is_left_out() {
    let scene = Scene::new(one_call());
    let deep = (0..65).fold(json!(1), |inner, _| json!([inner]));
    let a = after(scene.fake_mod("a"), AfterToolCall { mod_state: Some(deep), ..AfterToolCall::text("x") });
    let ran = scene.with([a]).run().await;
    assert_eq!(
        ran.batch(),
        [
            "tool_queued c1 echo {\"x\":1}",
            "tool_running c1",
            "◆ mod:a afterToolCall c1",
            "mod_error mod:a afterToolCall: answered something invalid: JSON nested deeper than: 64",
            "tool_completed c1: echo ran {\"x\":1}",
        ]
    );
    assert!(ran.outcome.state.mod_state.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_tool_hook_sees_the_state_with_the_call_in_it() {
    let scene = Scene::new(one_call());
    let a = scene.fake_mod("a").on(Hook::BeforeToolCall, |input| {
        assert_eq!(super::fakes::told(&input.state.messages), ["user[user]: go", "assistant: <call c1>"]);
        assert_eq!(input.turn_number, 1);
        None
    });
    assert_eq!(scene.with([a]).run().await.only(["run_end"]), ["run_end end_turn 2"]);
}

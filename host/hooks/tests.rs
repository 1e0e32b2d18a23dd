use std::{path::Path, sync::Arc, time::Duration};

use futures::FutureExt;
use mod_interface::types::{
    AgentState, BeforeToolCall, ContentBlock, Hook, HookOutcome, ImageSource, Message, MessageEdit, Role,
    SessionChange, SessionEndReason, SessionStartSource, StatePatch, StopDecision, TransformInput,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{
    Handled, Handlers, HookAnswer, HookFault, HookRunner, InputVerdict, Scope, Subject, ToolCallInput, check,
    fakes::{FakeMod, Log, handlers, told},
};

fn runner(log: &Log) -> HookRunner {
    let cwd: Arc<Path> = Path::new("/project").into();
    HookRunner::new(Arc::new(Scope::new(log.bus().main(), CancellationToken::new(), cwd)))
}

async fn input(log: &Log, mods: impl IntoIterator<Item = FakeMod>, prompt: &str) -> InputVerdict {
    runner(log).round(handlers(mods), 0).transform_input(&AgentState::new("s1"), prompt).await
}

fn transforming(log: &Log, id: &str, outcome: TransformInput) -> FakeMod {
    FakeMod::new(log, id).on(Hook::TransformInput, move |_| Some(HookOutcome::Input(outcome.clone())))
}

fn sent(prompt: &str) -> InputVerdict {
    InputVerdict { prompt: prompt.into(), handled: None }
}

#[tokio::test(start_paused = true)]
async fn decision_35_transform_input_chains_and_a_failing_mod_swallows_no_prompt() {
    let log = Log::default();
    let shout = FakeMod::new(&log, "shout").on(Hook::TransformInput, |input| {
        let Subject::Prompt(prompt) = &input.subject else { panic!("no prompt") };
        Some(HookOutcome::Input(TransformInput::Transform { text: format!("{prompt}!") }))
    });
    let mods = [
        transforming(&log, "a", TransformInput::Transform { text: "hey".into() }),
        FakeMod::new(&log, "bad").failing(Hook::TransformInput, "boom"),
        transforming(&log, "same", TransformInput::Continue),
        FakeMod::new(&log, "none").watching([Hook::TransformInput]),
        shout,
    ];
    assert_eq!(input(&log, mods, "hi").await, sent("hey!"));
    assert_eq!(log.lines()[2], "mod_error mod:bad transformInput: boom");
}

#[tokio::test(start_paused = true)]
async fn decision_35_a_handled_prompt_ends_the_chain() {
    let log = Log::default();
    let mods = [
        transforming(&log, "a", TransformInput::Handled { message: Some("done".into()) }),
        FakeMod::new(&log, "b").watching([Hook::TransformInput]),
    ];
    let handled = Some(Handled { message: Some("done".into()) });
    assert_eq!(input(&log, mods, "hi").await, InputVerdict { prompt: "hi".into(), handled });
    assert_eq!(log.lines(), ["◆ mod:a transformInput"]);
}

#[tokio::test(start_paused = true)]
async fn decision_34_session_hooks_are_told_how_and_awaited() {
    let log = Log::default();
    let changes =
        [SessionChange::Start(SessionStartSource::Resume), SessionChange::End(SessionEndReason::Shutdown)];
    for (change, hook) in changes.into_iter().zip([Hook::OnSessionStart, Hook::OnSessionEnd]) {
        let a = FakeMod::new(&log, "a").slowly(hook, Duration::from_secs(30), move |input| {
            let Subject::Session(told) = input.subject else { panic!("no session") };
            assert_eq!((told, input.turn_number), (change, 0));
            Ok(None)
        });
        let bad = FakeMod::new(&log, "bad").failing(hook, "boom");
        let begun = tokio::time::Instant::now();
        runner(&log).round(handlers([a, bad]), 0).on_session(&AgentState::new("s1"), change).await;
        assert_eq!(begun.elapsed(), Duration::from_secs(30));
    }
    let errors: Vec<_> = log.lines().into_iter().filter(|line| line.starts_with("mod_error")).collect();
    assert_eq!(errors, ["mod_error mod:bad onSessionStart: boom", "mod_error mod:bad onSessionEnd: boom"]);
}

#[test]
fn hooks_that_are_ready_never_suspend_the_run() {
    let log = Log::default();
    let runner = runner(&log);
    let round = runner.round(handlers([FakeMod::new(&log, "a").watching(Hook::ALL)]), 1);
    let state = AgentState::new("s1");
    let call = ToolCallInput { id: "1".into(), name: "t".into(), input: Arc::new(json!({})) };
    assert!(round.before_tool_call(&state, &call).now_or_never().is_some());
    assert!(round.transform_context(&state, state.messages.clone()).now_or_never().is_some());
    assert_eq!(
        round.on_stop(&state, mod_interface::types::StopReason::EndTurn, "".into()).now_or_never(),
        Some(StopDecision::Stop)
    );
}

#[tokio::test(start_paused = true)]
async fn a_hook_is_shown_the_state_itself_and_a_change_copies_no_other_message() {
    let log = Log::default();
    let runner = runner(&log);
    let mut state = AgentState::new("s1");
    for text in ["a", "b"] {
        state.push(Message::user(text));
    }
    let list = Arc::as_ptr(&state.messages) as usize;
    let appends = FakeMod::new(&log, "appends").on(Hook::OnTurnStart, move |input| {
        assert_eq!(Arc::as_ptr(&input.state.messages) as usize, list, "shared, not copied");
        Some(HookOutcome::State(StatePatch::default().append(Message::user("c"))))
    });
    let round = runner.round(handlers([appends]), 1);
    round.on_turn_start(&mut state).await;
    assert_eq!(told(&state.messages), ["user[user]: a", "user[user]: b", "user[user]: c"]);
    assert_eq!(Arc::as_ptr(&state.messages) as usize, list, "changed in place");
}

#[tokio::test(start_paused = true)]
async fn handlers_that_lack_a_hook_are_never_asked_for_it() {
    let log = Log::default();
    let only = FakeMod::new(&log, "only").watching([Hook::OnStop]);
    let round_of = handlers([only]);
    let runner = runner(&log);
    let round = runner.round(round_of, 1);
    assert!(!round.should_stop_after_turn(&AgentState::new("s1")).await);
    assert_eq!(round.append_system_prompt(&AgentState::new("s1")).await, None);
    assert_eq!(log.lines(), Vec::<String>::new());
    assert_eq!(Handlers::default().of(Hook::OnStop).len(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_fault_is_told_once_per_mod_hook_and_cause_and_then_counted() {
    let log = Log::default();
    let runner = runner(&log);
    let faulty = |id: &str, worded_anew: bool| {
        FakeMod::new(&log, id).answering(Hook::ShouldStopAfterTurn, move |input| {
            let turn = if worded_anew { input.turn_number } else { 0 };
            HookAnswer::Ready(Err(HookFault::Error(format!("cause {turn}"))))
        })
    };
    let mods = handlers([faulty("same", false), faulty("anew", true)]);
    for turn in 1..=20 {
        runner.round(Arc::clone(&mods), turn).should_stop_after_turn(&AgentState::new("s1")).await;
    }
    runner.report_repeated_faults();
    runner.report_repeated_faults();
    let told: Vec<_> = log.lines().into_iter().filter(|line| !line.starts_with('◆')).collect();
    let mut expected = vec!["mod_error mod:same shouldStopAfterTurn: cause 0".to_owned()];
    expected.extend((1..=16).map(|turn| format!("mod_error mod:anew shouldStopAfterTurn: cause {turn}")));
    expected.push("notice mod:anew failed 4 times more at shouldStopAfterTurn".to_owned());
    expected.push("notice mod:same failed 19 times more at shouldStopAfterTurn".to_owned());
    assert_eq!(told, expected);
}

#[tokio::test(start_paused = true)]
async fn a_long_cause_is_cut_where_a_character_ends() {
    let log = Log::default();
    let long = HookFault::Error("ü".repeat(5000));
    let bad =
        FakeMod::new(&log, "bad").answering(Hook::OnStop, move |_| HookAnswer::Ready(Err(long.clone())));
    let runner = runner(&log);
    let stop = mod_interface::types::StopReason::EndTurn;
    runner.round(handlers([bad]), 1).on_stop(&AgentState::new("s1"), stop, "".into()).await;
    assert_eq!(log.lines()[1], format!("mod_error mod:bad onStop: {}…", "ü".repeat(1024)));
}

fn error(checked: Result<(), HookFault>) -> String {
    checked.map_or_else(|fault| fault.to_string(), |()| "fine".to_owned())
}

fn nested(depth: usize) -> Value {
    (0..depth).fold(json!(1), |inner, _| json!({"in": inner}))
}

#[test]
fn decision_28_json_is_bounded_in_depth_and_size() {
    assert_eq!(error(check::mod_state(&nested(64))), "fine");
    assert_eq!(
        error(check::mod_state(&nested(65))),
        "answered something invalid: JSON nested deeper than: 64"
    );
    let of = |bytes: usize| Value::String("x".repeat(bytes));
    assert_eq!(error(check::mod_state(&of((4 << 20) - 1))), "fine");
    let too_large = "answered something invalid: larger than the bytes that are allowed: 4194304";
    assert_eq!(error(check::mod_state(&of(4 << 20))), too_large);
    assert_eq!(error(check::mod_state(&json!(vec![0; 4 << 20]))), too_large);
    assert_eq!(error(check::input(&of(4 << 20))), "fine");
    assert_eq!(
        error(check::input(&of(16 << 20))),
        "answered something invalid: larger than the bytes that are allowed: 16777216"
    );
}

#[test]
fn decision_28_content_is_bounded_in_kind_and_size() {
    let image = |bytes: usize| ContentBlock::Image {
        source: ImageSource { media_type: "image/png".into(), data: "x".repeat(bytes) },
    };
    assert_eq!(error(check::tool_content(&[image(1), ContentBlock::text("x")])), "fine");
    let too_large = "answered something invalid: larger than the bytes that are allowed: 16777216";
    assert_eq!(error(check::tool_content(&[image(16 << 20), image(1)])), too_large);
    assert_eq!(error(check::text(&"x".repeat((16 << 20) + 1))), too_large);
    let call = ContentBlock::ToolUse { id: "1".into(), name: "t".into(), input: json!({}) };
    assert_eq!(
        error(check::tool_content(&[call])),
        "answered something invalid: a tool result holds text and image blocks, got: tool_use"
    );
}

#[test]
fn decision_28_edits_are_checked_against_the_list_as_it_will_stand() {
    let message = Message::user("x");
    let append = || MessageEdit::Append { message: message.clone() };
    let insert = |index| MessageEdit::Insert { index, message: message.clone() };
    let replace = |index| MessageEdit::Replace { index, message: message.clone() };
    let remove = |start, end| MessageEdit::Remove { start, end };
    for (edits, len) in [
        (vec![], 0),
        (vec![append(), replace(0), insert(1), remove(0, 2), insert(0)], 0),
        (vec![remove(0, 3), remove(0, 0)], 3),
        (vec![insert(3), replace(3)], 3),
    ] {
        assert_eq!(error(check::edits(&edits, len)), "fine", "{edits:?}");
    }
    for (edits, range, len) in [
        (vec![replace(0)], "0..1", 0),
        (vec![insert(2)], "2..2", 1),
        (vec![remove(2, 1)], "2..1", 3),
        (vec![remove(0, 4)], "0..4", 3),
        (vec![remove(0, 2), replace(1)], "1..2", 1),
        (vec![replace(usize::MAX)], &format!("{0}..{0}", usize::MAX), 3),
    ] {
        let given = if edits.len() == 2 { 3 } else { len };
        assert_eq!(
            error(check::edits(&edits, given)),
            format!("answered something invalid: an edit of messages {range}, where there are: {len}")
        );
    }
}

#[test]
fn decision_28_messages_in_edits_are_checked_whole() {
    let append = |message| error(check::edits(&[MessageEdit::Append { message }], 0));
    let of = |role, content| Message { role, ..Message::assistant(content) };
    let call = |input| ContentBlock::ToolUse { id: "1".into(), name: "t".into(), input };
    let result = |content| ContentBlock::ToolResult { tool_use_id: "1".into(), content, is_error: false };
    assert_eq!(append(of(Role::Assistant, vec![call(json!({}))])), "fine");
    assert_eq!(append(of(Role::User, vec![result(vec![ContentBlock::text("x")])])), "fine");
    assert_eq!(
        append(of(Role::User, vec![call(json!({}))])),
        "answered something invalid: a block that may not stand in a message of role user: tool_use"
    );
    assert_eq!(
        append(of(Role::User, vec![result(vec![result(vec![])])])),
        "answered something invalid: a block that may not stand in a message of role user: tool_result"
    );
    assert_eq!(
        append(of(Role::Assistant, vec![call(nested(65))])),
        "answered something invalid: JSON nested deeper than: 64"
    );
    let large = result(vec![ContentBlock::text("x".repeat((16 << 20) + 1))]);
    assert_eq!(
        append(of(Role::User, vec![large])),
        "answered something invalid: larger than the bytes that are allowed: 16777216"
    );
}

#[tokio::test(start_paused = true)]
async fn decision_28_a_block_with_a_reason_that_is_too_large_is_a_fault_and_blocks_nothing() {
    let log = Log::default();
    let blocks = FakeMod::new(&log, "a").on(Hook::BeforeToolCall, |_| {
        let reason = "x".repeat((16 << 20) + 1);
        Some(HookOutcome::BeforeToolCall(BeforeToolCall::block(reason).and_terminate()))
    });
    let call = ToolCallInput { id: "1".into(), name: "t".into(), input: Arc::new(json!({})) };
    let runner = runner(&log);
    let verdict = runner.round(handlers([blocks]), 1).before_tool_call(&AgentState::new("s1"), &call).await;
    assert_eq!((verdict.blocked, verdict.terminate), (None, false));
}

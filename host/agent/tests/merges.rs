//! Random sets of mods, against a small written model of what their answers come to.

use std::time::Duration;

use mod_interface::types::{
    AfterToolCall, BeforeToolCall, ContentBlock, EffortChange, Hook, HookOutcome, Message, MessageEdit,
    MessageSource, NextTurn, StatePatch, StopDecision, ToolOutput, TransformInput,
};
use proptest::{collection::vec, prelude::*};
use serde_json::{Value, json};

#[path = "../../../tests/support/merge_model.rs"]
mod model;

use self::model::{Does, Expected, expected, letter, plain};
use super::fakes::{FakeMod, FakeTool, Log, Ran, Scene, Turn, call, handlers, say};
use crate::hooks::{HookAnswer, HookFault, HookInput, HookResult, Subject};

fn before(input: &HookInput, me: char, does: Does) -> Option<HookOutcome> {
    let Subject::ToolCall(call) = &input.subject else { panic!("no call") };
    Some(HookOutcome::BeforeToolCall(match does {
        Does::Rewrites => {
            BeforeToolCall::rewrite(json!({ "text": format!("{}{me}", call.input["text"].as_str()?) }))
        }
        Does::Blocks(n) if call.id[1..] == n.to_string() => BeforeToolCall::block(format!("blocked by {me}")),
        Does::AddsBefore => BeforeToolCall::context(format!("before {me}")),
        Does::TerminatesBefore => BeforeToolCall::default().and_terminate(),
        _ => return None,
    }))
}

fn after(input: &HookInput, me: char, does: Does) -> Option<HookOutcome> {
    let Subject::ToolResult { content, is_error, .. } = &input.subject else { panic!("no result") };
    let text = content[0].as_text()?;
    Some(HookOutcome::AfterToolCall(match does {
        Does::Replaces => AfterToolCall::text(format!("{text}, seen by {me}")),
        Does::Flips => AfterToolCall { is_error: Some(!is_error), ..AfterToolCall::default() },
        Does::AddsAfter => AfterToolCall::context(format!("after {me}")),
        Does::TerminatesAfter => AfterToolCall { terminate: true, ..AfterToolCall::default() },
        _ => return None,
    }))
}

fn on_stop(input: &HookInput, me: char, until: u32) -> Option<HookOutcome> {
    let Subject::Stop { last_assistant_text, .. } = &input.subject else { panic!("no stop") };
    let reason = Some(format!("{me} wants more than {last_assistant_text}"));
    (input.turn_number <= until).then_some(HookOutcome::Stop(StopDecision::Continue { reason }))
}

fn a_mod(log: &Log, i: usize, does: Does) -> FakeMod {
    let me = letter(i);
    let fake = FakeMod::new(log, &me.to_string());
    match does {
        Does::Rewrites | Does::Blocks(_) | Does::AddsBefore | Does::TerminatesBefore => {
            fake.on(Hook::BeforeToolCall, move |input| before(input, me, does))
        }
        Does::Replaces | Does::Flips | Does::AddsAfter | Does::TerminatesAfter => {
            fake.on(Hook::AfterToolCall, move |input| after(input, me, does))
        }
        Does::CountsTurns => fake.on(Hook::OnTurnStart, move |input| {
            let turns = input.state.mod_state.get(&format!("mod:{me}")).and_then(Value::as_u64);
            Some(HookOutcome::State(StatePatch::mod_state(json!(turns.unwrap_or(0) + 1))))
        }),
        Does::Prompts => fake.on(Hook::AppendSystemPrompt, move |_| {
            Some(HookOutcome::AppendSystemPrompt(format!("prompt of {me}")))
        }),
        Does::AddsContext => fake.on(Hook::TransformContext, move |_| {
            let message = Message::user_from(MessageSource::Mod, format!("said by {me}"));
            Some(HookOutcome::TransformContext(vec![MessageEdit::Append { message }]))
        }),
        Does::Stops(turn) => fake.on(Hook::ShouldStopAfterTurn, move |input| {
            (input.turn_number >= turn).then_some(HookOutcome::ShouldStop)
        }),
        Does::GoesOn(until) => fake.on(Hook::OnStop, move |input| on_stop(input, me, until)),
    }
}

fn run(parallel: bool, mods: impl FnOnce(&Log) -> Vec<FakeMod>) -> Ran {
    let calls = ["c1", "c2"].map(|id| (id, "echo", json!({"text": "x"})));
    let [t2, t3, t4, t5, t6] = ["t2", "t3", "t4", "t5", "t6"].map(say);
    let mut scene = Scene::new([call(calls), t2, t3, t4, t5, t6] as [Turn; 6]);
    scene.parallel = parallel;
    scene.tools = vec![FakeTool::working("echo", |input, _| {
        let output = ToolOutput::text(input["text"].as_str().unwrap());
        Box::pin(std::future::ready(output))
    })];
    *scene.mods.now.lock().unwrap() = handlers(mods(&scene.log));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.unwrap().block_on(scene.run())
}

fn came_to(ran: &Ran) -> Expected {
    let last = &ran.calls[ran.calls.len() - 1];
    let state = &ran.outcome.state;
    Expected {
        events: ran.log.iter().filter_map(|line| plain(line)).collect(),
        conversation: ran.told(),
        prompt: last.system.strip_prefix("base default").unwrap().to_owned(),
        added: model::added(&last.messages),
        counted: model::counted(state, "mod:"),
    }
}

/// How a mod fails at a hook, every time.
#[derive(Debug, Clone, Copy)]
enum Fault {
    Error,
    Late,
    Panic,
    Timeout,
    Misplaced,
    Invalid,
}

impl Fault {
    const ALL: [Self; 6] =
        [Self::Error, Self::Late, Self::Panic, Self::Timeout, Self::Misplaced, Self::Invalid];

    /// What the mod answers at `hook`, and what is told of it.
    fn at(self, hook: Hook) -> (HookResult, &'static str) {
        match self {
            Self::Error | Self::Late => (Err(HookFault::Error("broken".to_owned())), "broken"),
            Self::Panic => (Err(HookFault::Panic("at x:1".to_owned())), "panicked: at x:1"),
            Self::Timeout => (Err(HookFault::Timeout(5)), "timeout: took longer than 5 ms of its own time"),
            Self::Misplaced => misplaced(),
            Self::Invalid => invalid(hook),
        }
    }
}

fn misplaced() -> (HookResult, &'static str) {
    let outcome = HookOutcome::Input(TransformInput::Continue);
    (Ok(Some(outcome)), "answered something invalid: the answer of another hook: a change of the prompt")
}

/// Of each answer one that may not touch anything, where there is one.
fn invalid(hook: Hook) -> (HookResult, &'static str) {
    let message = Message { content: vec![], ..Message::user("") };
    let empty =
        "answered something invalid: a message needs at least one block, got none in a message of role: user";
    let (outcome, told) = match hook {
        Hook::TransformContext => {
            (HookOutcome::TransformContext(vec![MessageEdit::Append { message }]), empty)
        }
        Hook::OnTurnStart | Hook::OnTurnEnd => {
            let patch = StatePatch::mod_state(json!("half done")).append(Message::user("x")).append(message);
            (HookOutcome::State(patch), empty)
        }
        Hook::BeforeToolCall => {
            let deep = (0..65).fold(json!(1), |inner, _| json!([inner]));
            let answer = BeforeToolCall::rewrite(deep).and_terminate();
            (HookOutcome::BeforeToolCall(answer), "answered something invalid: JSON nested deeper than: 64")
        }
        Hook::AfterToolCall => {
            let thinking = ContentBlock::Thinking { thinking: String::new(), signature: None };
            let answer = AfterToolCall {
                content: Some(vec![thinking]),
                is_error: Some(true),
                ..AfterToolCall::context("half done")
            };
            (
                HookOutcome::AfterToolCall(answer),
                "answered something invalid: a tool result holds text and image blocks, got: thinking",
            )
        }
        Hook::PrepareNextTurn => {
            let next = NextTurn { model: Some("nonsense".to_owned()), effort: Some(EffortChange::Reset) };
            (HookOutcome::NextTurn(next), "answered something invalid: no such model: nonsense")
        }
        _ => return misplaced(),
    };
    (Ok(Some(outcome)), told)
}

fn faulty(log: &Log, n: usize, hook: Hook, fault: Fault) -> FakeMod {
    let fake = FakeMod::new(log, &format!("faulty{n}"));
    match fault {
        Fault::Late => fake.slowly(hook, Duration::from_secs(1), move |_| fault.at(hook).0),
        _ => fake.answering(hook, move |_| HookAnswer::Ready(fault.at(hook).0)),
    }
}

/// What must have been told of the faulty mods, as often as they were asked.
fn told_of(faults: &[(usize, Hook, Fault)], ran: &Ran) -> Vec<String> {
    let of = |(n, (_, hook, fault)): (usize, &(usize, Hook, Fault))| {
        let asked = format!("◆ mod:faulty{n} {hook}");
        let again = ran.log.iter().filter(|line| line.starts_with(&asked)).count().checked_sub(1)?;
        let error = format!("mod_error mod:faulty{n} {hook}: {}", fault.at(*hook).1);
        let times = if again == 1 { "once" } else { &format!("{again} times") };
        let notice = format!("notice mod:faulty{n} failed {times} more at {hook}");
        Some([error].into_iter().chain((again > 0).then_some(notice)))
    };
    let mut told: Vec<_> = faults.iter().enumerate().filter_map(of).flatten().collect();
    told.sort_unstable();
    told
}

fn fault() -> impl Strategy<Value = (usize, Hook, Fault)> {
    (0..7_usize, prop::sample::select(Hook::ALL[..10].to_vec()), prop::sample::select(Fault::ALL.to_vec()))
}

proptest! {
    #[test]
    fn what_mods_answer_comes_to_what_the_model_says(mods in vec(Does::any(), 0..=8), parallel in any::<bool>()) {
        let ran = run(parallel, |log| mods.iter().enumerate().map(|(i, does)| a_mod(log, i, *does)).collect());
        prop_assert_eq!(came_to(&ran), expected(&mods, parallel).0);
        prop_assert!(ran.only(["mod_error"]).is_empty());
    }

    #[test]
    fn faults_come_to_what_the_same_run_without_them_comes_to_and_each_is_told(
        mods in vec(Does::any(), 0..6),
        faults in vec(fault(), 1..12),
        parallel in any::<bool>(),
    ) {
        let healthy = |log: &Log| mods.iter().enumerate().map(|(i, does)| a_mod(log, i, *does)).collect();
        let with_faults = |log: &Log| {
            let mut all: Vec<FakeMod> = healthy(log);
            for (n, (at, hook, fault)) in faults.iter().enumerate() {
                all.insert((*at).min(all.len()), faulty(log, n, *hook, *fault));
            }
            all
        };
        let (with, without) = (run(parallel, with_faults), run(parallel, healthy));
        prop_assert_eq!(came_to(&with), came_to(&without));
        prop_assert_eq!(&with.outcome.state, &without.outcome.state);
        let mut told = with.only(["mod_error", "notice"]);
        told.sort_unstable();
        prop_assert_eq!(told, told_of(&faults, &with));
    }
}

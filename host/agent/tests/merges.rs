//! Random sets of mods, against a small written model of what their answers come to.

use std::fmt::Write as _;

use mod_interface::types::{
    AfterToolCall, BeforeToolCall, ContentBlock, Hook, HookOutcome, Message, MessageEdit, StatePatch,
    StopDecision,
};
use proptest::{collection::vec, prelude::*};
use serde_json::{Value, json};

use super::fakes::{FakeMod, Log, Ran, Scene, Turn, call, handlers, say, told};
use crate::hooks::{HookInput, Subject};

/// What a mod does; with a number, for which call, in which turn or how often.
#[derive(Debug, Clone, Copy)]
enum Does {
    Rewrites(i64),
    Blocks(u32),
    AddsBefore,
    TerminatesBefore,
    Replaces,
    Flips,
    AddsAfter,
    TerminatesAfter,
    CountsTurns,
    Prompts,
    AddsContext,
    Stops(u32),
    GoesOn(u32),
}

fn does() -> impl Strategy<Value = Does> {
    prop_oneof![
        3 => (1..9_i64).prop_map(Does::Rewrites),
        1 => (1..3_u32).prop_map(Does::Blocks),
        2 => Just(Does::AddsBefore),
        1 => Just(Does::TerminatesBefore),
        3 => Just(Does::Replaces),
        2 => Just(Does::Flips),
        2 => Just(Does::AddsAfter),
        1 => Just(Does::TerminatesAfter),
        1 => Just(Does::CountsTurns),
        1 => Just(Does::Prompts),
        1 => Just(Does::AddsContext),
        1 => (1..4_u32).prop_map(Does::Stops),
        2 => (1..5_u32).prop_map(Does::GoesOn),
    ]
}

fn number_of(call: &crate::hooks::ToolCallInput) -> u32 {
    call.id[1..].parse().unwrap()
}

fn before(input: &HookInput, i: usize, does: Does) -> Option<HookOutcome> {
    let Subject::ToolCall(call) = &input.subject else { panic!("no call") };
    Some(HookOutcome::BeforeToolCall(match does {
        Does::Rewrites(n) => BeforeToolCall::rewrite(json!({"x": call.input["x"].as_i64()? * 10 + n})),
        Does::Blocks(n) if n == number_of(call) => BeforeToolCall::block(format!("no {i}")),
        Does::AddsBefore => BeforeToolCall::context(format!("b{i}")),
        Does::TerminatesBefore => BeforeToolCall::default().and_terminate(),
        _ => return None,
    }))
}

fn after(input: &HookInput, i: usize, does: Does) -> Option<HookOutcome> {
    let Subject::ToolResult { content, is_error, .. } = &input.subject else { panic!("no result") };
    let text = content[0].as_text()?;
    Some(HookOutcome::AfterToolCall(match does {
        Does::Replaces => AfterToolCall::text(format!("{text}>{i}")),
        Does::Flips => AfterToolCall { is_error: Some(!is_error), ..AfterToolCall::default() },
        Does::AddsAfter => AfterToolCall::context(format!("a{i}")),
        Does::TerminatesAfter => AfterToolCall { terminate: true, ..AfterToolCall::default() },
        _ => return None,
    }))
}

fn a_mod(log: &Log, i: usize, does: Does) -> FakeMod {
    let fake = FakeMod::new(log, &i.to_string());
    match does {
        Does::Rewrites(_) | Does::Blocks(_) | Does::AddsBefore | Does::TerminatesBefore => {
            fake.on(Hook::BeforeToolCall, move |input| before(input, i, does))
        }
        Does::Replaces | Does::Flips | Does::AddsAfter | Does::TerminatesAfter => {
            fake.on(Hook::AfterToolCall, move |input| after(input, i, does))
        }
        Does::CountsTurns => fake.on(Hook::OnTurnEnd, move |input| {
            let turns = input.state.mod_state.get(&format!("mod:{i}")).and_then(Value::as_u64);
            Some(HookOutcome::State(StatePatch::mod_state(json!(turns.unwrap_or(0) + 1))))
        }),
        Does::Prompts => {
            fake.on(Hook::AppendSystemPrompt, move |_| Some(HookOutcome::AppendSystemPrompt(format!("p{i}"))))
        }
        Does::AddsContext => fake.on(Hook::TransformContext, move |_| {
            let message = Message::user(format!("c{i}"));
            Some(HookOutcome::TransformContext(vec![MessageEdit::Append { message }]))
        }),
        Does::Stops(turn) => fake.on(Hook::ShouldStopAfterTurn, move |input| {
            (input.turn_number >= turn).then_some(HookOutcome::ShouldStop)
        }),
        Does::GoesOn(until) => fake.on(Hook::OnStop, move |input| {
            let reason = Some(format!("on {i}"));
            (input.turn_number <= until).then_some(HookOutcome::Stop(StopDecision::Continue { reason }))
        }),
    }
}

/// What a run comes to, written down without any of the host's code.
#[derive(Debug, PartialEq, Default)]
struct Expected {
    conversation: Vec<String>,
    ends: Vec<String>,
    stop: String,
    prompt: String,
    added: Vec<String>,
}

fn expected(mods: &[Does]) -> Expected {
    let every = |wanted: fn(Does) -> bool, mark: &str| -> Vec<String> {
        let of = mods.iter().enumerate().filter(|(_, does)| wanted(**does));
        of.map(|(i, _)| format!("{mark}{i}")).collect()
    };
    let mut it = Expected {
        conversation: vec!["user[user]: go".into(), "assistant: <call c1> <call c2>".into()],
        added: every(|does| matches!(does, Does::AddsContext), "c"),
        prompt: "base default".into(),
        ..Expected::default()
    };
    for text in every(|does| matches!(does, Does::Prompts), "p") {
        write!(it.prompt, "\n\n{text}").unwrap();
    }
    let mut terminate = false;
    let results = [1, 2].map(|number| one_call(mods, number, &mut terminate, &mut it.ends));
    it.conversation.push(format!("user[tool_results]: {} {}", results[0], results[1]));
    for turn in 1.. {
        if turn > 1 {
            it.conversation.push(format!("assistant: t{turn}"));
        }
        let goes_on = mods.iter().position(|does| matches!(does, Does::GoesOn(until) if *until >= turn));
        if turn == 1 && terminate {
            it.stop = "terminate 1".into();
        } else if mods.iter().any(|does| matches!(does, Does::Stops(at) if *at <= turn)) {
            it.stop = format!("stop_hook {turn}");
        } else if turn == 1 {
            continue;
        } else if let Some(i) = goes_on {
            it.conversation.push(format!("user[stop_hook]: on {i}"));
            continue;
        } else {
            it.stop = format!("end_turn {turn}");
        }
        return it;
    }
    it
}

fn one_call(mods: &[Does], number: u32, terminate: &mut bool, ends: &mut Vec<String>) -> String {
    let (mut x, mut appended) = (1_i64, String::new());
    for (i, does) in mods.iter().enumerate() {
        match does {
            Does::Rewrites(n) => x = x * 10 + n,
            Does::Blocks(n) if *n == number => {
                ends.push(format!("tool_hook_blocked c{number}: no {i}"));
                return format!("<c{number} failed: no {i}>");
            }
            Does::AddsBefore => write!(appended, " + b{i}").unwrap(),
            Does::TerminatesBefore => *terminate = true,
            _ => {}
        }
    }
    let (mut text, mut failed) = (format!("echo ran {{\"x\":{x}}}"), false);
    for (i, does) in mods.iter().enumerate() {
        match does {
            Does::Replaces => write!(text, ">{i}").unwrap(),
            Does::Flips => failed = !failed,
            Does::AddsAfter => write!(appended, " + a{i}").unwrap(),
            Does::TerminatesAfter => *terminate = true,
            _ => {}
        }
    }
    text += &appended;
    if failed {
        ends.push(format!("tool_errored c{number}: {}", text.replace(" + ", "\n")));
        format!("<c{number} failed: {text}>")
    } else {
        ends.push(format!("tool_completed c{number}: {text}"));
        format!("<c{number}: {text}>")
    }
}

fn run(parallel: bool, mods: impl FnOnce(&Log) -> Vec<FakeMod>) -> Ran {
    let calls = [("c1", "echo", json!({"x": 1})), ("c2", "echo", json!({"x": 1}))];
    let [t2, t3, t4, t5, t6] = ["t2", "t3", "t4", "t5", "t6"].map(say);
    let mut scene = Scene::new([call(calls), t2, t3, t4, t5, t6] as [Turn; 6]);
    scene.parallel = parallel;
    *scene.mods.0.lock().unwrap() = handlers(mods(&scene.log));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.unwrap().block_on(scene.run())
}

fn came_to(ran: &Ran) -> Expected {
    let last = &ran.calls[ran.calls.len() - 1];
    let texts = |message: &Message| {
        let texts = message.content.iter().filter_map(ContentBlock::as_text);
        texts.filter(|text| text.starts_with('c')).map(str::to_owned).collect()
    };
    Expected {
        conversation: told(&ran.outcome.state.messages),
        ends: ran.only(["tool_c", "tool_e", "tool_h"]).into_iter().map(str::to_owned).collect(),
        stop: ran.only(["run_end"])[0].replace("run_end ", ""),
        prompt: last.system.to_string(),
        added: last.messages.last().map(|message| texts(message)).unwrap_or_default(),
    }
}

/// The events of a run without what tells of hooks and faults.
fn plain(ran: &Ran) -> Vec<&String> {
    let hidden = ["◆", "mod_error", "notice"];
    ran.log.iter().filter(|line| !hidden.iter().any(|kind| line.starts_with(kind))).collect()
}

proptest! {
    #[test]
    fn what_mods_answer_comes_to_what_the_model_says(mods in vec(does(), 0..8), parallel in any::<bool>()) {
        let ran = run(parallel, |log| mods.iter().enumerate().map(|(i, does)| a_mod(log, i, *does)).collect());
        prop_assert_eq!(came_to(&ran), expected(&mods));
        let turns = u64::from(ran.outcome.result.turn_count);
        for (i, _) in mods.iter().enumerate().filter(|(_, does)| matches!(does, Does::CountsTurns)) {
            prop_assert_eq!(&ran.outcome.state.mod_state[&format!("mod:{i}")], &json!(turns));
        }
        prop_assert!(ran.only(["mod_error"]).is_empty());
    }

    #[test]
    fn faults_come_to_what_the_same_run_without_them_comes_to(
        mods in vec(does(), 0..6),
        faults in vec((0..7_usize, 0..10_usize, any::<bool>()), 1..5),
        parallel in any::<bool>(),
    ) {
        let healthy = |log: &Log| mods.iter().enumerate().map(|(i, does)| a_mod(log, i, *does)).collect();
        let faulty = |log: &Log| {
            let mut all: Vec<FakeMod> = healthy(log);
            for (n, (at, hook, misplaces)) in faults.iter().enumerate() {
                let (fake, hook) = (FakeMod::new(log, &format!("faulty{n}")), Hook::ALL[*hook]);
                let input = mod_interface::types::TransformInput::Continue;
                let misplaced = Some(HookOutcome::Input(input));
                let fake = if *misplaces {
                    fake.on(hook, move |_| misplaced.clone())
                } else {
                    fake.failing(hook, "broken")
                };
                all.insert((*at).min(all.len()), fake);
            }
            all
        };
        let (with, without) = (run(parallel, faulty), run(parallel, healthy));
        prop_assert_eq!(plain(&with), plain(&without));
        prop_assert_eq!(&with.outcome.state, &without.outcome.state);
        let told = with.only(["mod_error"]).len();
        let failed = with.log.iter().filter(|line| line.starts_with("◆ mod:faulty")).count();
        prop_assert_eq!(told == 0, failed == 0, "never silent");
    }
}

//! Random sets of mods, against a small written model of what their answers come to.

use mod_interface::types::{
    AfterToolCall, BeforeToolCall, Hook, HookOutcome, Message, MessageEdit, MessageSource, StatePatch,
    StopDecision, ToolOutput,
};
use proptest::{collection::vec, prelude::*};
use serde_json::{Value, json};

#[path = "../../../tests/support/merge_model.rs"]
mod model;

use self::model::{Does, Expected, expected, letter, plain};
use super::fakes::{FakeMod, FakeTool, Log, Ran, Scene, Turn, call, handlers, say};
use crate::hooks::{HookInput, Subject};

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

proptest! {
    #[test]
    fn what_mods_answer_comes_to_what_the_model_says(mods in vec(Does::any(), 0..=8), parallel in any::<bool>()) {
        let ran = run(parallel, |log| mods.iter().enumerate().map(|(i, does)| a_mod(log, i, *does)).collect());
        prop_assert_eq!(came_to(&ran), expected(&mods, parallel));
        prop_assert!(ran.only(["mod_error"]).is_empty());
    }

    #[test]
    fn faults_come_to_what_the_same_run_without_them_comes_to(
        mods in vec(Does::any(), 0..6),
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
        prop_assert_eq!(came_to(&with), came_to(&without));
        prop_assert_eq!(&with.outcome.state, &without.outcome.state);
        let told = with.only(["mod_error"]).len();
        let failed = with.log.iter().filter(|line| line.starts_with("◆ mod:faulty")).count();
        prop_assert_eq!(told == 0, failed == 0, "never silent");
    }
}

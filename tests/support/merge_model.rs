//! What the answers of many mods come to, written down without any of the host's code. For the tests of the crate,
//! whose mods are closures, and the integration tests, whose mods are real.
//!
//! The run: the model calls `echo` twice with the text `x`, as `c1` and `c2`, and then says `t2`, `t3`, ….

use std::{collections::BTreeMap, sync::Arc};

use mod_interface::types::{AgentState, ContentBlock, Hook, Message};
use proptest::prelude::*;

/// What a mod does; with a number, for which call, from or until which turn.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Does {
    Rewrites,
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

impl Does {
    pub(crate) fn any() -> impl Strategy<Value = Self> {
        prop_oneof![
            3 => Just(Self::Rewrites),
            1 => (1..3_u32).prop_map(Self::Blocks),
            2 => Just(Self::AddsBefore),
            1 => Just(Self::TerminatesBefore),
            3 => Just(Self::Replaces),
            2 => Just(Self::Flips),
            2 => Just(Self::AddsAfter),
            1 => Just(Self::TerminatesAfter),
            1 => Just(Self::CountsTurns),
            1 => Just(Self::Prompts),
            1 => Just(Self::AddsContext),
            1 => (1..4_u32).prop_map(Self::Stops),
            2 => (1..5_u32).prop_map(Self::GoesOn),
        ]
    }
}

/// What a run comes to.
#[derive(Debug, PartialEq, Default)]
pub(crate) struct Expected {
    /// The events, as [`plain`] shows them.
    pub(crate) events: Vec<String>,
    /// The messages at the end.
    pub(crate) conversation: Vec<String>,
    /// What the last request's system prompt has behind the base.
    pub(crate) prompt: String,
    /// What the last request's last message has beside what is in the state.
    pub(crate) added: Vec<String>,
    /// The turns that mods have counted, by letter.
    pub(crate) counted: BTreeMap<char, u64>,
}

/// The letter of a mod.
pub(crate) fn letter(index: usize) -> char {
    char::from(b'a' + u8::try_from(index).unwrap())
}

/// An event, of a log of either kind of test, without what depends on who tells it; `None` for what tells of hooks
/// and of the model's pieces.
pub(crate) fn plain(line: &str) -> Option<String> {
    let kind = line.split(' ').next()?;
    let hidden = [
        "◆",
        "text_delta",
        "message_update",
        "notice",
        "mod_error",
        "session_start",
        "commit",
        "session_shutdown",
    ];
    if hidden.contains(&kind) {
        return None;
    }
    let words = match kind {
        "tool_running" | "tool_completed" | "tool_errored" | "tool_hook_blocked" | "run_end" => {
            return Some(line.to_owned());
        }
        "tool_queued" => 2,
        _ => 1,
    };
    Some(line.split(' ').take(words).collect::<Vec<_>>().join(" "))
}

/// What mods have added to the last message of a request.
pub(crate) fn added(messages: &[Arc<Message>]) -> Vec<String> {
    let texts = messages.last().into_iter().flat_map(|last| &last.content).filter_map(ContentBlock::as_text);
    texts.filter(|text| text.starts_with("said by ")).map(str::to_owned).collect()
}

/// The counts in the slots of the mods whose ids are `id` and a letter.
pub(crate) fn counted(state: &AgentState, id: &str) -> BTreeMap<char, u64> {
    let slots = state.mod_state.iter();
    slots
        .map(|(slot, count)| (slot.strip_prefix(id).unwrap().parse().unwrap(), count.as_u64().unwrap()))
        .collect()
}

/// One time that a hook is asked: of every mod, or until what the mod of this index does at it ends the asking.
pub(crate) type Asking = (Hook, Option<usize>);

/// What a run with mods that do this comes to, and what is asked in it.
pub(crate) fn expected(mods: &[Does], parallel: bool) -> (Expected, Vec<Asking>) {
    let every = |wanted: fn(Does) -> bool, text: &str| -> Vec<String> {
        let of = mods.iter().enumerate().filter(|(_, does)| wanted(**does));
        of.map(|(i, _)| format!("{text}{}", letter(i))).collect()
    };
    let prompts = every(|does| matches!(does, Does::Prompts), "\n\nprompt of ");
    let mut it = Expected {
        events: vec!["run_start".to_owned()],
        conversation: vec!["user[user]: go".to_owned(), "assistant: <call c1> <call c2>".to_owned()],
        prompt: prompts.concat(),
        added: every(|does| matches!(does, Does::AddsContext), "said by "),
        counted: BTreeMap::new(),
    };
    let everyone = |hook| (hook, None);
    let mut asked = [Hook::OnSessionStart, Hook::TransformInput].map(everyone).to_vec();
    let mut terminate = false;
    for turn in 1.. {
        let begin = [Hook::OnTurnStart, Hook::AppendSystemPrompt, Hook::TransformContext, Hook::OnTurnEnd];
        asked.extend(begin.map(everyone));
        let begin =
            ["turn_start", "message_start", "model_request_start", "model_request_end", "message_end"];
        it.events.extend(begin.map(str::to_owned));
        if turn == 1 {
            terminate = both_calls(mods, parallel, &mut it, &mut asked);
        } else {
            it.conversation.push(format!("assistant: t{turn}"));
        }
        it.events.push("turn_end".to_owned());
        let goes_on = mods.iter().position(|does| matches!(does, Does::GoesOn(until) if *until >= turn));
        let stops = mods.iter().position(|does| matches!(does, Does::Stops(at) if *at <= turn));
        let terminates = turn == 1 && terminate;
        asked.extend((!terminates).then_some((Hook::ShouldStopAfterTurn, stops)));
        asked.extend((turn > 1 && stops.is_none()).then_some((Hook::OnStop, goes_on)));
        let stop = match goes_on {
            _ if terminates => "terminate",
            _ if stops.is_some() => "stop_hook",
            _ if turn == 1 => {
                asked.push(everyone(Hook::PrepareNextTurn));
                continue;
            }
            Some(i) => {
                asked.push(everyone(Hook::PrepareNextTurn));
                it.conversation.push(format!("user[stop_hook]: {} wants more than t{turn}", letter(i)));
                continue;
            }
            None => "end_turn",
        };
        it.events.push(format!("run_end {stop} {turn}"));
        let counting = mods.iter().enumerate().filter(|(_, does)| matches!(does, Does::CountsTurns));
        it.counted = counting.map(|(i, _)| (letter(i), u64::from(turn))).collect();
        break;
    }
    asked.extend([Hook::OnRunEnd, Hook::OnSessionEnd].map(everyone));
    (it, asked)
}

/// What becomes of both calls; whether the run ends behind them.
fn both_calls(mods: &[Does], parallel: bool, it: &mut Expected, asked: &mut Vec<Asking>) -> bool {
    let mut terminate = false;
    let calls = [1, 2].map(|number| one_call(mods, number, &mut terminate));
    for call in &calls {
        asked.push((Hook::BeforeToolCall, call.blocked_by));
        asked.extend(call.blocked_by.is_none().then_some((Hook::AfterToolCall, None)));
    }
    it.events.extend(["tool_queued c1".to_owned(), "tool_queued c2".to_owned()]);
    let running = |call: &Call| call.running.clone();
    if parallel {
        it.events.extend(calls.iter().filter_map(running));
        it.events.extend(calls.iter().map(|call| call.end.clone()));
    } else {
        it.events.extend(calls.iter().flat_map(|call| running(call).into_iter().chain([call.end.clone()])));
    }
    it.conversation.push(format!("user[tool_results]: {} {}", calls[0].result, calls[1].result));
    terminate
}

/// The events of a call, and its result in the conversation.
struct Call {
    blocked_by: Option<usize>,
    running: Option<String>,
    end: String,
    result: String,
}

fn one_call(mods: &[Does], number: u32, terminate: &mut bool) -> Call {
    let (mut text, mut appended) = ("x".to_owned(), Vec::new());
    for (i, does) in mods.iter().enumerate() {
        let me = letter(i);
        match does {
            Does::Rewrites => text.push(me),
            Does::Blocks(n) if *n == number => {
                let end = format!("tool_hook_blocked c{number}: blocked by {me}");
                let result = format!("<c{number} failed: blocked by {me}>");
                return Call { blocked_by: Some(i), running: None, end, result };
            }
            Does::AddsBefore => appended.push(format!("before {me}")),
            Does::TerminatesBefore => *terminate = true,
            _ => {}
        }
    }
    let mut failed = false;
    for (i, does) in mods.iter().enumerate() {
        let me = letter(i);
        match does {
            Does::Replaces => text += &format!(", seen by {me}"),
            Does::Flips => failed = !failed,
            Does::AddsAfter => appended.push(format!("after {me}")),
            Does::TerminatesAfter => *terminate = true,
            _ => {}
        }
    }
    let parts = [vec![text], appended].concat();
    let end = match failed {
        true => format!("tool_errored c{number}: {}", parts.join("\n")),
        false => format!("tool_completed c{number}: {}", parts.join(" + ")),
    };
    let failed = if failed { " failed" } else { "" };
    let result = format!("<c{number}{failed}: {}>", parts.join(" + "));
    Call { blocked_by: None, running: Some(format!("tool_running c{number}")), end, result }
}

//! Mods made of closures, and one log that shows what happened in which order.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use mod_interface::types::{AgentEvent, ContentBlock, EventPayload, Hook, HookOutcome, HookSet, MAIN_AGENT};

#[path = "../../tests/support/told.rs"]
mod conversation;

pub(crate) use conversation::told;

use super::{
    Handlers, HookAnswer, HookFault, HookHandler, HookInput, HookResult, LaterAnswer, Mods, Subject,
};
use crate::events::EventBus;

/// What happened, one line each, in order.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    pub(crate) fn add(&self, line: impl Into<String>) {
        self.0.lock().unwrap().push(line.into());
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    /// A bus whose events land in the log.
    pub(crate) fn bus(&self) -> EventBus {
        let (bus, log) = (EventBus::new(), self.clone());
        bus.add(Arc::new(move |event: &AgentEvent| {
            log.add(format!("{}{}", of(&event.agent_id), line_of(&event.payload)));
        }));
        bus
    }
}

/// Says which agent a line is about, where it is not the main one.
pub(crate) fn of(agent_id: &str) -> String {
    if agent_id == MAIN_AGENT { String::new() } else { format!("[{agent_id}] ") }
}

/// An event in one line.
fn line_of(event: &EventPayload) -> String {
    let text = |content: &[ContentBlock]| {
        let texts: Vec<_> = content.iter().map(|it| it.as_text().unwrap_or(it.kind())).collect();
        texts.join(" + ")
    };
    let kind = event.kind().as_str();
    let rest = match event {
        EventPayload::RunStart { session_id } => session_id.to_string(),
        EventPayload::RunEnd { result } => format!("{} {}", result.stop_reason.as_str(), result.turn_count),
        EventPayload::TurnStart { turn_number } => turn_number.to_string(),
        EventPayload::TurnEnd { turn_number, had_tool_calls, usage } => {
            format!("{turn_number} tools={had_tool_calls} tokens={}", usage.total())
        }
        EventPayload::TextDelta { delta: text }
        | EventPayload::ModelRequestStart { model: text }
        | EventPayload::Notice { message: text, .. }
        | EventPayload::RunError { error: text } => text.clone(),
        EventPayload::MessageEnd { content } => text(content),
        EventPayload::ModelRequestEnd { model, usage, stop_reason } => {
            format!("{model} tokens={} {stop_reason}", usage.total())
        }
        EventPayload::ToolQueued { tool_call_id, tool_name, input } => {
            format!("{tool_call_id} {tool_name} {input}")
        }
        EventPayload::ToolDenied { tool_call_id, reason: text, .. }
        | EventPayload::ToolHookBlocked { tool_call_id, hook_output: text, .. }
        | EventPayload::ToolUpdate { tool_call_id, partial: text, .. }
        | EventPayload::ToolErrored { tool_call_id, error: text, .. } => format!("{tool_call_id}: {text}"),
        EventPayload::ToolRunning { tool_call_id, description: None, .. } => tool_call_id.clone(),
        EventPayload::ToolRunning { tool_call_id, description: Some(text), .. } => {
            format!("{tool_call_id}: {text}")
        }
        EventPayload::ToolCompleted { tool_call_id, result, .. } => {
            format!("{tool_call_id}: {}", text(result))
        }
        EventPayload::ModError { mod_id, hook, error } => format!("{mod_id} {hook}: {error}"),
        EventPayload::SubagentStart { tool_call_id, subagent_type } => {
            format!("{tool_call_id} {subagent_type}")
        }
        EventPayload::SubagentProgress { tool_call_id, tool_name, tool_input, tokens_used, .. } => {
            format!("{tool_call_id}: {tool_name} {tool_input} tokens={tokens_used}")
        }
        EventPayload::SubagentStop { tool_call_id, subagent_type, tokens_used } => {
            format!("{tool_call_id} {subagent_type} tokens={tokens_used}")
        }
        EventPayload::ContinuationRecovery { kind, attempt, max_attempts } => {
            format!("{kind:?} {attempt}/{max_attempts}")
        }
        EventPayload::ToolInputCoerced { raw_type, recovered } => format!("{raw_type} recovered={recovered}"),
        EventPayload::ToolInputRepaired { rules_fired, hint_count, received_keys, repaired } => {
            let (rules, keys) = (rules_fired.join(","), received_keys.join(","));
            format!("{rules} hints={hint_count} keys={keys} repaired={repaired}")
        }
        EventPayload::CompactionDone { tokens_saved: Some(saved) } => format!("saved={saved}"),
        EventPayload::PermissionModeChanged { mode } => mode.as_str().to_owned(),
        _ => String::new(),
    };
    format!("{kind} {rest}").trim_end().to_owned()
}

type Answerer = Box<dyn Fn(&Arc<HookInput>) -> HookAnswer + Send + Sync>;

/// A mod made of closures. Each call of a hook is a line in the log, with the tool call that it is about.
pub(crate) struct FakeMod {
    id: String,
    answerers: BTreeMap<Hook, Answerer>,
    fails_closed: bool,
    log: Log,
}

impl FakeMod {
    pub(crate) fn new(log: &Log, id: &str) -> Self {
        let (id, log) = (format!("mod:{id}"), log.clone());
        Self { id, answerers: BTreeMap::new(), fails_closed: false, log }
    }

    pub(crate) fn answering(
        mut self,
        hook: Hook,
        answer: impl Fn(&Arc<HookInput>) -> HookAnswer + Send + Sync + 'static,
    ) -> Self {
        self.answerers.insert(hook, Box::new(answer));
        self
    }

    /// Answers at once.
    pub(crate) fn on(
        self,
        hook: Hook,
        answer: impl Fn(&HookInput) -> Option<HookOutcome> + Send + Sync + 'static,
    ) -> Self {
        self.answering(hook, move |input| HookAnswer::Ready(Ok(answer(input))))
    }

    /// Has no opinion.
    pub(crate) fn watching(self, hooks: impl IntoIterator<Item = Hook>) -> Self {
        hooks.into_iter().fold(self, |it, hook| it.on(hook, |_| None))
    }

    /// Answers after a while.
    pub(crate) fn slowly(
        self,
        hook: Hook,
        after: Duration,
        answer: impl Fn(&HookInput) -> HookResult + Send + Sync + 'static,
    ) -> Self {
        self.answering(hook, move |input| {
            let result = answer(input);
            HookAnswer::Pending(LaterAnswer::of(async move {
                tokio::time::sleep(after).await;
                result
            }))
        })
    }

    pub(crate) fn failing(self, hook: Hook, text: &'static str) -> Self {
        self.answering(hook, move |_| HookAnswer::Ready(Err(HookFault::Error(text.to_owned()))))
    }

    pub(crate) fn never_answering(self, hook: Hook) -> Self {
        self.answering(hook, |_| HookAnswer::Pending(LaterAnswer::of(std::future::pending())))
    }

    pub(crate) fn failing_closed(mut self) -> Self {
        self.fails_closed = true;
        self
    }
}

impl HookHandler for FakeMod {
    fn mod_id(&self) -> &str {
        &self.id
    }

    fn hooks(&self) -> HookSet {
        self.answerers.keys().copied().collect()
    }

    fn fails_closed(&self) -> bool {
        self.fails_closed
    }

    fn call(&self, input: Arc<HookInput>) -> (HookAnswer, Option<Arc<HookInput>>) {
        let agent = of(input.scope.emitter.agent_id());
        let call = match &input.subject {
            Subject::ToolCall(call) | Subject::ToolResult { call, .. } => format!(" {}", call.id),
            _ => String::new(),
        };
        self.log.add(format!("{agent}◆ {} {}{call}", self.id, input.hook));
        (self.answerers[&input.hook](&input), Some(input))
    }
}

/// Mods that may be swapped between rounds.
#[derive(Default)]
pub(crate) struct FakeMods {
    pub(crate) now: Mutex<Arc<Handlers>>,
    /// Those that were given out, each time that they were asked for.
    pub(crate) given: Mutex<Vec<Arc<Handlers>>>,
}

impl Mods for FakeMods {
    fn handlers(&self) -> Arc<Handlers> {
        let now = Arc::clone(&self.now.lock().unwrap());
        self.given.lock().unwrap().push(Arc::clone(&now));
        now
    }
}

pub(crate) fn handlers(mods: impl IntoIterator<Item = FakeMod>) -> Arc<Handlers> {
    Arc::new(Handlers::new(mods.into_iter().map(|it| Arc::new(it) as Arc<dyn HookHandler>)))
}

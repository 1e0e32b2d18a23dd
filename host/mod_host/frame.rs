//! What stands behind a frame: the question, and the way to the host's services.

use std::{
    sync::{Arc, OnceLock, Weak},
    time::Duration,
};

use abi_stable::std_types::{RResult, RString};
use async_ffi::{FfiFuture, FutureExt};
use mod_interface::{
    abi::{Callable, FrameHost, HookObject, JsonField, NumberField, TextField},
    types::{AgentEvent, EventPayload, Message, Usage},
};
use serde::Serialize;
use serde_json::Value;

use super::{
    Core, HARNESS_GONE, channels::BusMessage, clock::Clock, identity::ModIdentity,
    provider::ProviderQuestion, services,
};
use crate::{
    hooks::{HookFault, HookInput, Subject, ToolCallInput},
    tools::ToolContext,
};

/// What a mod is asked in one entry. Small, as it is moved at every entry.
#[derive(Clone)]
pub(crate) enum Question {
    /// Nothing any more.
    None,
    /// To register.
    Factory,
    /// A hook.
    Hook(Arc<HookInput>),
    /// To observe an event.
    Event(Arc<AgentEvent>),
    /// To hear what another mod says on a channel.
    Bus(Arc<BusMessage>),
    /// To run its tool.
    Tool(Arc<ToolQuestion>),
    /// To be ready, or to answer, as a provider.
    Provider(Arc<ProviderQuestion>),
    /// To run its command, with what was typed behind its name.
    Command(Arc<String>),
    /// To draw this.
    Draw(Arc<Value>),
}

/// A call of a mod's own tool.
pub(crate) struct ToolQuestion {
    pub(crate) name: String,
    pub(crate) input: String,
    pub(crate) ctx: ToolContext,
}

/// The host's side of a frame.
pub(crate) struct ModFrame {
    core: Weak<Core>,
    cwd: Arc<str>,
    owner: Arc<ModIdentity>,
    question: Question,
    tool_input: OnceLock<String>,
    /// Made when somebody looks at it: most entries are over before.
    clock: OnceLock<Clock>,
}

impl ModFrame {
    pub(crate) fn new(core: &Arc<Core>, owner: &Arc<ModIdentity>, question: Question) -> Self {
        Self {
            core: Arc::downgrade(core),
            cwd: Arc::clone(&core.cwd_text),
            owner: Arc::clone(owner),
            question,
            tool_input: OnceLock::new(),
            clock: OnceLock::new(),
        }
    }

    /// Counts the time of the entry on `clock`.
    pub(crate) fn timed_by(mut self, clock: Clock) -> Self {
        self.clock = clock.into();
        self
    }

    /// Uses the frame for another question, the last one having been given back.
    #[inline]
    pub(crate) fn ask(&mut self, question: Question) {
        self.question = question;
    }

    /// Gives the question back, if it was a hook's, and asks nothing any more.
    #[inline]
    pub(crate) fn give_back(&mut self) -> Option<Arc<HookInput>> {
        self.tool_input.take();
        // Work that this question left behind stops its own clock alone.
        self.clock.take();
        match std::mem::replace(&mut self.question, Question::None) {
            Question::Hook(input) => Some(input),
            _ => None,
        }
    }

    /// Ends when the entry has used up `limit` of the mod's own time.
    pub(crate) fn over(&self, limit: Option<Duration>) -> impl Future<Output = HookFault> + Send + use<> {
        self.clock().over(limit)
    }

    fn clock(&self) -> &Clock {
        self.clock.get_or_init(Clock::default)
    }

    fn call_input(&self) -> Option<&ToolCallInput> {
        match self.hook()?.subject {
            Subject::ToolCall(ref call) | Subject::ToolResult { ref call, .. } => Some(call),
            _ => None,
        }
    }

    fn hook(&self) -> Option<&HookInput> {
        match &self.question {
            Question::Hook(input) => Some(input),
            _ => None,
        }
    }

    fn subject(&self) -> Option<&Subject> {
        self.hook().map(|input| &input.subject)
    }

    fn event(&self) -> Option<&EventPayload> {
        match &self.question {
            Question::Event(event) => Some(&event.payload),
            _ => None,
        }
    }

    fn tool_text(&self, field: TextField) -> &str {
        match (&self.question, field) {
            (Question::Tool(call), TextField::ToolCallId) => &call.ctx.tool_call_id,
            (Question::Tool(call), TextField::ToolName) => &call.name,
            (Question::Tool(call), TextField::ToolInput) => &call.input,
            (Question::Event(event), TextField::ToolName) => event.payload.tool_name().unwrap_or_default(),
            _ => self.call_input().map_or("", |call| match field {
                TextField::ToolCallId => &call.id,
                TextField::ToolName => &call.name,
                _ => self.tool_input.get_or_init(|| call.input.to_string()),
            }),
        }
    }

    fn agent_id(&self) -> &str {
        match &self.question {
            Question::Hook(input) => input.scope.emitter.agent_id(),
            Question::Event(event) => &event.agent_id,
            Question::Bus(message) => &message.agent_id,
            Question::Tool(call) => &call.ctx.agent_id,
            Question::None
            | Question::Factory
            | Question::Provider(_)
            | Question::Command(_)
            | Question::Draw(_) => "",
        }
    }

    fn prompt(&self) -> &str {
        match (&self.question, self.subject()) {
            (Question::Command(args), _) => args,
            (_, Some(Subject::Prompt(prompt))) => prompt,
            _ => "",
        }
    }

    fn reason(&self) -> &'static str {
        if let Question::Provider(question) = &self.question {
            return question.what;
        }
        match self.subject() {
            Some(Subject::Stop { stop_reason, .. }) => stop_reason.as_str(),
            Some(Subject::Session(change)) => change.as_str(),
            _ => "",
        }
    }

    fn usage(&self) -> Usage {
        match self.subject() {
            Some(Subject::TurnEnd { usage, .. }) => *usage,
            Some(Subject::RunEnd(result)) => result.usage,
            _ => Usage::default(),
        }
    }

    fn messages(&self) -> &[Arc<Message>] {
        if let Question::Provider(question) = &self.question {
            return &question.messages;
        }
        match self.hook().map(|input| (&input.subject, &input.state)) {
            Some((Subject::Context(messages), _)) => messages,
            Some((_, state)) => &state.messages,
            None => &[],
        }
    }

    fn cancelled(&self) -> bool {
        match &self.question {
            Question::Hook(input) => input.scope.cancel.is_cancelled(),
            Question::Tool(call) => call.ctx.cancel.is_cancelled(),
            _ => false,
        }
    }

    /// The service's asker; fails when the harness is gone.
    fn asker(&self) -> Result<services::Asker, String> {
        let core = self.core.upgrade().filter(|core| !core.shutdown.is_cancelled());
        let core = core.ok_or(HARNESS_GONE)?;
        Ok(services::Asker { core, owner: Arc::clone(&self.owner), question: self.question.clone() })
    }
}

fn json(value: &impl Serialize) -> Option<String> {
    serde_json::to_string(value).ok()
}

impl FrameHost for ModFrame {
    fn text(&self, field: TextField) -> &str {
        match field {
            TextField::ModName => &self.owner.name,
            TextField::ModId => &self.owner.id,
            TextField::Cwd => &self.cwd,
            TextField::SessionId => self.hook().map_or("", |input| &input.state.session_id),
            TextField::AgentId => self.agent_id(),
            TextField::ToolCallId | TextField::ToolName | TextField::ToolInput => self.tool_text(field),
            TextField::Prompt => self.prompt(),
            TextField::LastAssistantText => match self.subject() {
                Some(Subject::Stop { last_assistant_text, .. }) => last_assistant_text,
                _ => "",
            },
            TextField::Reason => self.reason(),
            TextField::EventKind => match &self.question {
                Question::Bus(message) => &message.channel,
                _ => self.event().map_or("", |event| event.kind().as_str()),
            },
            TextField::EventText => match self.event() {
                Some(EventPayload::TextDelta { delta } | EventPayload::ThinkingDelta { delta }) => delta,
                _ => "",
            },
        }
    }

    fn number(&self, field: NumberField) -> u64 {
        match field {
            NumberField::TurnNumber => self.hook().map_or(0, |input| input.turn_number.into()),
            NumberField::MessageCount => self.messages().len() as u64,
            NumberField::IsError => {
                matches!(self.subject(), Some(Subject::ToolResult { is_error: true, .. })).into()
            }
            NumberField::HadToolCalls => {
                matches!(self.subject(), Some(Subject::TurnEnd { had_tool_calls: true, .. })).into()
            }
            NumberField::Cancelled => self.cancelled().into(),
            NumberField::InputTokens => self.usage().input_tokens,
            NumberField::OutputTokens => self.usage().output_tokens,
            NumberField::CacheReadTokens => self.usage().cache_read_tokens,
            NumberField::CacheWriteTokens => self.usage().cache_write_tokens,
            NumberField::TurnCount => match self.subject() {
                Some(Subject::RunEnd(result)) => result.turn_count.into(),
                _ => 0,
            },
        }
    }

    fn message(&self, index: usize) -> Option<&Message> {
        self.messages().get(index).map(|message| &**message)
    }

    fn json(&self, field: JsonField, index: usize) -> Option<String> {
        match (field, self.subject()) {
            (JsonField::Message, _) => json(self.message(index)?),
            (JsonField::ToolContent, Some(Subject::ToolResult { content, .. })) => json(&**content),
            (JsonField::ModState, _) => json(self.hook()?.state.mod_state.get(&*self.owner.id)?),
            (JsonField::RunResult, Some(Subject::RunEnd(result))) => json(&**result),
            (JsonField::Data, _) => match &self.question {
                Question::Bus(message) => Some(message.data.to_string()),
                Question::Draw(data) => Some(data.to_string()),
                Question::Provider(question) => Some(question.json.clone()),
                _ => None,
            },
            (JsonField::Event, _) => match &self.question {
                Question::Event(event) => json(&**event),
                _ => None,
            },
            _ => None,
        }
    }

    fn call_now(&self, service: &str, args: &str) -> Result<String, String> {
        services::now(&self.asker()?, service, args)
    }

    fn call(&self, service: &str, args: &str) -> FfiFuture<RResult<RString, RString>> {
        let answer =
            self.asker().and_then(|asker| services::later(asker, self.clock().wait(), service, args));
        async move {
            let answer = match answer {
                Ok(answer) => answer.await,
                Err(refused) => Err(refused),
            };
            answer.map(RString::from).map_err(RString::from).into()
        }
        .into_ffi()
    }

    fn add(&self, kind: &str, spec: &str, callable: Callable) -> Result<u64, String> {
        services::add(&self.asker()?, kind, spec, callable)
    }

    fn add_hooks(&self, spec: &str, hooks: HookObject) -> Result<u64, String> {
        services::add_hooks(&self.asker()?, spec, hooks)
    }
}

#[cfg(test)]
#[path = "frame_tests.rs"]
mod tests;

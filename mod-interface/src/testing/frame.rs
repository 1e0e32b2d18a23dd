//! What the mod is asked, and the way back to the recording host.

use std::sync::{Arc, Weak};

use abi_stable::std_types::{RResult, RString};
use async_ffi::FfiFuture;
use serde::Serialize;
use serde_json::Value;

use super::{
    core::{Core, Place},
    services,
};
use crate::{
    abi::{Callable, FrameHost, HookObject, JsonField, NumberField, TextField},
    types::{
        AgentEvent, AgentState, ContentBlock, EventPayload, Hook, MAIN_AGENT, Message, RunResult,
        SessionChange, StopReason, Usage,
    },
};

/// What the mod is asked in one entry.
pub(super) enum Question {
    /// To register.
    Factory,
    /// A hook.
    Hook { hook: Hook, state: AgentState, turn_number: u32, subject: Subject },
    /// To observe an event.
    Event(Box<AgentEvent>),
    /// To hear what is said on a channel.
    Bus { channel: String, data: Value },
    /// To draw.
    Draw(Value),
    /// To run its tool.
    Tool(Call),
    /// To run its command, with what was typed behind its name.
    Command(String),
}

/// What a hook is about, beside the state.
#[derive(Clone)]
pub(super) enum Subject {
    None,
    Context(Arc<Vec<Arc<Message>>>),
    Call(Call),
    Result { call: Call, content: Vec<ContentBlock>, is_error: bool },
    TurnEnd { had_tool_calls: bool, usage: Usage },
    RunEnd(RunResult),
    Stop { reason: StopReason, text: String },
    Prompt(String),
    Session(SessionChange),
}

/// A tool call.
#[derive(Clone)]
pub(super) struct Call {
    pub(super) id: String,
    pub(super) name: String,
    /// As JSON text.
    pub(super) input: String,
}

/// The recording host's side of a frame.
pub(super) struct TestFrame {
    core: Weak<Core>,
    place: Place,
    question: Question,
}

impl TestFrame {
    pub(super) fn new(core: Weak<Core>, place: Place, question: Question) -> Self {
        Self { core, place, question }
    }

    fn core(&self) -> Result<Arc<Core>, String> {
        self.core.upgrade().ok_or_else(|| "the harness is gone".to_owned())
    }

    fn state(&self) -> Option<&AgentState> {
        match &self.question {
            Question::Hook { state, .. } => Some(state),
            _ => None,
        }
    }

    fn subject(&self) -> Option<&Subject> {
        match &self.question {
            Question::Hook { subject, .. } => Some(subject),
            _ => None,
        }
    }

    fn event(&self) -> Option<&EventPayload> {
        match &self.question {
            Question::Event(event) => Some(&event.payload),
            _ => None,
        }
    }

    /// The tool call that it is about.
    pub(super) fn call(&self) -> Option<&Call> {
        match (&self.question, self.subject()) {
            (Question::Tool(call), _) | (_, Some(Subject::Call(call) | Subject::Result { call, .. })) => {
                Some(call)
            }
            _ => None,
        }
    }

    /// Where the mod is, as a `mod_error` names it.
    pub(super) fn place(&self) -> String {
        match &self.question {
            Question::Hook { hook, .. } => hook.wire_name().to_owned(),
            Question::Event(event) => format!("on:{}", event.payload.kind().as_str()),
            Question::Bus { channel, .. } => format!("bus:{channel}"),
            Question::Tool(call) => format!("tool:{}", call.name),
            Question::Factory | Question::Command(_) | Question::Draw(_) => "emit".to_owned(),
        }
    }

    fn tool_name(&self) -> &str {
        match (self.call(), self.event()) {
            (Some(call), _) => &call.name,
            (None, Some(event)) => event.tool_name().unwrap_or_default(),
            _ => "",
        }
    }

    fn reason(&self) -> &'static str {
        match self.subject() {
            Some(Subject::Stop { reason, .. }) => reason.as_str(),
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
        match (self.subject(), self.state()) {
            (Some(Subject::Context(messages)), _) => messages,
            (_, Some(state)) => &state.messages,
            _ => &[],
        }
    }
}

fn json(value: &impl Serialize) -> Option<String> {
    serde_json::to_string(value).ok()
}

impl FrameHost for TestFrame {
    fn text(&self, field: TextField) -> &str {
        match field {
            TextField::ModName => &self.place.name,
            TextField::ModId => &self.place.id,
            TextField::Cwd => &self.place.cwd,
            TextField::SessionId => self.state().map_or("", |state| &state.session_id),
            TextField::AgentId => match self.question {
                Question::Factory | Question::Command(_) => "",
                _ => MAIN_AGENT,
            },
            TextField::ToolCallId => self.call().map_or("", |call| &call.id),
            TextField::ToolName => self.tool_name(),
            TextField::ToolInput => self.call().map_or("", |call| &call.input),
            TextField::Prompt => match (&self.question, self.subject()) {
                (Question::Command(text), _) | (_, Some(Subject::Prompt(text))) => text,
                _ => "",
            },
            TextField::LastAssistantText => match self.subject() {
                Some(Subject::Stop { text, .. }) => text,
                _ => "",
            },
            TextField::Reason => self.reason(),
            TextField::EventKind => match &self.question {
                Question::Bus { channel, .. } => channel,
                _ => self.event().map_or("", |event| event.kind().as_str()),
            },
            TextField::EventText => match self.event() {
                Some(EventPayload::TextDelta { delta } | EventPayload::ThinkingDelta { delta }) => delta,
                _ => "",
            },
        }
    }

    fn number(&self, field: NumberField) -> u64 {
        match (field, self.subject()) {
            (NumberField::TurnNumber, _) => match self.question {
                Question::Hook { turn_number, .. } => turn_number.into(),
                _ => 0,
            },
            (NumberField::MessageCount, _) => self.messages().len() as u64,
            (NumberField::IsError, Some(Subject::Result { is_error, .. })) => (*is_error).into(),
            (NumberField::HadToolCalls, Some(Subject::TurnEnd { had_tool_calls, .. })) => {
                (*had_tool_calls).into()
            }
            (NumberField::Cancelled, _) => {
                self.core.upgrade().is_some_and(|core| core.interruption.happened()).into()
            }
            (NumberField::InputTokens, _) => self.usage().input_tokens,
            (NumberField::OutputTokens, _) => self.usage().output_tokens,
            (NumberField::CacheReadTokens, _) => self.usage().cache_read_tokens,
            (NumberField::CacheWriteTokens, _) => self.usage().cache_write_tokens,
            (NumberField::TurnCount, Some(Subject::RunEnd(result))) => result.turn_count.into(),
            _ => 0,
        }
    }

    fn message(&self, index: usize) -> Option<&Message> {
        self.messages().get(index).map(|message| &**message)
    }

    fn json(&self, field: JsonField, index: usize) -> Option<String> {
        match (field, &self.question, self.subject()) {
            (JsonField::Message, ..) => json(self.message(index)?),
            (JsonField::ToolContent, _, Some(Subject::Result { content, .. })) => json(content),
            (JsonField::ModState, ..) => json(self.state()?.mod_state.get(&*self.place.id)?),
            (JsonField::RunResult, _, Some(Subject::RunEnd(result))) => json(result),
            (JsonField::Event, Question::Event(event), _) => json(&**event),
            (JsonField::Data, Question::Bus { data, .. } | Question::Draw(data), _) => json(data),
            _ => None,
        }
    }

    fn call_now(&self, service: &str, args: &str) -> Result<String, String> {
        services::now(&*self.core()?, self, service, args)
    }

    fn call(&self, service: &str, args: &str) -> FfiFuture<RResult<RString, RString>> {
        let answer = self.core().and_then(|core| services::later(&core, service, args));
        if let (Ok(core), "interrupted") = (self.core(), service) {
            let interruption = Arc::clone(&core.interruption);
            return FfiFuture::new(async move {
                interruption.wait().await;
                RResult::ROk("null".into())
            });
        }
        FfiFuture::new(std::future::ready(answer.map(RString::from).map_err(RString::from).into()))
    }

    fn add(&self, kind: &str, spec: &str, callable: Callable) -> Result<u64, String> {
        services::add(&*self.core()?, kind, spec, callable)
    }

    fn add_hooks(&self, spec: &str, hooks: HookObject) -> Result<u64, String> {
        Ok(self.core()?.registrations.add_hooks(services::parse("hooks", spec)?, hooks))
    }
}

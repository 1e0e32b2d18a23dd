//! From what authors return to [`Answer`], and back on the host's side.

use abi_stable::std_types::RString;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{Answer, Flags};
use crate::types::{
    AfterToolCall, BeforeToolCall, CommandOutcome, Hook, HookOutcome, MessageEdit, ModelOutcome, NextTurn,
    StatePatch, StopDecision, ToolOutput, TransformInput,
};

/// The most bytes of one text of an answer that the host reads.
pub const MAX_TEXT: usize = 16 << 20;

/// What authors may return, made into an [`Answer`].
pub trait Encode {
    /// Makes the answer.
    fn encode(self) -> Answer;
}

impl Answer {
    fn some(flags: u64) -> Self {
        Self { flags: Flags::SOME | flags, ..Self::default() }
    }

    fn with_text(self, text: Option<String>) -> Self {
        match text {
            Some(text) => self.announce(Flags::TEXT, |texts| texts.text = text.into()),
            None => self,
        }
    }

    fn with_json(self, value: Option<&impl Serialize>) -> Self {
        match value {
            Some(value) => self.announce(Flags::JSON, |texts| texts.json = to_json(value)),
            None => self,
        }
    }

    fn with_state(self, value: Option<&Value>) -> Self {
        match value {
            Some(value) => self.announce(Flags::STATE, |texts| texts.state = to_json(value)),
            None => self,
        }
    }

    fn has(&self, flag: u64) -> bool {
        self.flags & flag != 0
    }

    fn text(&self) -> Result<Option<String>, String> {
        if !self.has(Flags::TEXT) {
            return Ok(None);
        }
        let text = self.find(|texts| &texts.text);
        bounded(text)?;
        Ok(Some(text.to_owned()))
    }

    fn json<T: DeserializeOwned>(&self) -> Result<Option<T>, String> {
        if self.has(Flags::JSON) { parse(self.find(|texts| &texts.json)) } else { Ok(None) }
    }

    fn state(&self) -> Result<Option<Value>, String> {
        if self.has(Flags::STATE) { parse(self.find(|texts| &texts.state)) } else { Ok(None) }
    }
}

/// All values here are made of this crate's types, which always have a JSON form.
fn to_json(value: &impl Serialize) -> RString {
    serde_json::to_string(value).unwrap_or_default().into()
}

fn parse<T: DeserializeOwned>(text: &str) -> Result<Option<T>, String> {
    bounded(text)?;
    serde_json::from_str(text).map(Some).map_err(|error| error.to_string())
}

fn bounded(text: &str) -> Result<(), String> {
    let length = text.len();
    (length <= MAX_TEXT).then_some(()).ok_or_else(|| format!("at most {MAX_TEXT} bytes, got {length}"))
}

impl<T: Encode> Encode for Option<T> {
    fn encode(self) -> Answer {
        self.map(T::encode).unwrap_or_default()
    }
}

impl Encode for () {
    fn encode(self) -> Answer {
        Answer::default()
    }
}

impl Encode for bool {
    fn encode(self) -> Answer {
        if self { Answer::some(0) } else { Answer::default() }
    }
}

impl Encode for String {
    fn encode(self) -> Answer {
        Answer::some(0).with_text(Some(self))
    }
}

impl Encode for Vec<String> {
    fn encode(self) -> Answer {
        Answer::some(0).with_json(Some(&self))
    }
}

impl Encode for Vec<MessageEdit> {
    fn encode(self) -> Answer {
        if self.is_empty() { Answer::default() } else { Answer::some(0).with_json(Some(&self)) }
    }
}

impl Encode for BeforeToolCall {
    fn encode(self) -> Answer {
        let flags = bit(self.block, Flags::BLOCK) | bit(self.terminate, Flags::TERMINATE);
        Answer::some(flags).with_text(self.additional_context).with_json(self.input.as_ref())
    }
}

impl Encode for AfterToolCall {
    fn encode(self) -> Answer {
        let is_error =
            self.is_error.map_or(0, |is_error| Flags::IS_ERROR_SET | bit(is_error, Flags::IS_ERROR));
        Answer::some(bit(self.terminate, Flags::TERMINATE) | is_error)
            .with_text(self.additional_context)
            .with_json(self.content.as_ref())
            .with_state(self.mod_state.as_ref())
    }
}

impl Encode for StatePatch {
    fn encode(self) -> Answer {
        if self == Self::default() {
            return Answer::default();
        }
        let messages = (!self.messages.is_empty()).then_some(&self.messages);
        Answer::some(0).with_json(messages).with_state(self.mod_state.as_ref())
    }
}

impl Encode for NextTurn {
    fn encode(self) -> Answer {
        Answer::some(0).with_json(Some(&self))
    }
}

impl Encode for StopDecision {
    fn encode(self) -> Answer {
        match self {
            Self::Stop => Answer::default(),
            Self::Continue { reason } => Answer::some(Flags::GO_ON).with_text(reason),
        }
    }
}

impl Encode for TransformInput {
    fn encode(self) -> Answer {
        match self {
            Self::Continue => Answer::default(),
            Self::Transform { text } => Answer::some(0).with_text(Some(text)),
            Self::Handled { message } => Answer::some(Flags::HANDLED).with_text(message),
        }
    }
}

impl Encode for ToolOutput {
    fn encode(self) -> Answer {
        Answer::some(bit(self.is_error, Flags::IS_ERROR)).with_json(Some(&self.content))
    }
}

impl Encode for ModelOutcome {
    fn encode(self) -> Answer {
        Answer::some(0).with_json(Some(&self))
    }
}

impl Encode for CommandOutcome {
    fn encode(self) -> Answer {
        match self {
            Self::Done => Answer::default(),
            Self::Message(text) => Answer::some(0).with_text(Some(text)),
            Self::Prompt(text) => Answer::some(Flags::GO_ON).with_text(Some(text)),
        }
    }
}

const fn bit(set: bool, flag: u64) -> u64 {
    if set { flag } else { 0 }
}

/// Reads the answer of `hook`.
///
/// # Errors
/// What is wrong with it: too long, too deep, not the JSON that the hook's answer has.
pub fn decode_outcome(hook: Hook, answer: &Answer) -> Result<Option<HookOutcome>, String> {
    if !answer.has(Flags::SOME) {
        return Ok(None);
    }
    let outcome = match hook {
        Hook::TransformContext => answer.json()?.map(HookOutcome::TransformContext),
        Hook::AppendSystemPrompt => answer.text()?.map(HookOutcome::AppendSystemPrompt),
        Hook::BeforeToolCall => Some(HookOutcome::BeforeToolCall(BeforeToolCall {
            block: answer.has(Flags::BLOCK),
            additional_context: answer.text()?,
            input: answer.json()?,
            terminate: answer.has(Flags::TERMINATE),
        })),
        Hook::AfterToolCall => Some(HookOutcome::AfterToolCall(AfterToolCall {
            content: answer.json()?,
            is_error: answer.has(Flags::IS_ERROR_SET).then(|| answer.has(Flags::IS_ERROR)),
            additional_context: answer.text()?,
            terminate: answer.has(Flags::TERMINATE),
            mod_state: answer.state()?,
        })),
        Hook::OnTurnStart | Hook::OnTurnEnd => Some(HookOutcome::State(StatePatch {
            messages: answer.json()?.unwrap_or_default(),
            mod_state: answer.state()?,
        })),
        Hook::ShouldStopAfterTurn => Some(HookOutcome::ShouldStop),
        Hook::PrepareNextTurn => answer.json()?.map(HookOutcome::NextTurn),
        Hook::OnStop if answer.has(Flags::GO_ON) => {
            Some(HookOutcome::Stop(StopDecision::Continue { reason: answer.text()? }))
        }
        Hook::TransformInput if answer.has(Flags::HANDLED) => {
            Some(HookOutcome::Input(TransformInput::Handled { message: answer.text()? }))
        }
        Hook::TransformInput => {
            answer.text()?.map(|text| HookOutcome::Input(TransformInput::Transform { text }))
        }
        Hook::OnStop | Hook::OnRunEnd | Hook::OnSessionStart | Hook::OnSessionEnd => None,
    };
    Ok(outcome)
}

/// Reads the answer of a tool.
///
/// # Errors
/// As for [`decode_outcome`].
pub fn decode_tool(answer: &Answer) -> Result<ToolOutput, String> {
    Ok(ToolOutput { content: answer.json()?.unwrap_or_default(), is_error: answer.has(Flags::IS_ERROR) })
}

/// Reads the answer of a provider; `None` where it says nothing of how it ended.
///
/// # Errors
/// As for [`decode_outcome`].
pub fn decode_model(answer: &Answer) -> Result<Option<ModelOutcome>, String> {
    answer.json()
}

/// Reads the answer of a command.
///
/// # Errors
/// As for [`decode_outcome`].
pub fn decode_command(answer: &Answer) -> Result<CommandOutcome, String> {
    Ok(match answer.text()? {
        None => CommandOutcome::Done,
        Some(text) if answer.has(Flags::GO_ON) => CommandOutcome::Prompt(text),
        Some(text) => CommandOutcome::Message(text),
    })
}

/// Reads the answer of a renderer.
///
/// # Errors
/// As for [`decode_outcome`].
pub fn decode_lines(answer: &Answer) -> Result<Vec<String>, String> {
    Ok(answer.json()?.unwrap_or_default())
}

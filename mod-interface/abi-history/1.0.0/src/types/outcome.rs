//! What a hook answers. `None` (or the type's default) always means "no opinion".

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ContentBlock, Message, SessionEndReason, SessionStartSource};

/// The answer of `before_tool_call`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BeforeToolCall {
    /// The tool does not run; `additional_context` is the reason that the model sees.
    pub block: bool,
    /// Without `block`: text appended to the result. With it: the reason.
    pub additional_context: Option<String>,
    /// The whole input that the tool runs with instead; no field is merged in.
    pub input: Option<Value>,
    /// Ends the run after this batch.
    pub terminate: bool,
}

impl BeforeToolCall {
    /// Blocks the call, for `reason`.
    pub fn block(reason: impl Into<String>) -> Self {
        Self { block: true, additional_context: Some(reason.into()), ..Self::default() }
    }

    /// Runs the tool with `input` in place of the input so far.
    pub fn rewrite(input: Value) -> Self {
        Self { input: Some(input), ..Self::default() }
    }

    /// Appends `text` to the result.
    pub fn context(text: impl Into<String>) -> Self {
        Self { additional_context: Some(text.into()), ..Self::default() }
    }

    /// Also ends the run after this batch.
    #[must_use]
    pub fn and_terminate(mut self) -> Self {
        self.terminate = true;
        self
    }
}

/// The answer of `after_tool_call`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AfterToolCall {
    /// The result that the model sees instead.
    pub content: Option<Vec<ContentBlock>>,
    /// Selects `tool_errored` or `tool_completed`.
    pub is_error: Option<bool>,
    /// A text block appended after the content.
    pub additional_context: Option<String>,
    /// Ends the run after this batch.
    pub terminate: bool,
    /// Replaces the calling mod's slot of `mod_state`.
    pub mod_state: Option<Value>,
}

impl AfterToolCall {
    /// Replaces the result by one text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: Some(vec![ContentBlock::text(text)]), ..Self::default() }
    }

    /// Appends `text` after the result.
    pub fn context(text: impl Into<String>) -> Self {
        Self { additional_context: Some(text.into()), ..Self::default() }
    }
}

/// One change to a list of messages. Indices are those of the list as it stands when the edit is
/// applied: edits apply one after another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum MessageEdit {
    /// Puts a message at the end.
    Append {
        /// The message.
        message: Message,
    },
    /// Puts a message before the one at `index`.
    Insert {
        /// Where.
        index: usize,
        /// The message.
        message: Message,
    },
    /// Puts a message in the place of the one at `index`.
    Replace {
        /// Where.
        index: usize,
        /// The message.
        message: Message,
    },
    /// Takes out the messages from `start` up to, not including, `end`.
    Remove {
        /// The first.
        start: usize,
        /// One past the last.
        end: usize,
    },
}

impl MessageEdit {
    /// Puts `message` at the end.
    pub fn append(message: Message) -> Self {
        Self::Append { message }
    }
}

/// What `on_turn_start` and `on_turn_end` change of the state. The default changes nothing.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StatePatch {
    /// Changes to the conversation, applied one after another.
    pub messages: Vec<MessageEdit>,
    /// Replaces the calling mod's slot of `mod_state`.
    pub mod_state: Option<Value>,
}

impl StatePatch {
    /// Replaces the calling mod's slot.
    pub fn mod_state(value: Value) -> Self {
        Self { mod_state: Some(value), ..Self::default() }
    }

    /// Appends a message.
    #[must_use]
    pub fn append(mut self, message: Message) -> Self {
        self.messages.push(MessageEdit::append(message));
        self
    }
}

/// How hard the model thinks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effort {
    /// As little as it can.
    Minimal,
    /// A little.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
    /// As much as it can.
    Max,
}

/// Sets the effort, or gives it back to the model's own default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffortChange {
    /// This effort.
    Set(Effort),
    /// The default of the model in force.
    Reset,
}

/// What `prepare_next_turn` changes, from the next model call on.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct NextTurn {
    /// The model, `provider/id`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The effort; `None` leaves it as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<EffortChange>,
}

impl NextTurn {
    /// Takes `model`, written `provider/id`. The effort stays as it is.
    pub fn model(model: impl Into<String>) -> Self {
        Self { model: Some(model.into()), effort: None }
    }

    /// Takes `effort`. The model stays as it is.
    pub fn effort(effort: Effort) -> Self {
        Self { model: None, effort: Some(EffortChange::Set(effort)) }
    }
}

/// The answer of `on_stop`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopDecision {
    /// The run may end.
    Stop,
    /// The run goes on; the reason is told to the model.
    Continue {
        /// Why, or the loop's own neutral text.
        reason: Option<String>,
    },
}

impl StopDecision {
    /// The run goes on, and the model is told `reason`.
    pub fn go_on(reason: impl Into<String>) -> Self {
        Self::Continue { reason: Some(reason.into()) }
    }
}

/// The answer of `transform_input`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TransformInput {
    /// The prompt goes on as it is.
    Continue,
    /// The prompt goes on as `text`; the next mod sees that.
    Transform {
        /// The new prompt.
        text: String,
    },
    /// The prompt is consumed.
    Handled {
        /// A row shown in its place.
        message: Option<String>,
    },
}

impl TransformInput {
    /// The prompt goes on as `text`.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Transform { text: text.into() }
    }

    /// The prompt is consumed, and `message` shown in its place.
    pub fn handled(message: impl Into<String>) -> Self {
        Self::Handled { message: Some(message.into()) }
    }
}

/// The answer of a command's handler.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandOutcome {
    /// Submits an automated turn.
    Prompt(String),
    /// Shows an info row.
    Message(String),
    /// Nothing: the command was its side effect.
    Done,
}

impl CommandOutcome {
    /// Submits `text` as an automated turn.
    pub fn prompt(text: impl Into<String>) -> Self {
        Self::Prompt(text.into())
    }

    /// Shows `text` as an info row.
    pub fn message(text: impl Into<String>) -> Self {
        Self::Message(text.into())
    }
}

/// The answer of any hook, decoded.
#[derive(Debug, Clone, PartialEq)]
pub enum HookOutcome {
    /// `transform_context`.
    TransformContext(Vec<MessageEdit>),
    /// `append_system_prompt`.
    AppendSystemPrompt(String),
    /// `before_tool_call`.
    BeforeToolCall(BeforeToolCall),
    /// `after_tool_call`.
    AfterToolCall(AfterToolCall),
    /// `on_turn_start` and `on_turn_end`.
    State(StatePatch),
    /// `should_stop_after_turn` says yes.
    ShouldStop,
    /// `prepare_next_turn`.
    NextTurn(NextTurn),
    /// `on_stop`.
    Stop(StopDecision),
    /// `transform_input`.
    Input(TransformInput),
}

/// What `on_session_start` and `on_session_end` are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionChange {
    /// The session was bound.
    Start(SessionStartSource),
    /// The session is torn down.
    End(SessionEndReason),
}

impl SessionChange {
    /// What began it, or why it ends: its name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Start(SessionStartSource::Startup) => "startup",
            Self::Start(SessionStartSource::Resume) => "resume",
            Self::End(SessionEndReason::Shutdown) => "shutdown",
            Self::End(SessionEndReason::Replaced) => "replaced",
        }
    }
}

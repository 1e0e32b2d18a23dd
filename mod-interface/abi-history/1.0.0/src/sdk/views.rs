//! What can be read of the things that hooks are asked about.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Error, ModelRequest, Result};
use crate::{
    abi::{
        CommandCall, Context, Ctx, Frame, Invocation, JsonField, NumberField, Prompt, RawBlock, RunEnd,
        SessionEvent, State, Stop, TextField, ToolCall, ToolResult, Turn, TurnEnd,
    },
    types::{ContentBlock, Message, Role, RunResult, StopReason, ToolOutput, Usage},
};

/// A message that is looked at, not copied.
#[derive(Clone, Copy)]
pub struct MessageView<'a> {
    frame: &'a Frame,
    index: usize,
    role: Role,
    blocks: usize,
}

/// A block that is looked at, not copied.
#[derive(Clone, Copy)]
pub struct BlockView<'a>(RawBlock<'a>);

impl<'a> MessageView<'a> {
    fn at(frame: &'a Frame, index: usize) -> Option<Self> {
        let raw = frame.message(index);
        let role = match raw.role {
            1 => Role::User,
            2 => Role::Assistant,
            _ => return None,
        };
        Some(Self { frame, index, role, blocks: raw.blocks })
    }

    /// Where it stands, from 0.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Who says it.
    pub fn role(&self) -> Role {
        self.role
    }

    /// Its blocks.
    pub fn blocks(&self) -> impl Iterator<Item = BlockView<'a>> + use<'a> {
        let (frame, index) = (self.frame, self.index);
        (0..self.blocks).map(move |block| BlockView(frame.block(index, block)))
    }

    /// The texts of its text blocks, joined.
    pub fn text(&self) -> String {
        self.blocks().filter(|block| block.kind() == "text").map(|block| block.text()).collect()
    }

    /// A copy of the message.
    ///
    /// # Errors
    /// A message of a kind that this version of the interface does not know.
    pub fn to_owned(&self) -> Result<Message> {
        from_json(self.frame, JsonField::Message, self.index)
    }
}

impl<'a> BlockView<'a> {
    /// The kind: `text`, `thinking`, `tool_use`, `tool_result`, `image`.
    pub fn kind(&self) -> &'a str {
        self.0.kind.as_str()
    }

    /// The text, the reasoning, or the first text of a tool's result.
    pub fn text(&self) -> &'a str {
        self.0.text.as_str()
    }

    /// The id of the tool call.
    pub fn tool_call_id(&self) -> &'a str {
        self.0.id.as_str()
    }

    /// The name of the tool that is called.
    pub fn tool_name(&self) -> &'a str {
        self.0.name.as_str()
    }

    /// Whether a tool's result is a failure.
    pub fn is_error(&self) -> bool {
        self.0.is_error
    }
}

fn messages(frame: &Frame) -> impl DoubleEndedIterator<Item = MessageView<'_>> {
    (0..message_count(frame)).filter_map(move |index| MessageView::at(frame, index))
}

#[inline]
fn message_count(frame: &Frame) -> usize {
    usize::try_from(frame.number(NumberField::MessageCount)).unwrap_or(usize::MAX)
}

pub(super) fn from_json<T: DeserializeOwned>(frame: &Frame, field: JsonField, index: usize) -> Result<T> {
    let json =
        frame.json(field, index).ok_or_else(|| Error::msg(format!("the host has no {field:?} here")))?;
    Ok(serde_json::from_str(&json)?)
}

#[inline]
fn turn_number(frame: &Frame) -> u32 {
    u32::try_from(frame.number(NumberField::TurnNumber)).unwrap_or(u32::MAX)
}

/// A field of a JSON object that is a string.
fn str_field(json: &str, name: &str) -> Option<String> {
    let Ok(Value::Object(mut fields)) = serde_json::from_str(json) else { return None };
    match fields.remove(name) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    }
}

macro_rules! with_messages {
    ($($name:ident)*) => {$(
        impl $name {
            /// The messages, oldest first.
            pub fn messages(&self) -> impl DoubleEndedIterator<Item = MessageView<'_>> {
                messages(self.frame())
            }

            /// The message at `index`.
            pub fn message(&self, index: usize) -> Option<MessageView<'_>> {
                MessageView::at(self.frame(), index)
            }

            /// The last message.
            pub fn last_message(&self) -> Option<MessageView<'_>> {
                self.message(self.message_count().checked_sub(1)?)
            }

            /// How many messages there are.
            #[inline]
            pub fn message_count(&self) -> usize {
                message_count(self.frame())
            }
        }
    )*};
}

with_messages! { State Context ModelRequest }

macro_rules! with_state {
    ($($name:ident)*) => {$(
        impl $name {
            /// The state.
            #[inline]
            pub fn state(&self) -> &State {
                State::of(self.frame())
            }
        }
    )*};
}

with_state! { Context ToolCall ToolResult Turn TurnEnd RunEnd Stop Prompt SessionEvent }

macro_rules! with_turn_number {
    ($($name:ident)*) => {$(
        impl $name {
            /// The round, counted from 1.
            #[inline]
            pub fn turn_number(&self) -> u32 {
                turn_number(self.frame())
            }
        }
    )*};
}

with_turn_number! { Context ToolCall ToolResult Turn TurnEnd Stop }

macro_rules! with_input {
    ($($name:ident)*) => {$(
        impl $name {
            /// The call's id.
            #[inline]
            pub fn tool_call_id(&self) -> &str {
                self.frame().text(TextField::ToolCallId)
            }

            /// The tool's name.
            #[inline]
            pub fn tool_name(&self) -> &str {
                self.frame().text(TextField::ToolName)
            }

            /// The input, as JSON text.
            #[inline]
            pub fn input_json(&self) -> &str {
                self.frame().text(TextField::ToolInput)
            }

            /// The input, typed.
            ///
            /// # Errors
            /// The input is not a `T`.
            pub fn input<T: DeserializeOwned>(&self) -> Result<T> {
                Ok(serde_json::from_str(self.input_json())?)
            }

            /// One field of the input, if it is there and a string.
            pub fn input_str(&self, field: &str) -> Option<String> {
                str_field(self.input_json(), field)
            }
        }
    )*};
}

with_input! { ToolCall ToolResult Invocation }

macro_rules! with_ctx {
    ($($name:ident)*) => {$(
        impl $name {
            /// The run that asks, and the host's services.
            #[inline]
            pub fn ctx(&self) -> &Ctx {
                Ctx::of(self.frame())
            }
        }
    )*};
}

with_ctx! { Invocation CommandCall ModelRequest }

impl State {
    /// The session's id.
    #[inline]
    pub fn session_id(&self) -> &str {
        self.frame().text(TextField::SessionId)
    }

    /// The calling mod's own slot; `None` when it is unset.
    ///
    /// # Errors
    /// The slot is not a `T`.
    pub fn mod_state<T: DeserializeOwned>(&self) -> Result<Option<T>> {
        match self.frame().json(JsonField::ModState, 0) {
            Some(json) => Ok(Some(serde_json::from_str(&json)?)),
            None => Ok(None),
        }
    }
}

impl ToolResult {
    /// The content so far.
    ///
    /// # Errors
    /// A block of a kind that this version of the interface does not know.
    pub fn content(&self) -> Result<Vec<ContentBlock>> {
        from_json(self.frame(), JsonField::ToolContent, 0)
    }

    /// The texts of the content so far, joined; empty where there is none.
    pub fn text(&self) -> String {
        let content = self.content().unwrap_or_default();
        content.iter().filter_map(ContentBlock::as_text).collect()
    }

    /// Whether the call counts as failed so far.
    #[inline]
    pub fn is_error(&self) -> bool {
        self.frame().number(NumberField::IsError) != 0
    }
}

impl TurnEnd {
    /// Whether the model called tools.
    #[inline]
    pub fn had_tool_calls(&self) -> bool {
        self.frame().number(NumberField::HadToolCalls) != 0
    }

    /// The tokens of this turn.
    pub fn usage(&self) -> Usage {
        Usage {
            input_tokens: self.frame().number(NumberField::InputTokens),
            output_tokens: self.frame().number(NumberField::OutputTokens),
            cache_read_tokens: self.frame().number(NumberField::CacheReadTokens),
            cache_write_tokens: self.frame().number(NumberField::CacheWriteTokens),
        }
    }
}

impl RunEnd {
    /// What came of the run.
    ///
    /// # Errors
    /// A stop reason that this version of the interface does not know.
    pub fn result(&self) -> Result<RunResult> {
        from_json(self.frame(), JsonField::RunResult, 0)
    }
}

impl Stop {
    /// How the run would end.
    pub fn stop_reason(&self) -> Option<StopReason> {
        serde_json::from_value(Value::from(self.frame().text(TextField::Reason))).ok()
    }

    /// The text of the last assistant message.
    pub fn last_assistant_text(&self) -> &str {
        self.frame().text(TextField::LastAssistantText)
    }
}

impl Prompt {
    /// The prompt, as the mods before left it.
    pub fn text(&self) -> &str {
        self.frame().text(TextField::Prompt)
    }
}

impl SessionEvent {
    /// `startup` or `resume`; `shutdown` or `replaced`.
    pub fn reason(&self) -> &str {
        self.frame().text(TextField::Reason)
    }
}

impl CommandCall {
    /// What was typed behind the command's name.
    pub fn args(&self) -> &str {
        self.frame().text(TextField::Prompt)
    }
}

impl From<&str> for ToolOutput {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for ToolOutput {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

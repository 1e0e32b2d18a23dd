use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Who a message is from, as the model sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The user, and everything that is said on the user's side: tool results, steering.
    User,
    /// The model.
    Assistant,
}

impl Role {
    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

/// Where a user message came from. Never sent to the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, Default)]
#[serde(rename_all = "snake_case")]
pub enum MessageSource {
    /// Typed by a person, or given with `-p`.
    #[default]
    User,
    /// Queued while the run was going on.
    Steering,
    /// Queued to follow when the run would stop.
    FollowUp,
    /// Added by the loop because an `on_stop` hook wanted to go on.
    StopHook,
    /// Added by the loop to recover a paused, empty or cut-off answer.
    Recovery,
    /// The results of a batch of tool calls.
    ToolResults,
    /// Put there by a mod.
    Mod,
    /// A source that this version does not know.
    #[serde(other)]
    Other,
}

/// When a message that a mod queues is delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeliverAs {
    /// Behind the tool calls that run now, or when the next run begins.
    Steer,
    /// When the run would stop.
    FollowUp,
}

/// One message of the conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Who says it.
    pub role: Role,
    /// What is said.
    pub content: Vec<ContentBlock>,
    /// Where it came from; stripped before it is sent.
    #[serde(default, skip_serializing_if = "is_default")]
    pub source: MessageSource,
}

fn is_default(source: &MessageSource) -> bool {
    *source == MessageSource::User
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ContentBlock {
    /// Plain text.
    Text {
        /// The text.
        text: String,
    },
    /// The model's reasoning.
    Thinking {
        /// The reasoning text; empty when the provider redacts it.
        thinking: String,
        /// The provider's proof that the text is its own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
    },
    /// A tool call by the model.
    ToolUse {
        /// The call's id, unique in the conversation.
        id: String,
        /// The tool's name.
        name: String,
        /// The input: what the model sent, mended where it had to be.
        input: Value,
    },
    /// The answer to a tool call.
    ToolResult {
        /// The id of the call that this answers.
        tool_use_id: String,
        /// What the tool says.
        content: Vec<ContentBlock>,
        /// Whether the call failed.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
    /// A picture.
    Image {
        /// The picture's bytes.
        source: ImageSource,
    },
}

/// The bytes of a picture.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageSource {
    /// The media type, such as `image/png`.
    pub media_type: String,
    /// The bytes in base64.
    pub data: String,
}

impl ContentBlock {
    /// Makes a text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// The text of a text block.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text { text } => Some(text),
            _ => None,
        }
    }
}

impl Message {
    /// Makes a message of a person.
    pub fn user(text: impl Into<String>) -> Self {
        Self::user_from(MessageSource::User, text)
    }

    /// Makes a message of a mod, which the model reads as the user's.
    pub fn from_mod(text: impl Into<String>) -> Self {
        Self::user_from(MessageSource::Mod, text)
    }

    /// Makes a message on the user's side that came from `source`.
    pub fn user_from(source: MessageSource, text: impl Into<String>) -> Self {
        Self { role: Role::User, content: vec![ContentBlock::text(text)], source }
    }

    /// Makes a message of the model.
    pub fn assistant(content: Vec<ContentBlock>) -> Self {
        Self { role: Role::Assistant, content, source: MessageSource::default() }
    }

    /// The texts of the message, joined.
    pub fn text(&self) -> String {
        self.content.iter().filter_map(ContentBlock::as_text).collect()
    }

    /// Checks that the message is one that a model may be sent.
    ///
    /// # Errors
    /// Says which block stands where it must not, or that the message is empty.
    pub fn check(&self) -> Result<(), MessageError> {
        if self.content.is_empty() {
            return Err(MessageError::Empty(self.role));
        }
        for block in &self.content {
            let allowed = match block {
                ContentBlock::Text { .. } => true,
                ContentBlock::Image { .. } => self.role == Role::User,
                ContentBlock::Thinking { .. } => self.role == Role::Assistant,
                ContentBlock::ToolUse { id, name, .. } => {
                    self.role == Role::Assistant && !id.is_empty() && !name.is_empty()
                }
                ContentBlock::ToolResult { tool_use_id, content, .. } => {
                    self.role == Role::User && !tool_use_id.is_empty() && content.iter().all(is_result_part)
                }
            };
            if !allowed {
                return Err(MessageError::Misplaced { role: self.role, block: block.kind() });
            }
        }
        Ok(())
    }
}

fn is_result_part(block: &ContentBlock) -> bool {
    matches!(block, ContentBlock::Text { .. } | ContentBlock::Image { .. })
}

impl ContentBlock {
    /// The kind's name on the wire.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Text { .. } => "text",
            Self::Thinking { .. } => "thinking",
            Self::ToolUse { .. } => "tool_use",
            Self::ToolResult { .. } => "tool_result",
            Self::Image { .. } => "image",
        }
    }
}

/// Why a message may not be sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    /// It has no content.
    #[error("a message needs at least one block, got none in a message of role: {}", .0.as_str())]
    Empty(Role),
    /// A block stands in a role that cannot say it, or lacks its id or name.
    #[error("a block that may not stand in a message of role {}: {block}", .role.as_str())]
    Misplaced {
        /// The message's role.
        role: Role,
        /// The block's kind.
        block: &'static str,
    },
}

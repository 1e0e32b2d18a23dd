use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ContentBlock;

/// What the model is told of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// The name the model calls it by: `^[a-zA-Z0-9_-]{1,64}$`.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// The JSON Schema of its input; an object schema.
    pub input_schema: Value,
    /// Whether it never changes anything: such a tool runs in plan mode, and without a question.
    #[serde(default)]
    pub read_only: bool,
}

/// What a tool answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolOutput {
    /// Text and image blocks for the model.
    pub content: Vec<ContentBlock>,
    /// Whether the call failed; the content says why.
    #[serde(default)]
    pub is_error: bool,
}

impl ToolOutput {
    /// A good answer of one text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: vec![ContentBlock::text(text)], is_error: false }
    }

    /// A failure, told in one text.
    pub fn error(text: impl Into<String>) -> Self {
        Self { content: vec![ContentBlock::text(text)], is_error: true }
    }
}

//! What a mod or a tool answered, looked at before it may touch anything.

use mod_interface::types::{ContentBlock, Message, MessageEdit};
use serde_json::Value;

use super::HookFault;

/// Arrays and objects inside one another.
const JSON_DEPTH: usize = 64;
/// One mod's slot of `mod_state`.
const MOD_STATE_BYTES: usize = 4 << 20;
/// Everything else that one answer carries.
const CONTENT_BYTES: usize = 16 << 20;

type Checked = Result<(), HookFault>;

/// Whether the input of a call is one that the record of a session can be read back with.
pub(crate) fn bounded(value: &Value) -> Result<(), String> {
    Budget::new(CONTENT_BYTES).json(value).map_err(|fault| match fault {
        HookFault::Invalid(reason) => reason,
        other => other.to_string(),
    })
}

pub(super) fn mod_state(value: &Value) -> Checked {
    Budget::new(MOD_STATE_BYTES).json(value)
}

pub(super) fn input(value: &Value) -> Checked {
    Budget::new(CONTENT_BYTES).json(value)
}

pub(super) fn text(text: &str) -> Checked {
    Budget::new(CONTENT_BYTES).text(text)
}

/// Checks what stands in a tool result: texts and images, and not too much of them.
pub(crate) fn tool_content(content: &[ContentBlock]) -> Checked {
    let mut budget = Budget::new(CONTENT_BYTES);
    for block in content {
        if !matches!(block, ContentBlock::Text { .. } | ContentBlock::Image { .. }) {
            return invalid(format!("a tool result holds text and image blocks, got: {}", block.kind()));
        }
        budget.block(block)?;
    }
    Ok(())
}

/// Checks edits that are to apply, one after another, to a list of `len` messages.
pub(super) fn edits(edits: &[MessageEdit], mut len: usize) -> Checked {
    let mut budget = Budget::new(CONTENT_BYTES);
    for edit in edits {
        let (start, end, message) = match edit {
            MessageEdit::Append { message } => (len, len, Some(message)),
            MessageEdit::Insert { index, message } => (*index, *index, Some(message)),
            MessageEdit::Replace { index, message } => (*index, index.saturating_add(1), Some(message)),
            MessageEdit::Remove { start, end } => (*start, *end, None),
        };
        if start > end || end > len {
            return invalid(format!("an edit of messages {start}..{end}, where there are: {len}"));
        }
        len = len - (end - start) + usize::from(message.is_some());
        if let Some(message) = message {
            budget.message(message)?;
        }
    }
    Ok(())
}

fn invalid(text: impl Into<String>) -> Checked {
    Err(HookFault::Invalid(text.into()))
}

/// The bytes that may still come.
struct Budget {
    limit: usize,
    left: usize,
}

impl Budget {
    fn new(limit: usize) -> Self {
        Self { limit, left: limit }
    }

    fn spend(&mut self, bytes: usize) -> Checked {
        match self.left.checked_sub(bytes) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => invalid(format!("larger than the bytes that are allowed: {}", self.limit)),
        }
    }

    fn text(&mut self, text: &str) -> Checked {
        self.spend(text.len())
    }

    fn message(&mut self, message: &Message) -> Checked {
        message.check().map_err(|error| HookFault::Invalid(error.to_string()))?;
        message.content.iter().try_for_each(|block| self.block(block))
    }

    // Recurses once at most: `message.check` lets no result stand in a result.
    fn block(&mut self, block: &ContentBlock) -> Checked {
        match block {
            ContentBlock::Text { text } => self.text(text),
            ContentBlock::Thinking { thinking, signature } => {
                self.text(thinking)?;
                self.text(signature.as_deref().unwrap_or_default())
            }
            ContentBlock::ToolUse { input, .. } => self.json(input),
            ContentBlock::ToolResult { content, .. } => {
                content.iter().try_for_each(|block| self.block(block))
            }
            ContentBlock::Image { source } => self.text(&source.data),
        }
    }

    // With a stack of its own: the depth is what is being checked.
    fn json(&mut self, value: &Value) -> Checked {
        let mut pending = vec![(value, 0)];
        while let Some((value, depth)) = pending.pop() {
            if depth > JSON_DEPTH {
                return invalid(format!("JSON nested deeper than: {JSON_DEPTH}"));
            }
            self.spend(1)?;
            match value {
                Value::String(text) => self.text(text)?,
                Value::Array(items) => pending.extend(items.iter().map(|item| (item, depth + 1))),
                Value::Object(fields) => {
                    for (key, field) in fields {
                        self.text(key)?;
                        pending.push((field, depth + 1));
                    }
                }
                Value::Null | Value::Bool(_) | Value::Number(_) => {}
            }
        }
        Ok(())
    }
}

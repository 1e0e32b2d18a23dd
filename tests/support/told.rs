//! For the tests of the crate and the integration tests both.

use std::sync::Arc;

use mod_interface::types::{ContentBlock, Message, Role};

/// A conversation in lines: `user[source]: parts`, `assistant: parts`.
pub(crate) fn told(messages: &[Arc<Message>]) -> Vec<String> {
    let part = |block: &ContentBlock| match block {
        ContentBlock::Text { text } => text.clone(),
        ContentBlock::ToolUse { id, .. } => format!("<call {id}>"),
        ContentBlock::ToolResult { tool_use_id, content, is_error } => {
            let texts: Vec<_> = content.iter().map(|it| it.as_text().unwrap_or(it.kind())).collect();
            format!("<{tool_use_id}{}: {}>", if *is_error { " failed" } else { "" }, texts.join(" + "))
        }
        other => format!("<{}>", other.kind()),
    };
    let line = |message: &Arc<Message>| {
        let parts: Vec<_> = message.content.iter().map(part).collect();
        let source = serde_json::to_value(message.source).unwrap();
        match message.role {
            Role::User => format!("user[{}]: {}", source.as_str().unwrap(), parts.join(" ")),
            Role::Assistant => format!("assistant: {}", parts.join(" ")),
        }
    };
    messages.iter().map(line).collect()
}

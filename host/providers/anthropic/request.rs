//! A [`ModelRequest`] on the wire. Long texts are borrowed, not copied.

use std::borrow::Cow;

use mod_interface::types::{ContentBlock, ImageSource, Message, Role, ToolSpec};
use serde::Serialize;
use serde_json::Value;

use super::{
    ID,
    event::REDACTED,
    model::{OutputConfig, Thinking, max_tokens, thinking},
};
use crate::providers::{ModelRequest, signature::signed_by};

#[derive(Serialize)]
pub(super) struct Body<'a> {
    model: &'a str,
    max_tokens: u32,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<Marked<Block<'a>>>,
    messages: Vec<WireMessage<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Marked<WireTool<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Thinking>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig>,
    stream: bool,
}

/// Something behind which the cache may break.
#[derive(Serialize)]
struct Marked<T> {
    #[serde(flatten)]
    it: T,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

#[derive(Serialize)]
struct CacheControl {
    r#type: &'static str,
}

#[derive(Serialize)]
struct WireMessage<'a> {
    role: &'static str,
    content: Vec<Marked<Block<'a>>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block<'a> {
    Text { text: &'a str },
    Image { source: Source<'a> },
    Thinking { thinking: &'a str, signature: &'a str },
    RedactedThinking { data: &'a str },
    ToolUse { id: Cow<'a, str>, name: &'a str, input: &'a Value },
    ToolResult { tool_use_id: Cow<'a, str>, content: Vec<Block<'a>>, is_error: bool },
}

#[derive(Serialize)]
struct Source<'a> {
    r#type: &'static str,
    media_type: &'a str,
    data: &'a str,
}

#[derive(Serialize)]
struct WireTool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a Value,
}

/// The body of the request.
pub(super) fn body(request: &ModelRequest) -> Body<'_> {
    let effort = request.effort.filter(|_| may_think(&request.messages));
    let (thinking, output_config) = effort
        .map(|effort| thinking(&request.model, effort))
        .map_or((None, None), |(it, config)| (Some(it), config));
    let mut body = Body {
        model: &request.model,
        max_tokens: max_tokens(&request.model),
        system: text(&request.system).into_iter().collect(),
        messages: request.messages.iter().map(|it| message(it)).filter(|it| !it.content.is_empty()).collect(),
        tools: request.tools.iter().map(tool).collect(),
        thinking,
        output_config,
        stream: true,
    };
    body.mark();
    body
}

impl Body<'_> {
    /// Says where the cache breaks: each break holds for all that stands before it, tools first, then the system
    /// prompt, then the messages.
    fn mark(&mut self) {
        match self.system.last_mut() {
            Some(system) => system.mark(),
            None => self.tools.last_mut().into_iter().for_each(Marked::mark),
        }
        let of_user = self.messages.iter_mut().rev().filter(|message| message.role == Role::User.as_str());
        of_user.take(2).filter_map(|message| message.content.last_mut()).for_each(Marked::mark);
    }
}

impl<T> Marked<T> {
    fn not(it: T) -> Self {
        Self { it, cache_control: None }
    }

    fn mark(&mut self) {
        self.cache_control = Some(CacheControl { r#type: "ephemeral" });
    }
}

fn text(text: &str) -> Option<Marked<Block<'_>>> {
    (!text.is_empty()).then(|| Marked::not(Block::Text { text }))
}

/// The API lets a model think while tools run only where it thought before it called them.
fn may_think(messages: &[std::sync::Arc<Message>]) -> bool {
    let [.., asked, answered] = messages else { return true };
    let is_result = |block: &ContentBlock| matches!(block, ContentBlock::ToolResult { .. });
    !answered.content.iter().any(is_result) || asked.content.first().and_then(reasoning).is_some()
}

fn message(message: &Message) -> WireMessage<'_> {
    let content = message.content.iter().filter_map(block).map(Marked::not).collect();
    WireMessage { role: message.role.as_str(), content }
}

fn block(block: &ContentBlock) -> Option<Block<'_>> {
    Some(match block {
        ContentBlock::Text { text } => Block::Text { text },
        ContentBlock::Image { source } => Block::Image { source: picture(source) },
        ContentBlock::Thinking { .. } => reasoning(block)?,
        ContentBlock::ToolUse { id, name, input } => Block::ToolUse { id: safe(id), name, input },
        ContentBlock::ToolResult { tool_use_id, content, is_error } => Block::ToolResult {
            tool_use_id: safe(tool_use_id),
            content: content.iter().filter_map(self::block).collect(),
            is_error: *is_error,
        },
    })
}

/// Reasoning goes back as it came, and no other provider's does.
fn reasoning(block: &ContentBlock) -> Option<Block<'_>> {
    if let Some((_, data)) = signed_by(REDACTED, block) {
        return Some(Block::RedactedThinking { data });
    }
    let (thinking, signature) = signed_by(ID, block)?;
    Some(Block::Thinking { thinking, signature })
}

fn picture(source: &ImageSource) -> Source<'_> {
    Source { r#type: "base64", media_type: &source.media_type, data: &source.data }
}

/// An id of a call as the API takes it: other providers have other ones.
fn safe(id: &str) -> Cow<'_, str> {
    let is_good = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if id.chars().all(is_good) {
        return id.into();
    }
    id.chars().map(|c| if is_good(c) { c } else { '_' }).collect()
}

fn tool(spec: &ToolSpec) -> Marked<WireTool<'_>> {
    let ToolSpec { name, description, input_schema, .. } = spec;
    Marked::not(WireTool { name, description, input_schema })
}

#[cfg(test)]
mod tests;

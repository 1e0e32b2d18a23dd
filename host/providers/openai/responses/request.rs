//! A [`ModelRequest`] on the wire. Long texts are borrowed, not copied.

use mod_interface::types::{ContentBlock, ImageSource, Message, Role, ToolSpec};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ID;
use crate::providers::{ModelRequest, openai::request::effort_name, signature::signed_by};

#[derive(Serialize)]
pub(super) struct Body<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    instructions: &'a str,
    input: Vec<Item<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<WireTool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<Reasoning>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    include: Vec<&'static str>,
    store: bool,
    stream: bool,
}

#[derive(Serialize)]
struct Reasoning {
    effort: &'static str,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Item<'a> {
    Message { role: &'static str, content: Vec<Part<'a>> },
    Reasoning { id: String, summary: Vec<Part<'a>>, encrypted_content: String },
    FunctionCall { call_id: &'a str, name: &'a str, arguments: String },
    FunctionCallOutput { call_id: &'a str, output: Output<'a> },
}

#[derive(Serialize)]
#[serde(untagged)]
enum Output<'a> {
    Text(String),
    Parts(Vec<Part<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
    InputText { text: &'a str },
    InputImage { image_url: String },
    OutputText { text: &'a str },
    SummaryText { text: &'a str },
}

#[derive(Serialize)]
struct WireTool<'a> {
    r#type: &'static str,
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
    /// Not every schema is one that the strict mode takes.
    strict: bool,
}

/// What is kept of an item of reasoning, as its signature.
#[derive(Serialize, Deserialize)]
pub(super) struct Kept {
    pub(super) id: String,
    pub(super) encrypted: String,
}

/// The body of the request.
pub(super) fn body(request: &ModelRequest) -> Body<'_> {
    let mut input = Vec::with_capacity(request.messages.len());
    for message in &request.messages {
        match message.role {
            Role::User => user(message, &mut input),
            Role::Assistant => assistant(message, &mut input),
        }
    }
    let reasoning = request.effort.map(|effort| Reasoning { effort: effort_name(effort) });
    Body {
        model: &request.model,
        instructions: &request.system,
        input,
        tools: request.tools.iter().map(tool).collect(),
        include: reasoning.iter().map(|_| "reasoning.encrypted_content").collect(),
        reasoning,
        store: false,
        stream: true,
    }
}

fn tool(spec: &ToolSpec) -> WireTool<'_> {
    let ToolSpec { name, description, input_schema: parameters, .. } = spec;
    WireTool { r#type: "function", name, description, parameters, strict: false }
}

/// Results of calls are items of their own, in front of what else is said.
fn user<'a>(message: &'a Message, out: &mut Vec<Item<'a>>) {
    let mut said = Vec::new();
    for block in &message.content {
        match block {
            ContentBlock::ToolResult { tool_use_id, content, is_error } => {
                let output = output(content, *is_error);
                out.push(Item::FunctionCallOutput { call_id: tool_use_id, output });
            }
            _ => said.extend(input_part(block)),
        }
    }
    if !said.is_empty() {
        out.push(Item::Message { role: Role::User.as_str(), content: said });
    }
}

fn input_part(block: &ContentBlock) -> Option<Part<'_>> {
    match block {
        ContentBlock::Text { text } => Some(Part::InputText { text }),
        ContentBlock::Image { source: ImageSource { media_type, data } } => {
            Some(Part::InputImage { image_url: format!("data:{media_type};base64,{data}") })
        }
        _ => None,
    }
}

/// One text where there are no pictures, and where it must be told that the call failed.
fn output(content: &[ContentBlock], is_error: bool) -> Output<'_> {
    const FAILED: &str = "Error: ";
    if content.iter().any(|block| matches!(block, ContentBlock::Image { .. })) {
        let failed = is_error.then_some(Part::InputText { text: FAILED });
        return Output::Parts(failed.into_iter().chain(content.iter().filter_map(input_part)).collect());
    }
    let text = content.iter().filter_map(ContentBlock::as_text).collect::<Vec<_>>().join("\n");
    Output::Text(if is_error { format!("{FAILED}{text}") } else { text })
}

/// What the model said, in the order in which it came. Reasoning with nothing behind it is refused, so it is left out.
fn assistant<'a>(message: &'a Message, out: &mut Vec<Item<'a>>) {
    let mut thought = Vec::new();
    for block in &message.content {
        match block {
            ContentBlock::Thinking { .. } => thought.extend(reasoning(block)),
            ContentBlock::Text { text } => {
                out.append(&mut thought);
                let content = vec![Part::OutputText { text }];
                out.push(Item::Message { role: Role::Assistant.as_str(), content });
            }
            ContentBlock::ToolUse { id, name, input } => {
                out.append(&mut thought);
                out.push(Item::FunctionCall { call_id: id, name, arguments: input.to_string() });
            }
            ContentBlock::ToolResult { .. } | ContentBlock::Image { .. } => {}
        }
    }
}

fn reasoning(block: &ContentBlock) -> Option<Item<'_>> {
    let (text, kept) = signed_by(ID, block)?;
    let Kept { id, encrypted } = serde_json::from_str(kept).ok()?;
    let summary = (!text.is_empty()).then_some(Part::SummaryText { text }).into_iter().collect();
    Some(Item::Reasoning { id, summary, encrypted_content: encrypted })
}

#[cfg(test)]
mod tests;

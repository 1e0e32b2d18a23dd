//! What goes over the line: a request's JSON, and the lines of a stream of events.

use mod_interface::prelude::*;

/// A piece of the answer, or what is said of it.
pub(crate) enum Piece {
    Said(ModelPiece),
    Stopped(String),
    Usage(Usage),
    Done,
}

/// Puts the lines of a stream together.
#[derive(Default)]
pub(crate) struct Lines(Vec<u8>);

impl Lines {
    /// Takes bytes; gives the lines that they complete.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Vec<String> {
        self.0.extend_from_slice(bytes);
        let Some(end) = self.0.iter().rposition(|byte| *byte == b'\n') else { return Vec::new() };
        let rest = self.0.split_off(end + 1);
        let whole = std::mem::replace(&mut self.0, rest);
        String::from_utf8_lossy(&whole).lines().map(str::to_owned).collect()
    }
}

/// What a line says.
pub(crate) fn read(line: &str) -> Result<Vec<Piece>> {
    let Some(data) = line.strip_prefix("data:").map(str::trim) else { return Ok(Vec::new()) };
    if data == "[DONE]" {
        return Ok(vec![Piece::Done]);
    }
    let event: Value = json_of(data)?;
    let choice = &event["choices"][0];
    let mut pieces = Vec::new();
    if let Some(text) = choice["delta"]["content"].as_str() {
        pieces.push(Piece::Said(ModelPiece::Text(text.to_owned())));
    }
    for call in choice["delta"]["tool_calls"].as_array().into_iter().flatten() {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        if let Some(id) = call["id"].as_str() {
            let name = text(&call["function"]["name"]);
            pieces.push(Piece::Said(ModelPiece::ToolUse { id: id.to_owned(), name }));
        }
        pieces.push(Piece::Said(ModelPiece::ToolInput(text(&call["function"]["arguments"]))));
    }
    if let Some(reason) = choice["finish_reason"].as_str() {
        pieces.push(Piece::Stopped(reason.to_owned()));
    }
    if let Some(usage) = event["usage"].as_object() {
        let tokens = |name: &str| usage.get(name).and_then(Value::as_u64).unwrap_or(0);
        let (input_tokens, output_tokens) = (tokens("prompt_tokens"), tokens("completion_tokens"));
        pieces.push(Piece::Usage(Usage { input_tokens, output_tokens, ..Usage::default() }));
    }
    Ok(pieces)
}

fn json_of(data: &str) -> Result<Value> {
    data.parse().map_err(|error| Error::msg(format!("the server sent what is no JSON ({error}): {data}")))
}

/// The request's body.
pub(crate) fn body(request: &ModelRequest) -> Result<String> {
    let mut messages = vec![json!({ "role": "system", "content": request.system() })];
    for message in request.to_messages()? {
        for block in &message.content {
            if let ContentBlock::ToolResult { tool_use_id, content, .. } = block {
                let text: String = content.iter().filter_map(ContentBlock::as_text).collect();
                messages.push(json!({ "role": "tool", "tool_call_id": tool_use_id, "content": text }));
            }
        }
        let calls = message.content.iter().filter_map(|block| match block {
            ContentBlock::ToolUse { id, name, input } => Some(json!({
                "id": id, "type": "function", "function": { "name": name, "arguments": input.to_string() },
            })),
            _ => None,
        });
        let (calls, text) = (calls.collect::<Vec<_>>(), message.text());
        if !calls.is_empty() {
            messages.push(json!({ "role": "assistant", "content": text, "tool_calls": calls }));
        } else if !text.is_empty() {
            messages.push(json!({ "role": message.role.as_str(), "content": text }));
        }
    }
    let tools = request.tools().iter().map(|tool| {
        let ToolSpec { name, description, input_schema: parameters, .. } = tool;
        json!({ "type": "function", "function": { "name": name, "description": description, "parameters": parameters } })
    });
    let body = json!({
        "model": request.model(),
        "messages": messages,
        "tools": tools.collect::<Vec<_>>(),
        "stream": true,
        "stream_options": { "include_usage": true },
    });
    Ok(body.to_string())
}

//! A [`ModelRequest`] on the wire. Long texts are borrowed, not copied.

use std::borrow::Cow;

use mod_interface::types::{ContentBlock, Effort, ImageSource, Message, Role, ToolSpec};
use serde::Serialize;
use serde_json::Value;

use crate::providers::ModelRequest;

#[derive(Serialize)]
pub(super) struct Body<'a> {
    model: &'a str,
    messages: Vec<WireMessage<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<WireTool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'static str>,
    stream: bool,
    stream_options: StreamOptions,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
enum WireMessage<'a> {
    System {
        content: &'a str,
    },
    User {
        content: Content<'a>,
    },
    Assistant {
        content: Option<Cow<'a, str>>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<WireCall<'a>>,
    },
    Tool {
        tool_call_id: &'a str,
        content: Cow<'a, str>,
    },
}

#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<Part<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
    Text { text: Cow<'a, str> },
    ImageUrl { image_url: ImageUrl },
}

#[derive(Serialize)]
struct ImageUrl {
    url: String,
}

#[derive(Serialize)]
struct WireTool<'a> {
    r#type: &'static str,
    function: ToolFunction<'a>,
}

#[derive(Serialize)]
struct ToolFunction<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
}

#[derive(Serialize)]
struct WireCall<'a> {
    id: &'a str,
    r#type: &'static str,
    function: CallFunction<'a>,
}

#[derive(Serialize)]
struct CallFunction<'a> {
    name: &'a str,
    arguments: String,
}

/// The body of the request.
pub(super) fn body(request: &ModelRequest) -> Body<'_> {
    let mut messages = Vec::with_capacity(request.messages.len() + 1);
    if !request.system.is_empty() {
        messages.push(WireMessage::System { content: &request.system });
    }
    for message in &request.messages {
        match message.role {
            Role::User => user(message, &mut messages),
            Role::Assistant => messages.push(assistant(message)),
        }
    }
    Body {
        model: &request.model,
        messages,
        tools: request.tools.iter().map(tool).collect(),
        reasoning_effort: request.effort.map(effort_name),
        stream: true,
        stream_options: StreamOptions { include_usage: true },
    }
}

fn tool(spec: &ToolSpec) -> WireTool<'_> {
    let function =
        ToolFunction { name: &spec.name, description: &spec.description, parameters: &spec.input_schema };
    WireTool { r#type: "function", function }
}

/// The API has no word for the most that a model can do which every model takes: `high` is the highest
/// of those.
pub(super) fn effort_name(effort: Effort) -> &'static str {
    match effort {
        Effort::Minimal => "minimal",
        Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::High | Effort::Max => "high",
    }
}

/// Tool results are messages of their own and stand right behind the calls; what else is on the user's
/// side follows them. Pictures of a result go there too: a tool's message holds text alone.
fn user<'a>(message: &'a Message, out: &mut Vec<WireMessage<'a>>) {
    let mut parts = Vec::new();
    for block in &message.content {
        match block {
            ContentBlock::ToolResult { tool_use_id, content, is_error } => {
                out.push(tool_result(tool_use_id, content, *is_error));
                let pictures: Vec<_> = content.iter().filter_map(picture).collect();
                if !pictures.is_empty() {
                    let text = format!("Pictures that the tool call {tool_use_id} returned:");
                    parts.push(Part::Text { text: text.into() });
                    parts.extend(pictures);
                }
            }
            ContentBlock::Text { text } => parts.push(Part::Text { text: text.into() }),
            ContentBlock::Image { source } => parts.push(image_url(source)),
            ContentBlock::Thinking { .. } | ContentBlock::ToolUse { .. } => {}
        }
    }
    if !parts.is_empty() {
        out.push(WireMessage::User { content: Content::of(parts) });
    }
}

fn tool_result<'a>(tool_call_id: &'a str, content: &'a [ContentBlock], is_error: bool) -> WireMessage<'a> {
    let text = join(texts(content), "\n");
    let content = if is_error { format!("Error: {text}").into() } else { text };
    WireMessage::Tool { tool_call_id, content }
}

fn picture(block: &ContentBlock) -> Option<Part<'_>> {
    match block {
        ContentBlock::Image { source } => Some(image_url(source)),
        _ => None,
    }
}

fn image_url<'a>(source: &ImageSource) -> Part<'a> {
    Part::ImageUrl {
        image_url: ImageUrl { url: format!("data:{};base64,{}", source.media_type, source.data) },
    }
}

impl<'a> Content<'a> {
    /// One text where there are no pictures: not every endpoint takes parts.
    fn of(parts: Vec<Part<'a>>) -> Self {
        if parts.iter().any(|part| matches!(part, Part::ImageUrl { .. })) {
            return Self::Parts(parts);
        }
        let texts = parts.into_iter().filter_map(|part| match part {
            Part::Text { text } => Some(text),
            Part::ImageUrl { .. } => None,
        });
        Self::Text(join(texts, "\n\n"))
    }
}

fn texts(content: &[ContentBlock]) -> impl Iterator<Item = Cow<'_, str>> {
    content.iter().filter_map(ContentBlock::as_text).map(Cow::Borrowed)
}

fn join<'a>(mut texts: impl Iterator<Item = Cow<'a, str>>, separator: &str) -> Cow<'a, str> {
    let mut joined = texts.next().unwrap_or_default();
    for text in texts {
        joined.to_mut().push_str(separator);
        joined.to_mut().push_str(&text);
    }
    joined
}

/// Reasoning is left out: the API takes none back.
fn assistant(message: &Message) -> WireMessage<'_> {
    let tool_calls: Vec<_> = message.content.iter().filter_map(tool_call).collect();
    let text = join(texts(&message.content), "");
    let content = (!text.is_empty() || tool_calls.is_empty()).then_some(text);
    WireMessage::Assistant { content, tool_calls }
}

fn tool_call(block: &ContentBlock) -> Option<WireCall<'_>> {
    let ContentBlock::ToolUse { id, name, input } = block else { return None };
    let function = CallFunction { name, arguments: input.to_string() };
    Some(WireCall { id, r#type: "function", function })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use mod_interface::types::MessageSource;
    use serde_json::json;

    use super::*;

    fn wire(request: &ModelRequest) -> Value {
        serde_json::to_value(body(request)).unwrap()
    }

    fn call(id: &str, input: Value) -> ContentBlock {
        ContentBlock::ToolUse { id: id.to_owned(), name: "read".to_owned(), input }
    }

    fn result(id: &str, content: Vec<ContentBlock>, is_error: bool) -> ContentBlock {
        ContentBlock::ToolResult { tool_use_id: id.to_owned(), content, is_error }
    }

    fn image() -> ContentBlock {
        ContentBlock::Image {
            source: ImageSource { media_type: "image/png".to_owned(), data: "QUJD".to_owned() },
        }
    }

    fn user(content: Vec<ContentBlock>) -> Message {
        Message { role: Role::User, content, source: MessageSource::User }
    }

    fn request(messages: Vec<Message>) -> ModelRequest {
        ModelRequest {
            model: "gpt-x".into(),
            system: "Be brief.".into(),
            messages: messages.into_iter().map(Arc::new).collect(),
            tools: Arc::default(),
            effort: None,
        }
    }

    /// The messages behind the system prompt.
    fn messages(messages: Vec<Message>) -> Vec<Value> {
        let Value::Array(wire) = wire(&request(messages))["messages"].take() else { panic!("no messages") };
        wire.into_iter().skip(1).collect()
    }

    #[test]
    fn a_request_asks_for_a_stream_with_its_usage() {
        let tool = ToolSpec {
            name: "read".to_owned(),
            description: "Reads.".to_owned(),
            input_schema: json!({"type": "object", "properties": {}}),
            read_only: true,
        };
        let mut request = request(vec![Message::user("hi")]);
        let bare = json!({
            "model": "gpt-x",
            "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}],
            "stream": true,
            "stream_options": {"include_usage": true},
        });
        assert_eq!(wire(&request), bare);

        request.tools = [tool].into();
        request.effort = Some(Effort::Max);
        let mut full = bare;
        full["reasoning_effort"] = json!("high");
        full["tools"] = json!([{"type": "function", "function": {
            "name": "read", "description": "Reads.", "parameters": {"type": "object", "properties": {}},
        }}]);
        assert_eq!(wire(&request), full);

        request.system = "".into();
        assert_eq!(wire(&request)["messages"], json!([{"role": "user", "content": "hi"}]));
    }

    #[test]
    fn every_effort_has_its_word() {
        let efforts = [Effort::Minimal, Effort::Low, Effort::Medium, Effort::High, Effort::Max];
        assert_eq!(efforts.map(effort_name), ["minimal", "low", "medium", "high", "high"]);
    }

    #[test]
    fn an_answer_goes_back_without_its_reasoning() {
        let thinking = || ContentBlock::Thinking { thinking: "hm".to_owned(), signature: None };
        let answers = [
            vec![thinking(), ContentBlock::text("a"), call("1", json!({"p": 1})), ContentBlock::text("b")],
            vec![call("2", json!({}))],
            vec![thinking()],
        ];
        let called = |id: &str, arguments: &str| json!([{"id": id, "type": "function", "function": {"name": "read", "arguments": arguments}}]);
        assert_eq!(
            messages(answers.map(Message::assistant).into()),
            [
                json!({"role": "assistant", "content": "ab", "tool_calls": called("1", r#"{"p":1}"#)}),
                json!({"role": "assistant", "content": null, "tool_calls": called("2", "{}")}),
                json!({"role": "assistant", "content": ""}),
            ]
        );
    }

    #[test]
    fn tool_results_come_before_what_else_the_user_says() {
        let content = vec![
            ContentBlock::text("and now?"),
            result("1", vec![ContentBlock::text("a"), ContentBlock::text("b")], false),
            ContentBlock::text("well?"),
            result("2", vec![ContentBlock::text("no such file")], true),
        ];
        assert_eq!(
            messages(vec![user(content)]),
            [
                json!({"role": "tool", "tool_call_id": "1", "content": "a\nb"}),
                json!({"role": "tool", "tool_call_id": "2", "content": "Error: no such file"}),
                json!({"role": "user", "content": "and now?\n\nwell?"}),
            ]
        );
    }

    #[test]
    fn pictures_are_parts_of_a_user_message_even_those_of_a_tool() {
        let picture = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}});
        let shown = user(vec![ContentBlock::text("look"), image()]);
        let drawn = user(vec![result("1", vec![ContentBlock::text("drawn"), image(), image()], false)]);
        assert_eq!(
            messages(vec![shown, drawn]),
            [
                json!({"role": "user", "content": [{"type": "text", "text": "look"}, picture]}),
                json!({"role": "tool", "tool_call_id": "1", "content": "drawn"}),
                json!({"role": "user", "content": [
                    {"type": "text", "text": "Pictures that the tool call 1 returned:"}, picture, picture,
                ]}),
            ]
        );
    }
}

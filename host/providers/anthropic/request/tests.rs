use std::sync::Arc;

use mod_interface::types::{Effort, MessageSource};
use serde_json::json;

use super::*;
use crate::providers::signature::sign;

fn wire(request: &ModelRequest) -> Value {
    serde_json::to_value(body(request)).unwrap()
}

fn request(messages: Vec<Message>) -> ModelRequest {
    ModelRequest {
        model: "claude-sonnet-4-5".into(),
        system: "Be brief.".into(),
        messages: messages.into_iter().map(Arc::new).collect(),
        tools: Arc::default(),
        effort: None,
    }
}

fn tool_spec() -> ToolSpec {
    ToolSpec {
        name: "read".to_owned(),
        description: "Reads.".to_owned(),
        input_schema: json!({"type": "object", "properties": {}}),
        read_only: true,
    }
}

fn thought(maker: &str, thinking: &str, value: &str) -> ContentBlock {
    ContentBlock::Thinking { thinking: thinking.to_owned(), signature: Some(sign(maker, value)) }
}

fn call(id: &str) -> ContentBlock {
    ContentBlock::ToolUse { id: id.to_owned(), name: "read".to_owned(), input: json!({"p": 1}) }
}

fn results(content: Vec<ContentBlock>) -> Message {
    Message { role: Role::User, content, source: MessageSource::ToolResults }
}

fn result(id: &str, content: Vec<ContentBlock>, is_error: bool) -> ContentBlock {
    ContentBlock::ToolResult { tool_use_id: id.to_owned(), content, is_error }
}

fn image() -> ContentBlock {
    let source = ImageSource { media_type: "image/png".to_owned(), data: "QUJD".to_owned() };
    ContentBlock::Image { source }
}

const BREAK: fn() -> Value = || json!({"type": "ephemeral"});

#[test]
fn a_request_says_how_long_an_answer_may_be_and_where_the_cache_breaks() {
    let mut request = request(vec![Message::user("hi")]);
    let bare = json!({
        "model": "claude-sonnet-4-5",
        "max_tokens": 32_000,
        "system": [{"type": "text", "text": "Be brief.", "cache_control": BREAK()}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hi", "cache_control": BREAK()}]}],
        "stream": true,
    });
    assert_eq!(wire(&request), bare);

    request.tools = [tool_spec(), tool_spec()].into();
    request.system = "".into();
    let tool = json!({"name": "read", "description": "Reads.", "input_schema": {"type": "object", "properties": {}}});
    let mut last = tool.clone();
    last["cache_control"] = BREAK();
    let mut without_system = bare;
    without_system.as_object_mut().unwrap().remove("system");
    without_system["tools"] = json!([tool, last]);
    assert_eq!(wire(&request), without_system);
}

#[test]
fn an_effort_asks_the_model_to_think() {
    let mut request = request(vec![Message::user("hi")]);
    request.effort = Some(Effort::Low);
    let asked = |request: &ModelRequest| {
        let mut wire = wire(request);
        [wire["thinking"].take(), wire["output_config"].take()]
    };
    assert_eq!(asked(&request), [json!({"type": "enabled", "budget_tokens": 4096}), Value::Null]);
    request.model = "claude-opus-4-7".into();
    assert_eq!(
        asked(&request),
        [json!({"type": "adaptive", "display": "summarized"}), json!({"effort": "low"})]
    );
}

#[test]
fn a_model_that_called_tools_without_thinking_is_not_asked_to_think_about_their_results() {
    let answered = |said: Vec<ContentBlock>| {
        let results = results(vec![result("1", vec![ContentBlock::text("a")], false)]);
        let mut request = request(vec![Message::user("hi"), Message::assistant(said), results]);
        request.effort = Some(Effort::Low);
        !wire(&request)["thinking"].is_null()
    };
    assert!(answered(vec![thought(ID, "hm", "s"), call("1")]));
    assert!(answered(vec![thought(REDACTED, "", "s"), call("1")]));
    assert!(!answered(vec![call("1")]));
    assert!(!answered(vec![thought("another", "hm", "s"), call("1")]));
}

/// The messages, each as its role and its content, and what of it the cache breaks behind.
fn messages(messages: Vec<Message>) -> Value {
    wire(&request(messages))["messages"].take()
}

#[test]
fn the_cache_breaks_behind_the_last_two_messages_of_the_user() {
    let said = |text: &str| Message::assistant(vec![ContentBlock::text(text)]);
    let wire = messages(vec![
        Message::user("a"),
        said("b"),
        Message::user("c"),
        said("d"),
        results(vec![result("1", vec![ContentBlock::text("x")], false), ContentBlock::text("e")]),
    ]);
    let text = |text: &str| json!({"type": "text", "text": text});
    let marked = |text: &str| json!({"type": "text", "text": text, "cache_control": BREAK()});
    let result = json!({
        "type": "tool_result", "tool_use_id": "1", "content": [text("x")], "is_error": false,
    });
    assert_eq!(
        wire,
        json!([
            {"role": "user", "content": [text("a")]},
            {"role": "assistant", "content": [text("b")]},
            {"role": "user", "content": [marked("c")]},
            {"role": "assistant", "content": [text("d")]},
            {"role": "user", "content": [result, marked("e")]},
        ])
    );
}

#[test]
fn reasoning_goes_back_to_whom_it_came_from_and_to_nobody_else() {
    let unsigned = ContentBlock::Thinking { thinking: "hm".to_owned(), signature: None };
    let said = vec![
        thought(ID, "hm", "s1"),
        thought(ID, "", "s2"),
        thought(REDACTED, "", "data"),
        thought("another", "hm", "s3"),
        unsigned,
        call("a:b.c"),
    ];
    let wire = messages(vec![
        Message::user("hi"),
        Message::assistant(said),
        results(vec![result("a:b.c", vec![ContentBlock::text("no"), image()], true)]),
    ]);
    assert_eq!(
        wire[1]["content"],
        json!([
            {"type": "thinking", "thinking": "hm", "signature": "s1"},
            {"type": "thinking", "thinking": "", "signature": "s2"},
            {"type": "redacted_thinking", "data": "data"},
            {"type": "tool_use", "id": "a_b_c", "name": "read", "input": {"p": 1}},
        ])
    );
    let picture =
        json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD"}});
    assert_eq!(
        wire[2]["content"],
        json!([{
            "type": "tool_result", "tool_use_id": "a_b_c", "is_error": true,
            "content": [{"type": "text", "text": "no"}, picture], "cache_control": BREAK(),
        }])
    );
}

#[test]
fn a_message_of_which_nothing_goes_back_is_left_out() {
    let wire = messages(vec![
        Message::user("hi"),
        Message::assistant(vec![thought("another", "hm", "s")]),
        Message::user("well?"),
    ]);
    assert_eq!(wire.as_array().unwrap().len(), 2);
}

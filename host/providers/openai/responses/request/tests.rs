use std::sync::Arc;

use mod_interface::types::{Effort, MessageSource};
use serde_json::json;

use super::*;
use crate::providers::signature::sign;

fn request(messages: Vec<Message>) -> ModelRequest {
    ModelRequest {
        model: "gpt-x".into(),
        system: "Be brief.".into(),
        messages: messages.into_iter().map(Arc::new).collect(),
        tools: Arc::default(),
        effort: None,
    }
}

fn wire(request: &ModelRequest) -> Value {
    serde_json::to_value(body(request)).unwrap()
}

fn input(messages: Vec<Message>) -> Value {
    wire(&request(messages))["input"].take()
}

fn said(text: &str) -> Value {
    json!({"type": "input_text", "text": text})
}

#[test]
fn a_request_keeps_nothing_at_the_server_and_asks_for_reasoning_when_an_effort_is_chosen() {
    let mut request = request(vec![Message::user("hi")]);
    let bare = json!({
        "model": "gpt-x",
        "instructions": "Be brief.",
        "input": [{"type": "message", "role": "user", "content": [said("hi")]}],
        "store": false,
        "stream": true,
    });
    assert_eq!(wire(&request), bare);
    request.tools = [ToolSpec {
        name: "read".to_owned(),
        description: "Reads.".to_owned(),
        input_schema: json!({"type": "object"}),
        read_only: true,
    }]
    .into();
    request.effort = Some(Effort::Max);
    let mut full = bare;
    full["reasoning"] = json!({"effort": "high"});
    full["include"] = json!(["reasoning.encrypted_content"]);
    full["tools"] = json!([{
        "type": "function", "name": "read", "description": "Reads.", "parameters": {"type": "object"}, "strict": false,
    }]);
    assert_eq!(wire(&request), full);
    request.system = "".into();
    assert_eq!(wire(&request)["instructions"], Value::Null);
}

#[test]
fn an_answer_goes_back_in_order_with_its_own_reasoning_where_something_follows_it() {
    let kept =
        |id: &str| serde_json::to_string(&Kept { id: id.to_owned(), encrypted: "e".to_owned() }).unwrap();
    let thought = |maker: &str, thinking: &str, value: &str| ContentBlock::Thinking {
        thinking: thinking.to_owned(),
        signature: Some(sign(maker, value)),
    };
    let call = ContentBlock::ToolUse { id: "1".to_owned(), name: "read".to_owned(), input: json!({"p": 1}) };
    let answer = Message::assistant(vec![
        thought(ID, "hm", &kept("rs_1")),
        thought("anthropic", "hm", "s"),
        thought(ID, "", "broken"),
        ContentBlock::text("a"),
        thought(ID, "", &kept("rs_2")),
        call,
        thought(ID, "", &kept("rs_3")),
    ]);
    let reasoning = |id: &str, summary: Value| json!({"type": "reasoning", "id": id, "summary": summary, "encrypted_content": "e"});
    assert_eq!(
        input(vec![answer]),
        json!([
            reasoning("rs_1", json!([{"type": "summary_text", "text": "hm"}])),
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "a"}]},
            reasoning("rs_2", json!([])),
            {"type": "function_call", "call_id": "1", "name": "read", "arguments": r#"{"p":1}"#},
        ])
    );
}

#[test]
fn results_come_before_what_else_the_user_says_with_their_pictures() {
    let image = || ContentBlock::Image {
        source: ImageSource { media_type: "image/png".to_owned(), data: "QUJD".to_owned() },
    };
    let result = |id: &str, content, is_error| ContentBlock::ToolResult {
        tool_use_id: id.to_owned(),
        content,
        is_error,
    };
    let content = vec![
        ContentBlock::text("and now?"),
        image(),
        result("1", vec![ContentBlock::text("a"), ContentBlock::text("b")], false),
        result("2", vec![ContentBlock::text("no")], true),
        result("3", vec![ContentBlock::text("c"), image()], true),
    ];
    let picture = json!({"type": "input_image", "image_url": "data:image/png;base64,QUJD"});
    let output =
        |id: &str, output: Value| json!({"type": "function_call_output", "call_id": id, "output": output});
    assert_eq!(
        input(vec![Message { role: Role::User, content, source: MessageSource::User }]),
        json!([
            output("1", json!("a\nb")),
            output("2", json!("Error: no")),
            output("3", json!([said("Error: "), said("c"), picture])),
            {"type": "message", "role": "user", "content": [said("and now?"), picture]},
        ])
    );
}

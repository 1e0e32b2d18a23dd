//! The provider of OpenAI's Responses against a server that nobody here wrote.

use std::sync::Arc;

use host::providers::{Access, ModelRequest, ModelResponse, Provider, openai::responses::Responses};
use mod_interface::types::{ContentBlock, Effort, EventPayload, Message, MessageSource, Role, Usage};
use serde_json::json;

use crate::support::{
    aimock::Aimock,
    models::{self, KEY, Outcome, failure, fixtures, hello, nth, read_file, request, text_delta, update},
    session::Folders,
};

fn provider(access: Access) -> Arc<dyn Provider> {
    Arc::new(Responses::new(access))
}

/// One call's outcome and its events.
async fn complete(mock: &Aimock, request: ModelRequest) -> Outcome {
    models::complete(provider(models::access(mock)), request).await
}

#[tokio::test]
async fn an_answer_streams_in() {
    let fixtures = fixtures(json!([{
        "match": {"userMessage": "hello", "systemMessage": "You help."},
        "response": {
            "content": "Hello! How can I help you today?",
            "usage": {"input_tokens": 12, "output_tokens": 7},
        },
    }]));
    let Some(mock) = Aimock::start("an_answer_streams_in", &fixtures, &["-c", "16"], &[]) else { return };
    let (result, events) = complete(&mock, request("hello")).await;
    let content = vec![ContentBlock::text("Hello! How can I help you today?")];
    let usage = Usage { input_tokens: 12, output_tokens: 7, ..Usage::default() };
    let stop_reason = "stop".to_owned();
    assert_eq!(result, Ok(ModelResponse { content: content.clone(), usage, stop_reason }));
    assert_eq!(events, [text_delta("Hello! How can I"), text_delta(" help you today?"), update(content)]);
}

#[tokio::test]
async fn tools_are_called_and_their_results_go_back_with_the_reasoning_that_called_them() {
    let name = "tools_are_called_and_their_results_go_back_with_the_reasoning_that_called_them";
    let fixtures = fixtures(json!([
        {"match": {"toolCallId": "call_b", "toolResultContains": "no such file"}, "response": {"content": "One is missing."}},
        {
            "match": {"toolName": "read_file", "hasToolResult": false},
            "response": {"content": "Looking.", "reasoning": "Two files.", "toolCalls": [
                {"id": "call_a", "name": "read_file", "arguments": {"file_path": "a.txt"}},
                {"id": "call_b", "name": "read_file", "arguments": {"file_path": "b.txt"}},
            ]},
        },
    ]));
    let Some(mock) = Aimock::start(name, &fixtures, &["-c", "8"], &[]) else { return };
    let mut request = ModelRequest { model: "gpt-5".into(), ..request("what is in a.txt and b.txt?") };
    request.effort = Some(Effort::Low);
    request.tools = [read_file()].into();
    let response = complete(&mock, request.clone()).await.0.unwrap();
    let call = |id: &str, file: &str| ContentBlock::ToolUse {
        id: id.to_owned(),
        name: "read_file".to_owned(),
        input: json!({ "file_path": file }),
    };
    let ContentBlock::Thinking { thinking, signature: Some(signature) } = &response.content[0] else {
        panic!("{response:?}")
    };
    assert_eq!(thinking, "Two files.");
    assert!(signature.starts_with(r#"openai-responses:{"id":"rs"#), "{signature}");
    let rest = [ContentBlock::text("Looking."), call("call_a", "a.txt"), call("call_b", "b.txt")];
    assert_eq!((&response.content[1..], response.stop_reason.as_str()), (&rest[..], "tool_calls"));

    let result = |id: &str, text: &str, is_error| ContentBlock::ToolResult {
        tool_use_id: id.to_owned(),
        content: vec![ContentBlock::text(text)],
        is_error,
    };
    let results = vec![result("call_a", "A", false), result("call_b", "no such file", true)];
    request.messages.extend([
        Arc::new(Message::assistant(response.content)),
        Arc::new(Message { role: Role::User, content: results, source: MessageSource::ToolResults }),
    ]);
    let response = complete(&mock, request).await.0.unwrap();
    assert_eq!(response.content.last(), Some(&ContentBlock::text("One is missing.")));
}

#[tokio::test]
async fn a_server_that_recovers_is_asked_again() {
    let mut busy = failure(429);
    busy["retryAfter"] = 1.into();
    let mut cut = nth(4, json!({"content": "Hello! How can I help you today?"}));
    cut["truncateAfterChunks"] = 6.into();
    let mut responses: Vec<_> = (0..3).map(|index| nth(index, failure(503))).collect();
    responses.extend([nth(3, busy), cut, nth(5, json!({"content": "Hello!"}))]);
    let name = "a_server_that_recovers_is_asked_again";
    let fixtures = fixtures(responses.into());
    let Some(mock) = Aimock::start(name, &fixtures, &["-l", "5", "-c", "16"], &[]) else { return };
    let (result, events) = complete(&mock, request("hello")).await;
    assert_eq!(result.unwrap().content, [ContentBlock::text("Hello!")]);
    let retries = events.iter().filter_map(|event| match event {
        EventPayload::ApiRetry { attempt, delay_ms, .. } => Some((*attempt, *delay_ms)),
        _ => None,
    });
    assert_eq!(retries.collect::<Vec<_>>(), [(5, 1000), (6, 1)]);
}

#[tokio::test]
async fn a_server_that_never_answers_well_is_given_up_with_the_reason() {
    models::is_given_up_with_the_reason(provider, request).await;
}

#[test]
fn the_program_runs_with_it() {
    let name = "the_program_runs_with_it";
    let Some(mock) = Aimock::start(name, &hello(), &[], &[("AIMOCK_API_KEYS", KEY)]) else { return };
    let folders = Folders::new();
    let program = folders.cmd(&["-p", "hello", "--model", "openai-responses/gpt-x"]);
    let ran = program.env("OPENAI_BASE_URL", mock.base_url()).env("OPENAI_API_KEY", KEY).run();
    assert_eq!(ran.told(), (0, "Hello!\n", ""));
}

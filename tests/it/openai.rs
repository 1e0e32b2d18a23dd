//! The OpenAI-compatible provider against a server that nobody here wrote.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use host::providers::{Access, CallError, ModelRequest, ModelResponse, Provider, openai::OpenAi};
use mod_interface::types::{ContentBlock, EventPayload, Message, MessageSource, Role, Usage};
use serde_json::json;

use crate::support::{
    aimock::Aimock,
    models::{self, KEY, Outcome, failure, fixtures, nth, read_file, request, text_delta, update},
};

fn provider(access: Access) -> Arc<dyn Provider> {
    Arc::new(OpenAi::new(access))
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
            "reasoning": "They greet me.",
            "usage": {"prompt_tokens": 12, "completion_tokens": 7, "total_tokens": 19},
        },
    }]));
    let Some(mock) = Aimock::start("an_answer_streams_in", &fixtures, &["-c", "16"], &[]) else { return };
    let (result, events) = complete(&mock, request("hello")).await;
    let thinking = || ContentBlock::Thinking { thinking: "They greet me.".to_owned(), signature: None };
    let content = vec![thinking(), ContentBlock::text("Hello! How can I help you today?")];
    let usage = Usage { input_tokens: 12, output_tokens: 7, ..Usage::default() };
    let stop_reason = "stop".to_owned();
    assert_eq!(result, Ok(ModelResponse { content: content.clone(), usage, stop_reason }));
    assert_eq!(
        events,
        [
            EventPayload::ThinkingStart {},
            EventPayload::ThinkingDelta { delta: "They greet me.".to_owned() },
            EventPayload::ThinkingEnd { text: "They greet me.".to_owned() },
            text_delta("Hello! How can I"),
            update(vec![thinking(), ContentBlock::text("Hello! How can I")]),
            text_delta(" help you today?"),
            update(content),
        ]
    );
}

#[tokio::test]
async fn tools_are_called_and_their_results_go_back() {
    let fixtures = fixtures(json!([
        {
            "match": {"toolCallId": "call_b", "toolResultContains": "Error: no such file"},
            "response": {"content": "One is missing."},
        },
        {
            "match": {"toolName": "read_file", "hasToolResult": false},
            "response": {"content": "Looking.", "toolCalls": [
                {"id": "call_a", "name": "read_file", "arguments": {"file_path": "a.txt"}},
                {"id": "call_b", "name": "read_file", "arguments": {"file_path": "b.txt"}},
            ]},
        },
    ]));
    let Some(mock) = Aimock::start("tools_are_called_and_their_results_go_back", &fixtures, &[], &[]) else {
        return;
    };
    let mut request = request("what is in a.txt and b.txt?");
    request.tools = [read_file()].into();
    let response = complete(&mock, request.clone()).await.0.unwrap();
    let call = |id: &str, file: &str| ContentBlock::ToolUse {
        id: id.to_owned(),
        name: "read_file".to_owned(),
        input: json!({ "file_path": file }),
    };
    let content = vec![ContentBlock::text("Looking."), call("call_a", "a.txt"), call("call_b", "b.txt")];
    assert_eq!((response.content.clone(), response.stop_reason.as_str()), (content, "tool_calls"));

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
    assert_eq!(response.content, [ContentBlock::text("One is missing.")]);
}

#[tokio::test]
async fn a_server_that_fails_five_times_is_asked_a_sixth_time() {
    let mut responses: Vec<_> = (0..5).map(|index| nth(index, failure(500))).collect();
    responses.push(nth(5, json!({"content": "Hello!"})));
    let fixtures = fixtures(responses.into());
    let Some(mock) =
        Aimock::start("a_server_that_fails_five_times_is_asked_a_sixth_time", &fixtures, &[], &[])
    else {
        return;
    };
    let (result, events) = complete(&mock, request("hello")).await;
    assert_eq!(result.unwrap().content, [ContentBlock::text("Hello!")]);
    let retry = |attempt| EventPayload::ApiRetry {
        attempt,
        error: "the model endpoint answered 500 Internal Server Error: no luck".to_owned(),
        delay_ms: 1,
    };
    let told = [retry(5), retry(6), text_delta("Hello!"), update(vec![ContentBlock::text("Hello!")])];
    assert_eq!(events, told);
}

#[tokio::test]
async fn the_wait_that_a_server_asks_for_is_kept() {
    let busy = |seconds: u32| {
        let mut busy = failure(429);
        busy["retryAfter"] = seconds.into();
        busy
    };
    let fixtures = fixtures(json!([
        nth(0, busy(1)),
        nth(1, json!({"content": "Hello!"})),
        {"match": {"userMessage": "good night"}, "response": busy(3600)},
    ]));
    let Some(mock) = Aimock::start("the_wait_that_a_server_asks_for_is_kept", &fixtures, &[], &[]) else {
        return;
    };
    let start = Instant::now();
    let (result, _) = complete(&mock, request("hello")).await;
    assert_eq!(result.unwrap().content, [ContentBlock::text("Hello!")]);
    assert!(start.elapsed() >= Duration::from_secs(1));

    let too_long = "the model endpoint answered 429 Too Many Requests: no luck; the server asks to wait 3600 s, \
                    more than the 60 s that a run waits: try again later";
    let (result, _) = complete(&mock, request("good night")).await;
    assert_eq!(result, Err(CallError::Fatal(too_long.to_owned())));
}

#[tokio::test]
async fn a_stream_cut_in_the_middle_is_started_anew() {
    let answer = json!({"content": "Hello! How can I help you today?"});
    let mut cut = nth(0, answer.clone());
    cut["truncateAfterChunks"] = 3.into();
    cut["latency"] = 20.into();
    let fixtures = fixtures(json!([cut, nth(1, answer)]));
    let Some(mock) =
        Aimock::start("a_stream_cut_in_the_middle_is_started_anew", &fixtures, &["-c", "16"], &[])
    else {
        return;
    };
    let (result, events) = complete(&mock, request("hello")).await;
    let whole = vec![ContentBlock::text("Hello! How can I help you today?")];
    assert_eq!(result.unwrap().content, whole);
    let halves = || [text_delta("Hello! How can I"), text_delta(" help you today?")];
    let begun = vec![halves()[0].clone(), update(vec![])];
    assert_eq!(events, [begun, halves().into(), vec![update(whole)]].concat());
}

#[tokio::test]
async fn a_server_that_never_answers_well_is_given_up_with_the_reason() {
    models::is_given_up_with_the_reason(provider, request).await;
}

#[tokio::test]
async fn a_request_that_a_server_refuses_is_not_made_again() {
    let fixtures = fixtures(json!([{"match": {"userMessage": "hello"}, "response": {"content": "Hello!"}}]));
    let name = "a_request_that_a_server_refuses_is_not_made_again";
    let Some(mock) = Aimock::start(name, &fixtures, &[], &[]) else { return };
    let refused = "the model endpoint answered 404 Not Found: No fixture matched; check the model's name and \
                   OPENAI_BASE_URL";
    assert_eq!(
        complete(&mock, request("good night")).await,
        (Err(CallError::Fatal(refused.to_owned())), vec![])
    );

    let Some(mock) = Aimock::start(name, &fixtures, &[], &[("AIMOCK_API_KEYS", KEY)]) else { return };
    assert_eq!(complete(&mock, request("hello")).await.0.unwrap().content, [ContentBlock::text("Hello!")]);
    let Some(mock) = Aimock::start(name, &fixtures, &[], &[("AIMOCK_API_KEYS", "another-key")]) else {
        return;
    };
    let refused = "the model endpoint answered 401 Unauthorized: Invalid API key; check OPENAI_API_KEY";
    assert_eq!(complete(&mock, request("hello")).await.0, Err(CallError::Fatal(refused.to_owned())));
}

//! The provider of Anthropic's Messages against a server that nobody here wrote.

use std::sync::Arc;

use host::providers::{Access, ModelRequest, ModelResponse, Provider, anthropic::Anthropic};
use mod_interface::types::{ContentBlock, Effort, EventPayload, Message, MessageSource, Role, Usage};
use serde_json::{Value, json};

use crate::support::{
    aimock::Aimock,
    models::{self, KEY, Outcome, failure, fixtures, hello, nth, read_file, text_delta, update},
    session::Folders,
};

fn provider(access: Access) -> Arc<dyn Provider> {
    Arc::new(Anthropic::new(access))
}

/// One call's outcome and its events.
async fn complete(mock: &Aimock, request: ModelRequest) -> Outcome {
    models::complete(provider(models::access(mock)), request).await
}

fn request(text: &str) -> ModelRequest {
    ModelRequest { model: "claude-sonnet-4-5".into(), ..models::request(text) }
}

fn thought(signature: &str) -> ContentBlock {
    ContentBlock::Thinking {
        thinking: "They greet me.".to_owned(),
        signature: Some(format!("anthropic:{signature}")),
    }
}

fn redacted() -> ContentBlock {
    ContentBlock::Thinking {
        thinking: String::new(),
        signature: Some("anthropic-redacted:c2VjcmV0".to_owned()),
    }
}

#[tokio::test]
async fn an_answer_streams_in() {
    let fixtures = fixtures(json!([{
        "match": {"userMessage": "hello", "systemMessage": "You help."},
        "response": {
            "content": "Hello! How can I help you today?",
            "reasoning": "They greet me.",
            "reasoningSignature": "c2lnbmVk",
            "usage": {"input_tokens": 12, "output_tokens": 7},
        },
    }]));
    let Some(mock) = Aimock::start("an_answer_streams_in", &fixtures, &["-c", "16"], &[]) else { return };
    let mut request = request("hello");
    request.effort = Some(Effort::Low);
    let (result, events) = complete(&mock, request).await;
    let content = vec![thought("c2lnbmVk"), ContentBlock::text("Hello! How can I help you today?")];
    let usage = Usage { input_tokens: 12, output_tokens: 7, ..Usage::default() };
    let stop_reason = "end_turn".to_owned();
    assert_eq!(result, Ok(ModelResponse { content: content.clone(), usage, stop_reason }));
    assert_eq!(
        events,
        [
            EventPayload::ThinkingStart {},
            EventPayload::ThinkingDelta { delta: "They greet me.".to_owned() },
            EventPayload::ThinkingEnd { text: "They greet me.".to_owned() },
            update(vec![thought("c2lnbmVk")]),
            text_delta("Hello! How can I"),
            text_delta(" help you today?"),
            update(content),
        ]
    );
}

#[tokio::test]
async fn tools_are_called_and_their_results_go_back_with_the_reasoning_that_called_them() {
    let name = "tools_are_called_and_their_results_go_back_with_the_reasoning_that_called_them";
    let calling = |prompt: &str, reasoning: Value| {
        let mut response = json!({"toolCalls": [
            {"id": "call_a", "name": "read_file", "arguments": {"file_path": "a.txt"}},
            {"id": "call_b", "name": "read_file", "arguments": {"file_path": "b.txt"}},
        ]});
        response.as_object_mut().unwrap().extend(reasoning.as_object().unwrap().clone());
        json!({"match": {"userMessage": prompt, "toolName": "read_file", "hasToolResult": false}, "response": response})
    };
    let fixtures = fixtures(json!([
        {"match": {"toolCallId": "call_b", "toolResultContains": "no such file"}, "response": {"content": "One is missing."}},
        calling("aloud", json!({"reasoning": "They greet me.", "reasoningSignature": "c2lnbmVk"})),
        calling("silently", json!({"redactedThinking": ["c2VjcmV0"]})),
        calling("at once", json!({})),
    ]));
    // It refuses a conversation whose reasoning was lost.
    let Some(mock) = Aimock::start(name, &fixtures, &["--strict"], &[]) else { return };
    for (prompt, reasoning) in
        [("aloud", Some(thought("c2lnbmVk"))), ("silently", Some(redacted())), ("at once", None)]
    {
        let mut request = request(prompt);
        request.effort = Some(Effort::High);
        request.tools = [read_file()].into();
        let response = complete(&mock, request.clone()).await.0.unwrap();
        let call = |id: &str, file: &str| ContentBlock::ToolUse {
            id: id.to_owned(),
            name: "read_file".to_owned(),
            input: json!({ "file_path": file }),
        };
        let calls = [call("call_a", "a.txt"), call("call_b", "b.txt")];
        let content: Vec<_> = reasoning.into_iter().chain(calls).collect();
        assert_eq!((&response.content, response.stop_reason.as_str()), (&content, "tool_use"), "{prompt}");

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
        assert_eq!(response.content, [ContentBlock::text("One is missing.")], "{prompt}");
    }
}

#[tokio::test]
async fn a_server_that_is_overloaded_is_asked_again() {
    let mut busy = failure(429);
    busy["retryAfter"] = 1.into();
    let mut cut = nth(5, json!({"content": "Hello! How can I help you today?"}));
    cut["truncateAfterChunks"] = 5.into();
    let mut responses: Vec<_> = (0..4).map(|index| nth(index, failure(529))).collect();
    responses.extend([nth(4, busy), cut, nth(6, json!({"content": "Hello!"}))]);
    let name = "a_server_that_is_overloaded_is_asked_again";
    let fixtures = fixtures(responses.into());
    let Some(mock) = Aimock::start(name, &fixtures, &["-l", "5", "-c", "16"], &[]) else { return };
    let (result, events) = complete(&mock, request("hello")).await;
    assert_eq!(result.unwrap().content, [ContentBlock::text("Hello!")]);
    let retries: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            EventPayload::ApiRetry { attempt, error, delay_ms } => {
                Some((*attempt, error.as_str(), *delay_ms))
            }
            _ => None,
        })
        .collect();
    let origin = mock.base_url().strip_suffix("/v1").unwrap();
    let cut = format!(
        "cannot talk to {origin}: error reading a body from connection: unexpected EOF during chunk size line"
    );
    assert_eq!(
        retries,
        [
            (5, "the model endpoint answered 529: no luck", 1),
            (6, "the model endpoint answered 429 Too Many Requests: no luck", 1000),
            (7, &*cut, 1),
        ]
    );
}

#[tokio::test]
async fn a_server_that_never_answers_well_is_given_up_with_the_reason() {
    models::is_given_up_with_the_reason(provider, request).await;
}

#[test]
fn the_program_runs_with_it() {
    let fixtures = hello();
    let name = "the_program_runs_with_it";
    let Some(mock) = Aimock::start(name, &fixtures, &[], &[("AIMOCK_API_KEYS", KEY)]) else { return };
    let folders = Folders::new();
    let program = || folders.cmd(&["-p", "hello", "--model", "anthropic/claude-x"]);
    let ran = program()
        .env("ANTHROPIC_BASE_URL", mock.base_url().strip_suffix("/v1").unwrap())
        .env("ANTHROPIC_API_KEY", KEY)
        .run();
    assert_eq!(ran.told(), (0, "Hello!\n", ""));
    let refused = "error: no key for the model provider anthropic: set ANTHROPIC_API_KEY (with ANTHROPIC_BASE_URL at a \
                   server on this machine, any value will do)\n";
    assert_eq!(program().run().told(), (1, "", refused));
}

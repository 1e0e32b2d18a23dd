//! One call of a model, and what servers say in tests.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use host::{
    events::EventBus,
    providers::{Access, CallError, ModelClient, ModelRequest, ModelResponse, Provider, RetryPolicy},
};
use mod_interface::types::{AgentEvent, ContentBlock, EventPayload, Message, ToolSpec};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::aimock::Aimock;

pub(crate) const KEY: &str = "a-key-for-tests";

/// Waits that a test can wait for.
const RETRY: RetryPolicy = RetryPolicy {
    max_attempts: 8,
    base_delay: Duration::from_millis(1),
    max_delay: Duration::from_millis(1),
};

/// What came of a call, and its events.
pub(crate) type Outcome = (Result<ModelResponse, CallError>, Vec<EventPayload>);

/// The way to a server of the tests.
pub(crate) fn access(mock: &Aimock) -> Access {
    Access { base_url: Some(mock.base_url().to_owned()), api_key: Some(KEY.to_owned()) }
}

pub(crate) async fn complete(provider: Arc<dyn Provider>, request: ModelRequest) -> Outcome {
    provider.prepare(&request.model).unwrap();
    let bus = EventBus::new();
    let events = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&events);
    bus.add(Arc::new(move |event: &AgentEvent| sink.lock().unwrap().push(event.payload.clone())));
    let client = ModelClient::new(provider, RETRY).with_jitter(|| 1.0);
    let result = client.complete(request, &bus.main(), &CancellationToken::new()).await;
    let events = std::mem::take(&mut *events.lock().unwrap());
    (result, events)
}

pub(crate) fn request(text: &str) -> ModelRequest {
    ModelRequest {
        model: "gpt-x".into(),
        system: "You help.".into(),
        messages: vec![Arc::new(Message::user(text))],
        tools: Arc::default(),
        effort: None,
    }
}

pub(crate) fn read_file() -> ToolSpec {
    ToolSpec {
        name: "read_file".to_owned(),
        description: "Reads a file.".to_owned(),
        input_schema: json!({"type": "object", "properties": {"file_path": {"type": "string"}}}),
        read_only: true,
    }
}

pub(crate) fn fixtures(fixtures: Value) -> Value {
    json!({ "fixtures": fixtures })
}

pub(crate) fn hello() -> Value {
    fixtures(json!([{"match": {}, "response": {"content": "Hello!"}}]))
}

pub(crate) fn failure(status: u16) -> Value {
    json!({"error": {"message": "no luck", "type": "server_error"}, "status": status})
}

/// The response number `index` to all requests.
pub(crate) fn nth(index: usize, response: Value) -> Value {
    json!({"match": {"userMessage": "hello", "sequenceIndex": index}, "response": response})
}

pub(crate) fn text_delta(delta: &str) -> EventPayload {
    EventPayload::TextDelta { delta: delta.to_owned() }
}

pub(crate) fn update(content: Vec<ContentBlock>) -> EventPayload {
    EventPayload::MessageUpdate { message: Message::assistant(content) }
}

pub(crate) fn gave_up(last: &str) -> Result<ModelResponse, CallError> {
    Err(CallError::GaveUp { attempts: 8, last: last.to_owned() })
}

/// A server that fails in each way that it can, again and again, is given up.
pub(crate) async fn is_given_up_with_the_reason(
    provider: fn(Access) -> Arc<dyn Provider>,
    request: fn(&str) -> ModelRequest,
) {
    let cases = [
        ("--chaos-drop", "the model endpoint answered 500 Internal Server Error: Chaos: request dropped"),
        (
            "--chaos-malformed",
            "the model endpoint answered with broken JSON (key must be a string at line 1 column 2): \
             {malformed json: <<<chaos>>>",
        ),
        ("--chaos-disconnect", "connection closed before message completed"),
    ];
    for (chaos, reason) in cases {
        let name = "a_server_that_never_answers_well_is_given_up_with_the_reason";
        let Some(mock) = Aimock::start(name, &hello(), &[chaos, "1"], &[]) else { return };
        let origin = mock.base_url().strip_suffix("/v1").unwrap();
        let last = match chaos {
            "--chaos-disconnect" => format!("cannot talk to {origin}: client error (SendRequest): {reason}"),
            _ => reason.to_owned(),
        };
        assert_eq!(complete(provider(access(&mock)), request("hello")).await.0, gave_up(&last));
    }
}

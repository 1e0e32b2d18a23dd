//! One call of a model, and what servers say in tests.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use host::{
    events::EventBus,
    providers::{CallError, ModelClient, ModelRequest, ModelResponse, Provider, RetryPolicy},
};
use mod_interface::types::{AgentEvent, ContentBlock, EventPayload, Message, ToolSpec};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

pub(crate) const KEY: &str = "a-key-for-tests";

/// Waits that a test can wait for.
const RETRY: RetryPolicy = RetryPolicy {
    max_attempts: 8,
    base_delay: Duration::from_millis(1),
    max_delay: Duration::from_millis(1),
};

/// One call's outcome and its events.
pub(crate) async fn complete(
    provider: Arc<dyn Provider>,
    request: ModelRequest,
) -> (Result<ModelResponse, CallError>, Vec<EventPayload>) {
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

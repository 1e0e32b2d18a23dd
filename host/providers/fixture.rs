//! What the tests of this module share.

use std::sync::{Arc, Mutex};

use mod_interface::types::{AgentEvent, EventPayload, Message};

use super::ModelRequest;
use crate::events::{Emitter, EventBus};

/// A request of one user message, without tools.
pub(super) fn request(model: &str, text: &str) -> ModelRequest {
    ModelRequest {
        model: model.into(),
        system: "You help.".into(),
        messages: vec![Arc::new(Message::user(text))],
        tools: Arc::default(),
        effort: None,
    }
}

/// Keeps every event that its emitter raises.
pub(super) struct Recorder {
    pub(super) emitter: Emitter,
    events: Arc<Mutex<Vec<EventPayload>>>,
}

impl Recorder {
    pub(super) fn new() -> Self {
        let bus = EventBus::new();
        let events = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&events);
        bus.add(Arc::new(move |event: &AgentEvent| sink.lock().unwrap().push(event.payload.clone())));
        Self { emitter: bus.main(), events }
    }

    pub(super) fn take(&self) -> Vec<EventPayload> {
        std::mem::take(&mut self.events.lock().unwrap())
    }
}

pub(super) fn text_delta(delta: &str) -> EventPayload {
    EventPayload::TextDelta { delta: delta.to_owned() }
}

pub(super) fn update(content: Vec<mod_interface::types::ContentBlock>) -> EventPayload {
    EventPayload::MessageUpdate { message: Message::assistant(content) }
}

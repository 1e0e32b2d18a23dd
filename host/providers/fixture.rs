//! What the tests of this module share.

use std::sync::{Arc, Mutex};

use mod_interface::types::{AgentEvent, EventPayload, Message};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpListener,
};

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

/// Answers each connection with the next of its responses, then closes it.
pub(super) struct Server {
    pub(super) base_url: String,
    pub(super) requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    pub(super) async fn start(responses: impl IntoIterator<Item = String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (seen, responses) = (Arc::clone(&requests), responses.into_iter().collect::<Vec<_>>());
        tokio::spawn(async move {
            for response in responses {
                let (mut stream, _) = listener.accept().await.unwrap();
                let request = read_request(&mut stream).await;
                seen.lock().unwrap().push(request);
                stream.write_all(response.as_bytes()).await.unwrap();
            }
        });
        Self { base_url, requests }
    }
}

async fn read_request(stream: &mut tokio::net::TcpStream) -> String {
    let mut reader = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).await.unwrap();
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        head.push_str(&line);
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).await.unwrap();
    head + &String::from_utf8(body).unwrap()
}

pub(super) fn answer(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n{body}")
}

pub(super) fn events_of(body: &str) -> String {
    answer("200 OK", "content-type: text/event-stream; charset=utf-8\r\n", body)
}

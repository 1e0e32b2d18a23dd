//! Against a server of a few lines: what is this API's own on the wire.

use std::time::Duration;

use futures::TryStreamExt;
use mod_interface::types::Usage;

use super::*;
use crate::providers::{
    ModelEvent,
    fixture::{Server, answer, events_of, request},
};

const KEY: &str = "sk-secret-1";

async fn call(server: &Server) -> Result<Vec<ModelEvent>, ProviderError> {
    let access = Access { base_url: Some(server.base_url.clone()), api_key: Some(KEY.to_owned()) };
    Anthropic::new(access).stream(request("claude-x", "hello")).try_collect().await
}

#[tokio::test]
async fn a_request_is_posted_with_the_key_and_its_stream_is_read() {
    let stream = "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
    let server = Server::start([events_of(stream)]).await;
    let done = ModelEvent::Done { stop_reason: "end_turn".to_owned(), usage: Usage::default() };
    assert_eq!(call(&server).await, Ok(vec![done]));
    let requests = server.requests.lock().unwrap();
    let (head, body) = requests[0].split_once("\r\n\r\n").unwrap();
    let mut lines: Vec<_> = head.lines().filter(|line| !line.starts_with("host: ")).collect();
    lines.sort_unstable();
    assert_eq!(
        lines,
        [
            "POST /v1/messages HTTP/1.1",
            "accept: text/event-stream",
            "anthropic-version: 2023-06-01",
            &format!("content-length: {}", body.len()),
            "content-type: application/json",
            concat!("user-agent: cmd/", env!("CARGO_PKG_VERSION")),
            "x-api-key: sk-secret-1",
        ]
    );
}

#[tokio::test]
async fn a_failure_says_its_status_and_whether_to_try_again() {
    let error = |kind: &str| {
        format!(r#"{{"type": "error", "error": {{"type": "{kind}", "message": "sorry sk-secret-1"}}}}"#)
    };
    let retry = |message: &str, retry_after| ProviderError::Retryable {
        message: format!("the model endpoint answered {message}"),
        retry_after,
    };
    let fatal = |message: &str| ProviderError::fatal(format!("the model endpoint answered {message}"));
    let cases = [
        ("529 Overloaded", "", "overloaded_error", retry("529: sorry ***", None)),
        (
            "429 Too Many Requests",
            "retry-after: 3\r\n",
            "rate_limit_error",
            retry("429 Too Many Requests: sorry ***", Some(Duration::from_secs(3))),
        ),
        ("500 Internal Server Error", "", "api_error", retry("500 Internal Server Error: sorry ***", None)),
        ("400 Bad Request", "", "invalid_request_error", fatal("400 Bad Request: sorry ***")),
        (
            "401 Unauthorized",
            "",
            "authentication_error",
            fatal("401 Unauthorized: sorry ***; check ANTHROPIC_API_KEY"),
        ),
        (
            "404 Not Found",
            "",
            "not_found_error",
            fatal("404 Not Found: sorry ***; check the model's name and ANTHROPIC_BASE_URL"),
        ),
        ("413 Payload Too Large", "", "request_too_large", fatal("413 Payload Too Large: sorry ***")),
    ];
    for (status, headers, kind, expected) in cases {
        let server = Server::start([answer(status, headers, &error(kind))]).await;
        assert_eq!(call(&server).await, Err(expected));
    }
}

#[test]
fn what_is_missing_is_told_before_a_run() {
    let refused = |base_url: Option<&str>, api_key: Option<&str>| {
        let access = Access { base_url: base_url.map(str::to_owned), api_key: api_key.map(str::to_owned) };
        Anthropic::new(access).prepare("claude-x").unwrap_err().to_string()
    };
    assert_eq!(
        refused(None, None),
        "no key for the model provider anthropic: set ANTHROPIC_API_KEY (with ANTHROPIC_BASE_URL at a server on this \
         machine, any value will do)"
    );
    assert_eq!(
        refused(Some("ftp://a"), Some(KEY)),
        "ANTHROPIC_BASE_URL must be like http://127.0.0.1:8080 or https://api.anthropic.com, got another kind of \
         address: ftp"
    );
}

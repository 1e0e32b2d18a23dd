//! Against a server of a few lines, for what a real one rarely does.

use std::time::Duration;

use mod_interface::types::Usage;
use tokio::net::TcpListener;

use super::*;
use crate::providers::{
    Provider,
    fixture::{Server, answer, events_of, request},
    openai::OpenAi,
};

const KEY: &str = "sk-secret-1";

impl Server {
    fn provider(&self) -> OpenAi {
        provider(&self.base_url)
    }

    /// The events up to the end or the first error.
    async fn call(&self) -> Result<Vec<ModelEvent>, ProviderError> {
        self.provider().stream(request("gpt-x", "hello")).try_collect().await
    }
}

fn provider(base_url: &str) -> OpenAi {
    OpenAi::new(Access { base_url: Some(base_url.to_owned()), api_key: Some(format!(" {KEY}\n")) })
}

fn retryable(message: &str, retry_after: Option<Duration>) -> ProviderError {
    ProviderError::Retryable { message: message.to_owned(), retry_after }
}

const HELLO: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\n\
                     data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

fn hello() -> Vec<ModelEvent> {
    let stop_reason = "stop".to_owned();
    vec![ModelEvent::Text("Hi".to_owned()), ModelEvent::Done { stop_reason, usage: Usage::default() }]
}

#[tokio::test]
async fn a_request_is_posted_with_the_key_and_its_stream_is_read() {
    let server = Server::start([events_of(HELLO)]).await;
    assert_eq!(server.call().await, Ok(hello()));
    let requests = server.requests.lock().unwrap();
    let (head, body) = requests[0].split_once("\r\n\r\n").unwrap();
    let mut lines: Vec<_> = head.lines().filter(|line| !line.starts_with("host: ")).collect();
    lines.sort_unstable();
    let length = format!("content-length: {}", body.len());
    assert_eq!(
        lines,
        [
            "POST /v1/chat/completions HTTP/1.1",
            "accept: text/event-stream",
            "authorization: Bearer sk-secret-1",
            length.as_str(),
            "content-type: application/json",
            concat!("user-agent: cmd/", env!("CARGO_PKG_VERSION")),
        ]
    );
}

#[tokio::test]
async fn a_stream_without_a_type_and_comments_in_it_are_fine() {
    let server = Server::start([answer("200 OK", "", &format!(": waiting\n\n{HELLO}"))]).await;
    let events = server.call().await.unwrap();
    let told: Vec<_> = events.into_iter().filter(|event| *event != ModelEvent::Alive).collect();
    assert_eq!(told, hello());
}

#[tokio::test]
async fn bytes_that_tell_nothing_are_a_sign_of_life() {
    let server = Server::start([events_of(": waiting\n\n")]).await;
    assert_eq!(server.call().await, Ok(vec![ModelEvent::Alive]));
}

#[tokio::test]
async fn a_failure_says_its_status_and_the_servers_own_message_and_whether_to_try_again() {
    let error = |message: &str| format!(r#"{{"error": {{"message": "{message}", "type": "some_error"}}}}"#);
    let cases = [
        ("500 Internal Server Error", "", error("broken"), ": broken", Some(None)),
        ("503 Service Unavailable", "content-type: text/html\r\n", "<html>".to_owned(), "", Some(None)),
        ("408 Request Timeout", "", String::new(), "", Some(None)),
        (
            "429 Too Many Requests",
            "retry-after: 7\r\n",
            error("slow"),
            ": slow",
            Some(Some(Duration::from_secs(7))),
        ),
        ("429 Too Many Requests", "", error("x").replace("some_error", "insufficient_quota"), ": x", None),
        ("400 Bad Request", "", error("too long"), ": too long", None),
        ("401 Unauthorized", "", error("bad key: sk-secret-1"), ": bad key: ***; check OPENAI_API_KEY", None),
        ("403 Forbidden", "", "not here".to_owned(), ": not here; check OPENAI_API_KEY", None),
        (
            "404 Not Found",
            "",
            error("no such model"),
            ": no such model; check the model's name and OPENAI_BASE_URL",
            None,
        ),
        ("422 Unprocessable Entity", "", r#"{"error": "odd"}"#.to_owned(), ": odd", None),
        (
            "307 Temporary Redirect",
            "location: http://elsewhere.example/v1\r\n",
            String::new(),
            "; redirects are not followed, set OPENAI_BASE_URL to where it points: http://elsewhere.example/v1",
            None,
        ),
    ];
    for (status, headers, body, said, retry) in cases {
        let server = Server::start([answer(status, headers, &body)]).await;
        let message = format!("the model endpoint answered {status}{said}");
        let expected = match retry {
            Some(retry_after) => retryable(&message, retry_after),
            None => ProviderError::Fatal(message),
        };
        assert_eq!(server.call().await, Err(expected));
    }
}

#[tokio::test]
async fn an_answer_that_is_no_stream_says_what_it_is() {
    let json = |body: &str| answer("200 OK", "content-type: application/json\r\n", body);
    let cases = [
        (
            json("{broken"),
            retryable(
                "the model endpoint answered with broken JSON (key must be a string at line 1 column 2): {broken",
                None,
            ),
        ),
        (
            json(r#"{"choices": []}"#),
            ProviderError::fatal(r#"the model endpoint did not stream its answer, got: {"choices": []}"#),
        ),
        (json(r#"{"error": {"message": "busy"}}"#), retryable("the model endpoint broke off: busy", None)),
        (
            answer("200 OK", "content-type: text/html\r\n", "<html>log in</html>"),
            ProviderError::fatal("the model endpoint answered with a web page: check OPENAI_BASE_URL"),
        ),
    ];
    for (response, expected) in cases {
        let server = Server::start([response]).await;
        assert_eq!(server.call().await, Err(expected));
    }
}

#[tokio::test]
async fn a_connection_cut_in_the_middle_of_a_stream_can_be_tried_again() {
    let cut = events_of(HELLO).split_once("data: [DONE]").unwrap().0.to_owned();
    let server = Server::start([cut]).await;
    let origin = server.base_url.strip_suffix("/v1").unwrap();
    let mut events = server.provider().stream(request("gpt-x", "hello"));
    assert_eq!(events.try_next().await, Ok(hello().into_iter().next()));
    let error = events.try_next().await.unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, ProviderError::Retryable { retry_after: None, .. }), "{error:?}");
    assert!(
        text.starts_with(&format!("cannot talk to {origin}: ")) && text.len() > origin.len() + 20,
        "{text}"
    );
}

#[tokio::test]
async fn a_server_that_is_not_there_can_be_tried_again() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let refused = provider(&origin).stream(request("gpt-x", "hello")).try_next().await;
    assert_eq!(
        refused,
        Err(retryable(
            &format!(
                "cannot talk to {origin}: client error (Connect): tcp connect error: Connection refused (os error 111)"
            ),
            None
        ))
    );
}

fn refusal(base_url: Option<&str>, api_key: Option<&str>) -> String {
    let access = Access { base_url: base_url.map(str::to_owned), api_key: api_key.map(str::to_owned) };
    let Err(ProviderError::Fatal(message)) = OpenAi::new(access).prepare("gpt-x") else {
        panic!("not refused")
    };
    message
}

#[test]
fn what_is_missing_is_told_before_a_run() {
    let no_key = "no key for the model provider openai: set OPENAI_API_KEY (with OPENAI_BASE_URL at a server on \
                  this machine, any value will do)";
    assert_eq!(refusal(None, None), no_key);
    assert_eq!(refusal(Some("http://127.0.0.1:1/v1"), Some(" ")), no_key);
    assert_eq!(
        refusal(None, Some("a\nb")),
        "the key in OPENAI_API_KEY holds characters that no key has: set it anew"
    );
    let form = "OPENAI_BASE_URL must be like http://127.0.0.1:8080/v1 or https://api.openai.com/v1, got";
    let cases = [
        ("localhost:8080", "another kind of address: localhost"),
        ("v1", "no address: relative URL without a base"),
        (
            "http://me:sk-secret-1@127.0.0.1/v1",
            "one with a user name or password in it: put the key into OPENAI_API_KEY",
        ),
    ];
    for (base_url, got) in cases {
        assert_eq!(refusal(Some(base_url), Some(KEY)), format!("{form} {got}"));
    }
}

const API: Api = Api {
    provider: "acme",
    key_variable: "ACME_KEY",
    base_variable: "ACME_URL",
    official: "https://acme.example",
    example: "http://127.0.0.1:1",
    path: &["v1", "say"],
    authorization: ("x-key", ""),
    headers: &[],
};

#[test]
fn the_address_is_the_base_and_the_path_whether_or_not_it_ends_with_a_slash_or_the_paths_first_part() {
    let url = |base: &str| API.url(base).unwrap().to_string();
    assert_eq!(url(API.official), "https://acme.example/v1/say");
    assert_eq!(url(" http://127.0.0.1:1/v1/ "), "http://127.0.0.1:1/v1/say");
    assert_eq!(url("http://127.0.0.1:1/v1"), "http://127.0.0.1:1/v1/say");
    assert_eq!(url("http://[::1]:1"), "http://[::1]:1/v1/say");
    assert_eq!(url("http://a.example/x?v=1"), "http://a.example/x/v1/say?v=1");
}

#[test]
fn the_key_is_not_in_debug_output() {
    let access = Access { base_url: Some("http://a".to_owned()), api_key: Some(KEY.to_owned()) };
    assert_eq!(format!("{access:?}"), r#"Access { base_url: Some("http://a"), api_key: Some("***") }"#);
}

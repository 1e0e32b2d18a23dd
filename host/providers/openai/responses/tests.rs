use futures::TryStreamExt;
use mod_interface::types::Usage;

use super::*;
use crate::providers::{
    ModelEvent,
    fixture::{Server, events_of, request},
};

#[tokio::test]
async fn a_request_is_posted_with_the_key_and_its_stream_is_read() {
    let stream = "data: {\"type\":\"response.completed\",\"response\":{}}\n\n";
    let server = Server::start([events_of(stream)]).await;
    let access = Access { base_url: Some(server.base_url.clone()), api_key: Some("sk-secret-1".to_owned()) };
    let events = Responses::new(access).stream(request("gpt-x", "hello")).try_collect::<Vec<_>>().await;
    let done = ModelEvent::Done { stop_reason: "stop".to_owned(), usage: Usage::default() };
    assert_eq!(events, Ok(vec![done]));
    let requests = server.requests.lock().unwrap();
    let lines: Vec<_> =
        requests[0].lines().filter(|line| line.contains("HTTP") || line.contains("sk-")).collect();
    assert_eq!(lines, ["POST /v1/responses HTTP/1.1", "authorization: Bearer sk-secret-1"]);
}

#[test]
fn what_is_missing_is_told_before_a_run() {
    let refused = Responses::new(Access::default()).prepare("gpt-x").unwrap_err().to_string();
    let told = "no key for the model provider openai: set OPENAI_API_KEY (with OPENAI_BASE_URL at a server on this \
                machine, any value will do)";
    assert_eq!(refused, told);
}

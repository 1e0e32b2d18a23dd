use std::{
    io::Write,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use futures::{FutureExt, stream};
use mod_interface::types::ContentBlock;
use serde_json::{Value, json};
use tempfile::NamedTempFile;
use tokio::time::Instant;

use super::*;
use crate::providers::{
    ModelEvent, ModelStream,
    fixture::{Recorder, request, text_delta, update},
    scripted::Scripted,
};

/// A client of the scripted model, the request that plays the scenario, and what keeps its file.
struct Call {
    client: ModelClient,
    request: ModelRequest,
    recorder: Recorder,
    cancel: CancellationToken,
    _file: NamedTempFile,
}

impl Call {
    fn of(turns: Value) -> Self {
        let mut file = NamedTempFile::new().unwrap();
        write!(file, "{}", json!({ "turns": turns })).unwrap();
        let provider = Arc::new(Scripted::new(std::path::Path::new("/")));
        Self {
            client: ModelClient::new(provider, RetryPolicy::default()).with_jitter(|| 1.0),
            request: request(file.path().to_str().unwrap(), "hello"),
            recorder: Recorder::new(),
            cancel: CancellationToken::new(),
            _file: file,
        }
    }

    async fn complete(&self) -> Result<ModelResponse, CallError> {
        self.client.complete(self.request.clone(), &self.recorder.emitter, &self.cancel).await
    }
}

fn text(text: &str) -> ContentBlock {
    ContentBlock::text(text)
}

fn thinking(thinking: &str) -> ContentBlock {
    ContentBlock::Thinking { thinking: thinking.to_owned(), signature: None }
}

fn tool_use(id: &str, name: &str, input: Value) -> ContentBlock {
    ContentBlock::ToolUse { id: id.to_owned(), name: name.to_owned(), input }
}

fn thinking_delta(delta: &str) -> EventPayload {
    EventPayload::ThinkingDelta { delta: delta.to_owned() }
}

fn thinking_end(text: &str) -> EventPayload {
    EventPayload::ThinkingEnd { text: text.to_owned() }
}

fn api_retry(attempt: u32, delay_ms: u64) -> EventPayload {
    EventPayload::ApiRetry { attempt, error: "busy".to_owned(), delay_ms }
}

fn failing(times: usize) -> Vec<Value> {
    vec![json!({"error": {"kind": "retryable", "message": "busy"}}); times]
}

#[tokio::test(start_paused = true)]
async fn a_response_is_told_piece_by_piece_and_returned_whole() {
    let call = Call::of(json!([{
        "thinking": "Hm. Ah.", "text": "Hello!", "chunks": 2, "stop_reason": "stop",
        "tool_calls": [{"name": "read", "input": {"a": 1}}, {"id": "x", "name": "list"}],
        "usage": {"input_tokens": 3, "output_tokens": 4, "cache_read_tokens": 5, "cache_write_tokens": 6},
    }]));
    let content = vec![
        thinking("Hm. Ah."),
        text("Hello!"),
        tool_use("call_1_1", "read", json!({"a": 1})),
        tool_use("x", "list", json!({})),
    ];
    assert_eq!(
        call.complete().await,
        Ok(ModelResponse {
            content: content.clone(),
            usage: Usage { input_tokens: 3, output_tokens: 4, cache_read_tokens: 5, cache_write_tokens: 6 },
            stop_reason: "stop".to_owned(),
        })
    );
    let spoken = || vec![thinking("Hm. Ah."), text("Hello!")];
    let with = |more: Vec<ContentBlock>| update([spoken(), more].concat());
    assert_eq!(
        call.recorder.take(),
        [
            EventPayload::ThinkingStart {},
            thinking_delta("Hm. "),
            thinking_delta("Ah."),
            thinking_end("Hm. Ah."),
            text_delta("Hel"),
            update(vec![thinking("Hm. Ah."), text("Hel")]),
            text_delta("lo!"),
            with(vec![tool_use("call_1_1", "read", json!(""))]),
            with(vec![tool_use("call_1_1", "read", json!({"a": 1})), tool_use("x", "list", json!(""))]),
            update(content),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_partial_tool_input_is_shown_as_its_text() {
    let long = "x".repeat(600);
    let call = Call::of(json!([{"tool_calls": [{"name": "write", "input": {"a": long}}], "chunks": 2}]));
    call.complete().await.unwrap();
    let whole = json!({ "a": long });
    let half = &whole.to_string()[..304];
    assert_eq!(
        call.recorder.take(),
        [
            update(vec![tool_use("call_1_1", "write", json!(""))]),
            update(vec![tool_use("call_1_1", "write", json!(half))]),
            update(vec![tool_use("call_1_1", "write", json!(whole.to_string()))]),
            update(vec![tool_use("call_1_1", "write", whole)]),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_tool_input_is_kept_as_the_model_sent_it() {
    let call = Call::of(json!([{"tool_calls": [
        {"name": "a", "input": null, "input_text": "null"},
        {"name": "b", "input": [{"x": 1}]},
        {"name": "c", "input": "{\"x\":1}"},
        {"name": "d", "input": [1]},
        {"name": "e", "input_text": "{\"x\":"},
        {"name": "f", "input_text": ""},
    ]}]));
    let response = call.complete().await.unwrap();
    assert_eq!(
        response.content,
        [
            tool_use("call_1_1", "a", json!(null)),
            tool_use("call_1_2", "b", json!([{"x": 1}])),
            tool_use("call_1_3", "c", json!("{\"x\":1}")),
            tool_use("call_1_4", "d", json!([1])),
            tool_use("call_1_5", "e", json!("{\"x\":")),
            tool_use("call_1_6", "f", json!({})),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn three_failures_are_silent_and_the_fourth_and_later_ones_are_told() {
    let call = Call::of([failing(6), vec![json!({"text": "ok"})]].concat().into());
    let start = Instant::now();
    assert_eq!(call.complete().await.unwrap().content, [text("ok")]);
    assert_eq!(start.elapsed(), Duration::from_millis(500 + 1000 + 2000 + 4000 + 8000 + 8000));
    assert_eq!(
        call.recorder.take(),
        [
            api_retry(5, 4000),
            api_retry(6, 8000),
            api_retry(7, 8000),
            text_delta("ok"),
            update(vec![text("ok")])
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn the_eighth_failure_is_the_last() {
    let call = Call::of(failing(9).into());
    assert_eq!(call.complete().await, Err(CallError::GaveUp { attempts: 8, last: "busy".to_owned() }));
    assert_eq!(
        call.recorder.take(),
        [api_retry(5, 4000), api_retry(6, 8000), api_retry(7, 8000), api_retry(8, 8000)]
    );
}

#[tokio::test(start_paused = true)]
async fn a_fatal_failure_is_not_tried_again() {
    let call = Call::of(json!([{"error": {"kind": "fatal", "message": "no such model"}}, {"text": "never"}]));
    assert_eq!(call.complete().await, Err(CallError::Fatal("no such model".to_owned())));
    assert_eq!(call.recorder.take(), []);
}

#[tokio::test(start_paused = true)]
async fn the_wait_that_a_server_asks_for_is_kept_up_to_a_minute() {
    let asking = |ms: u64| json!({"error": {"kind": "retryable", "message": "busy", "retry_after_ms": ms}});
    let call = Call::of(json!([asking(60_000), {"text": "ok"}]));
    let start = Instant::now();
    call.complete().await.unwrap();
    assert_eq!(start.elapsed(), Duration::from_secs(60));

    let call = Call::of(json!([asking(61_000), {"text": "never"}]));
    assert_eq!(
        call.complete().await,
        Err(CallError::Fatal(
            "busy; the server asks to wait 61 s, more than the 60 s that a run waits: try again later"
                .to_owned()
        ))
    );
}

#[tokio::test(start_paused = true)]
async fn an_attempt_after_some_pieces_starts_the_message_anew() {
    let call = Call::of(json!([
        {"thinking": "Hm", "text": "Hel", "error": {"kind": "retryable", "message": "busy"}},
        {"thinking": "Ah", "error": {"kind": "retryable", "message": "busy"}},
        {"text": "Hello"},
    ]));
    assert_eq!(call.complete().await.unwrap().content, [text("Hello")]);
    assert_eq!(
        call.recorder.take(),
        [
            EventPayload::ThinkingStart {},
            thinking_delta("Hm"),
            thinking_end("Hm"),
            text_delta("Hel"),
            update(vec![thinking("Hm"), text("Hel")]),
            update(vec![]),
            EventPayload::ThinkingStart {},
            thinking_delta("Ah"),
            thinking_end("Ah"),
            update(vec![]),
            text_delta("Hello"),
            update(vec![text("Hello")]),
        ]
    );
}

/// Plays streams that the scripted model cannot.
struct Streams(Mutex<Vec<ModelStream>>);

impl Streams {
    /// A client of the given streams, one an attempt.
    fn client(streams: impl IntoIterator<Item = ModelStream>) -> ModelClient {
        let mut streams: Vec<_> = streams.into_iter().collect();
        streams.reverse();
        ModelClient::new(Arc::new(Self(Mutex::new(streams))), RetryPolicy::default()).with_jitter(|| 1.0)
    }
}

impl Provider for Streams {
    fn id(&self) -> &str {
        "streams"
    }

    fn stream(&self, _request: ModelRequest) -> ModelStream {
        self.0.lock().unwrap().pop().unwrap()
    }
}

fn events(events: Vec<ModelEvent>) -> ModelStream {
    stream::iter(events.into_iter().map(Ok)).boxed()
}

fn done() -> ModelEvent {
    ModelEvent::Done { stop_reason: "stop".to_owned(), usage: Usage::default() }
}

async fn complete(client: &ModelClient) -> (Result<ModelResponse, CallError>, Vec<EventPayload>) {
    let recorder = Recorder::new();
    let result = client.complete(request("m", "hello"), &recorder.emitter, &CancellationToken::new()).await;
    (result, recorder.take())
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_ends_early_or_says_nonsense_is_tried_again() {
    let tool = |id: &str, name: &str| ModelEvent::ToolUse { id: id.to_owned(), name: name.to_owned() };
    let client = Streams::client([
        events(vec![]),
        events(vec![ModelEvent::ToolInput("{}".to_owned())]),
        events(vec![tool("", "read")]),
        events(vec![tool("1", "")]),
        events(vec![ModelEvent::Text("ok".to_owned()), done(), tool("", "")]),
    ]);
    let (result, told) = complete(&client).await;
    assert_eq!(result.unwrap().content, [text("ok")]);
    let error = "a tool call needs an id and a name, got id: \"1\", name: \"\"".to_owned();
    assert_eq!(
        told,
        [
            EventPayload::ApiRetry { attempt: 5, error, delay_ms: 4000 },
            text_delta("ok"),
            update(vec![text("ok")])
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_stream_cut_off_for_good_says_so() {
    let client = Streams::client((0..8).map(|_| events(vec![ModelEvent::Text("a".to_owned())])));
    let last = "the response was cut off before its end".to_owned();
    assert_eq!(complete(&client).await.0, Err(CallError::GaveUp { attempts: 8, last }));
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_says_nothing_for_two_minutes_is_tried_again_but_not_one_that_is_alive() {
    let sign_of_life = |event: ModelEvent| async {
        sleep(Duration::from_secs(119)).await;
        Ok(event)
    };
    let alive = stream::iter([ModelEvent::Alive, ModelEvent::Text("ok".to_owned()), done()]);
    let client = Streams::client([stream::pending().boxed(), alive.then(sign_of_life).boxed()]);
    let start = Instant::now();
    let (result, told) = complete(&client).await;
    assert_eq!(result.unwrap().content, [text("ok")]);
    assert_eq!(told, [text_delta("ok"), update(vec![text("ok")])]);
    assert_eq!(start.elapsed(), Duration::from_millis(120_000 + 500 + 3 * 119_000));

    let client = Streams::client((0..8).map(|_| stream::pending().boxed()));
    let client = client.with_idle_timeout(Duration::from_millis(1500));
    let last = "nothing came from the model for 1.5 s".to_owned();
    assert_eq!(complete(&client).await.0, Err(CallError::GaveUp { attempts: 8, last }));
}

#[tokio::test(start_paused = true)]
async fn an_interruption_ends_a_call_at_once_in_a_stream_and_in_a_wait() {
    for turns in [json!([{"text": "late", "delay_ms": 90_000}]), failing(8).into()] {
        let call = Call::of(turns);
        let interrupt = async {
            sleep(Duration::from_millis(20_000)).await;
            call.cancel.cancel();
        };
        let start = Instant::now();
        let (result, ()) = futures::join!(call.complete(), interrupt);
        assert_eq!(result, Err(CallError::Interrupted));
        assert_eq!(start.elapsed(), Duration::from_millis(20_000));
    }
}

#[test]
fn an_interrupted_run_starts_no_call() {
    let started = Arc::new(AtomicUsize::new(0));
    struct Counting(Arc<AtomicUsize>);
    impl Provider for Counting {
        fn id(&self) -> &str {
            "counting"
        }
        fn stream(&self, _request: ModelRequest) -> ModelStream {
            self.0.fetch_add(1, Ordering::SeqCst);
            events(vec![done()])
        }
    }
    let client = ModelClient::new(Arc::new(Counting(Arc::clone(&started))), RetryPolicy::default());
    let cancel = CancellationToken::new();
    cancel.cancel();
    let recorder = Recorder::new();
    let result = client.complete(request("m", "hello"), &recorder.emitter, &cancel).now_or_never();
    assert_eq!(result, Some(Err(CallError::Interrupted)));
    assert_eq!(started.load(Ordering::SeqCst), 0);
}

use serde_json::{Value, json};

use super::*;

fn decode(events: &[Value]) -> Result<Vec<ModelEvent>, ProviderError> {
    let mut decoder = Decoder::default();
    for event in events {
        decoder.push(&event.to_string(), &Redactor::new("sk-secret-1"))?;
    }
    decoder.end_of_stream();
    Ok(std::iter::from_fn(|| decoder.told().next()).collect())
}

fn delta(of: &str, index: u32, delta: &str) -> Value {
    json!({"type": format!("response.{of}.delta"), "output_index": index, "delta": delta})
}

fn added(index: u32, item: Value) -> Value {
    json!({"type": "response.output_item.added", "output_index": index, "item": item})
}

fn whole(index: u32, item: Value) -> Value {
    json!({"type": "response.output_item.done", "output_index": index, "item": item})
}

fn ended(kind: &str, response: Value) -> Value {
    json!({"type": format!("response.{kind}"), "response": response})
}

fn call(id: &str, arguments: &str) -> Value {
    json!({"type": "function_call", "id": "fc", "call_id": id, "name": "ls", "arguments": arguments})
}

fn text(text: &str) -> ModelEvent {
    ModelEvent::Text(text.to_owned())
}

fn tool(id: &str) -> ModelEvent {
    ModelEvent::ToolUse { id: id.to_owned(), name: "ls".to_owned() }
}

fn input(json: &str) -> ModelEvent {
    ModelEvent::ToolInput(json.to_owned())
}

fn thinking(text: &str) -> ModelEvent {
    ModelEvent::Thinking(text.to_owned())
}

fn done(stop_reason: &str) -> ModelEvent {
    ModelEvent::Done { stop_reason: stop_reason.to_owned(), usage: Usage::default() }
}

const END: ModelEvent = ModelEvent::BlockEnd;

#[test]
fn reasoning_text_calls_and_usage_are_read() {
    let part = |index: u32| json!({"type": "response.reasoning_summary_part.added", "summary_index": index});
    let events = decode(&[
        ended("created", json!({"id": "r"})),
        added(0, json!({"type": "reasoning", "id": "rs_1", "summary": []})),
        part(0),
        delta("reasoning_summary_text", 0, "hm"),
        part(1),
        delta("reasoning_summary_text", 0, "ah"),
        whole(0, json!({"type": "reasoning", "id": "rs_1", "encrypted_content": "e"})),
        added(1, json!({"type": "message", "id": "m", "content": []})),
        delta("output_text", 1, "yes"),
        delta("refusal", 1, "no"),
        whole(1, json!({"type": "message", "id": "m", "content": []})),
        added(2, call("1", "")),
        delta("function_call_arguments", 2, "{\"p\""),
        delta("function_call_arguments", 2, ":1}"),
        whole(2, call("1", "{\"p\":1}")),
        ended(
            "completed",
            json!({"usage": {"input_tokens": 10, "output_tokens": 5, "input_tokens_details": {"cached_tokens": 4}}}),
        ),
        delta("output_text", 3, "late"),
    ]);
    let usage = Usage { input_tokens: 6, output_tokens: 5, cache_read_tokens: 4, cache_write_tokens: 0 };
    assert_eq!(
        events.unwrap(),
        [
            thinking("hm"),
            thinking("\n\n"),
            thinking("ah"),
            ModelEvent::ThinkingSignature(r#"openai-responses:{"id":"rs_1","encrypted":"e"}"#.to_owned()),
            END,
            text("yes"),
            text("no"),
            END,
            tool("1"),
            input("{\"p\""),
            input(":1}"),
            END,
            ModelEvent::Done { stop_reason: "tool_calls".to_owned(), usage },
        ]
    );
}

#[test]
fn calls_are_told_one_after_another_even_when_their_pieces_mix_or_do_not_come() {
    let events = decode(&[
        added(0, call("1", "")),
        added(1, call("2", "")),
        delta("function_call_arguments", 1, "{\"b\":"),
        delta("function_call_arguments", 0, "{\"a\""),
        whole(0, call("1", "{\"a\":1}")),
        whole(1, call("2", "{\"b\":2}")),
        whole(2, call("3", "")),
        ended("completed", json!({})),
    ]);
    assert_eq!(
        events.unwrap(),
        [
            tool("1"),
            input("{\"a\""),
            input(":1}"),
            END,
            tool("2"),
            input("{\"b\":2}"),
            END,
            tool("3"),
            END,
            done("tool_calls"),
        ]
    );
    let longer =
        [added(0, call("1", "")), delta("function_call_arguments", 0, "{}  "), whole(0, call("1", "{}"))];
    let told = "the pieces of a tool's input are longer than the whole";
    assert_eq!(decode(&longer), Err(ProviderError::retryable(told)));
}

#[test]
fn an_answer_that_was_cut_short_says_why() {
    let reason = |reason: &str| {
        let details = json!({"incomplete_details": {"reason": reason}, "error": null, "usage": null});
        decode(&[ended("incomplete", details)]).unwrap()
    };
    assert_eq!(reason("max_output_tokens"), [done("length")]);
    assert_eq!(reason("content_filter"), [done("content_filter")]);
    assert_eq!(decode(&[json!({"type": "response.new_kind", "x": 1})]), Ok(vec![]));
}

#[test]
fn a_failure_in_the_stream_says_whether_to_try_again() {
    let failed = |code: &str| {
        let error = json!({"code": code, "message": "sk-secret-1 is sorry"});
        decode(&[ended("failed", json!({ "error": error }))]).unwrap_err()
    };
    let message = "the model endpoint broke off: *** is sorry";
    assert_eq!(failed("server_error"), ProviderError::retryable(message));
    assert_eq!(failed("rate_limit_exceeded"), ProviderError::retryable(message));
    assert_eq!(failed("insufficient_quota"), ProviderError::fatal(message));

    let error = |more: Value| {
        let mut event = json!({"type": "error"});
        event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        decode(&[event]).unwrap_err()
    };
    let busy = json!({"code": "server_error", "message": "sk-secret-1 is sorry", "param": null});
    assert_eq!(error(busy), ProviderError::retryable(message));
    let refused = json!({"error": {"type": "invalid_request_error", "message": "sk-secret-1 is sorry"}});
    assert_eq!(error(refused), ProviderError::fatal(message));
    let broken =
        "got a broken piece of a response (missing field `delta`): {\"type\":\"response.output_text.delta\"}";
    let cut = json!({"type": "response.output_text.delta"});
    assert_eq!(decode(&[cut]), Err(ProviderError::retryable(broken)));
}

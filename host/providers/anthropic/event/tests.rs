use serde_json::json;

use super::*;

fn decode(events: &[Value]) -> Result<Vec<ModelEvent>, ProviderError> {
    let mut decoder = Decoder::default();
    for event in events {
        decoder.push(&event.to_string(), &Redactor::new("sk-secret-1"))?;
    }
    decoder.end_of_stream();
    Ok(std::iter::from_fn(|| decoder.told().next()).collect())
}

fn start(index: u32, block: Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn delta(index: u32, delta: Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

fn stop(index: u32) -> Value {
    json!({"type": "content_block_stop", "index": index})
}

fn ended(stop_reason: &str) -> Value {
    json!({"type": "message_delta", "delta": {"stop_reason": stop_reason}, "usage": {"output_tokens": 7}})
}

fn text(text: &str) -> ModelEvent {
    ModelEvent::Text(text.to_owned())
}

fn done(stop_reason: &str, usage: Usage) -> ModelEvent {
    ModelEvent::Done { stop_reason: stop_reason.to_owned(), usage }
}

const OUTPUT: Usage =
    Usage { input_tokens: 0, output_tokens: 7, cache_read_tokens: 0, cache_write_tokens: 0 };

#[test]
fn reasoning_text_and_calls_come_in_order_with_the_last_word_on_the_usage() {
    let events = decode(&[
        json!({"type": "message_start", "message": {"id": "m", "usage": {
            "input_tokens": 10, "cache_read_input_tokens": 4, "cache_creation_input_tokens": 5, "output_tokens": 1,
        }}}),
        start(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
        json!({"type": "ping"}),
        delta(0, json!({"type": "thinking_delta", "thinking": "hm"})),
        delta(0, json!({"type": "signature_delta", "signature": "s1"})),
        delta(0, json!({"type": "signature_delta", "signature": "s2"})),
        stop(0),
        start(1, json!({"type": "redacted_thinking", "data": "secret"})),
        stop(1),
        start(2, json!({"type": "text", "text": ""})),
        delta(2, json!({"type": "text_delta", "text": "yes"})),
        delta(2, json!({"type": "citations_delta", "citation": {}})),
        stop(2),
        start(3, json!({"type": "tool_use", "id": "t1", "name": "ls", "input": {}})),
        delta(3, json!({"type": "input_json_delta", "partial_json": ""})),
        delta(3, json!({"type": "input_json_delta", "partial_json": "{\"p\""})),
        delta(3, json!({"type": "input_json_delta", "partial_json": ":1}"})),
        stop(3),
        ended("tool_use"),
        json!({"type": "message_stop"}),
        json!({"type": "message_stop"}),
    ]);
    let usage = Usage { input_tokens: 10, output_tokens: 7, cache_read_tokens: 4, cache_write_tokens: 5 };
    assert_eq!(
        events.unwrap(),
        [
            ModelEvent::Thinking("hm".to_owned()),
            ModelEvent::ThinkingSignature("anthropic:s1s2".to_owned()),
            ModelEvent::BlockEnd,
            ModelEvent::ThinkingSignature("anthropic-redacted:secret".to_owned()),
            ModelEvent::BlockEnd,
            text("yes"),
            ModelEvent::BlockEnd,
            ModelEvent::ToolUse { id: "t1".to_owned(), name: "ls".to_owned() },
            ModelEvent::ToolInput("{\"p\"".to_owned()),
            ModelEvent::ToolInput(":1}".to_owned()),
            ModelEvent::BlockEnd,
            done("tool_use", usage),
        ]
    );
}

#[test]
fn servers_that_send_blocks_whole_and_no_end_are_understood() {
    let whole = [
        start(0, json!({"type": "thinking", "thinking": "hm", "signature": "s"})),
        start(1, json!({"type": "text", "text": "yes"})),
        start(2, json!({"type": "tool_use", "id": "t1", "name": "ls", "input": {"p": 1}})),
        start(3, json!({"type": "tool_use", "id": "t2", "name": "ls"})),
        ended("tool_use"),
    ];
    let call = |id: &str| ModelEvent::ToolUse { id: id.to_owned(), name: "ls".to_owned() };
    assert_eq!(
        decode(&whole).unwrap(),
        [
            ModelEvent::Thinking("hm".to_owned()),
            ModelEvent::ThinkingSignature("anthropic:s".to_owned()),
            ModelEvent::BlockEnd,
            text("yes"),
            ModelEvent::BlockEnd,
            call("t1"),
            ModelEvent::ToolInput("{\"p\":1}".to_owned()),
            ModelEvent::BlockEnd,
            call("t2"),
            ModelEvent::BlockEnd,
            done("tool_use", OUTPUT),
        ]
    );
    assert_eq!(
        decode(&whole[..2]).unwrap().last(),
        Some(&text("yes")),
        "cut off: nothing says that it is done"
    );
}

#[test]
fn what_was_not_asked_for_is_not_told() {
    let events = decode(&[
        start(0, json!({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}})),
        delta(0, json!({"type": "input_json_delta", "partial_json": "{}"})),
        stop(0),
        json!({"type": "something_new", "more": 1}),
        json!({"type": "message_delta", "delta": {"stop_reason": null}}),
        json!({"type": "message_stop"}),
    ]);
    assert_eq!(events.unwrap(), [done("end_turn", Usage::default())]);
}

#[test]
fn a_stream_out_of_order_is_broken() {
    let retryable = |message: &str| Err(ProviderError::retryable(message));
    let piece = |index| delta(index, json!({"type": "text_delta", "text": "x"}));
    let no_block = "got a piece of a block that did not begin";
    assert_eq!(decode(&[piece(0)]), retryable(no_block));
    let begun = start(0, json!({"type": "text", "text": ""}));
    assert_eq!(decode(&[begun.clone(), piece(1)]), retryable(no_block));
    assert_eq!(decode(&[begun, stop(0), stop(0)]), retryable(no_block));
    let call = start(0, json!({"type": "tool_use", "id": "t1", "name": "ls", "input": {}}));
    assert_eq!(decode(&[call, piece(0)]), retryable("got a piece of another kind than the block it is for"));
    let broken = "got a broken piece of a response (missing field `index`): \
                  {\"type\":\"content_block_stop\"}";
    assert_eq!(decode(&[json!({"type": "content_block_stop"})]), retryable(broken));
}

#[test]
fn an_error_in_the_stream_says_whether_to_try_again() {
    let error = |kind: &str| {
        let error = json!({"type": kind, "message": "sk-secret-1 is busy"});
        decode(&[json!({"type": "error", "error": error})]).unwrap_err()
    };
    let message = "the model endpoint broke off: *** is busy";
    for kind in ["overloaded_error", "api_error", "rate_limit_error"] {
        assert_eq!(error(kind), ProviderError::retryable(message), "{kind}");
    }
    for kind in ["invalid_request_error", "authentication_error", "billing_error", "request_too_large"] {
        assert_eq!(error(kind), ProviderError::fatal(message), "{kind}");
    }
}

#[test]
fn a_signature_that_does_not_end_is_given_up() {
    let mut decoder = Decoder::default();
    let mut push = |event: Value| decoder.push(&event.to_string(), &Redactor::new(""));
    push(start(0, json!({"type": "thinking"}))).unwrap();
    let piece = delta(0, json!({"type": "signature_delta", "signature": "x".repeat(1 << 20)}));
    let pushed: Vec<_> = (0..17).map(|_| push(piece.clone())).collect();
    assert!(pushed[..16].iter().all(Result::is_ok));
    assert_eq!(pushed[16], Err(ProviderError::too_long()));
}

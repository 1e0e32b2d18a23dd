use serde_json::{Value, json};

use super::*;

fn redactor() -> Redactor {
    Redactor::new("sk-secret-1")
}

/// The events of the given chunks and of the stream's end behind them.
fn decode(chunks: &[Value]) -> Result<Vec<ModelEvent>, ProviderError> {
    let mut decoder = Decoder::default();
    for chunk in chunks {
        let data = chunk.as_str().map_or_else(|| chunk.to_string(), str::to_owned);
        decoder.push(&data, &redactor())?;
    }
    decoder.end_of_stream();
    Ok(std::iter::from_fn(|| decoder.told().next()).collect())
}

fn delta(delta: Value) -> Value {
    json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
}

fn calls(calls: Value) -> Value {
    delta(json!({ "tool_calls": calls }))
}

fn finish(reason: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

fn text(text: &str) -> ModelEvent {
    ModelEvent::Text(text.to_owned())
}

fn tool(id: &str, name: &str) -> ModelEvent {
    ModelEvent::ToolUse { id: id.to_owned(), name: name.to_owned() }
}

fn input(json: &str) -> ModelEvent {
    ModelEvent::ToolInput(json.to_owned())
}

fn done(stop_reason: &str) -> ModelEvent {
    ModelEvent::Done { stop_reason: stop_reason.to_owned(), usage: Usage::default() }
}

#[test]
fn text_reasoning_refusal_usage_and_reason_are_read() {
    let events = decode(&[
        json!({"choices": [], "prompt_filter_results": []}),
        delta(json!({"role": "assistant", "content": ""})),
        delta(json!({"reasoning_content": "hm", "reasoning": "hm"})),
        delta(json!({"reasoning": "ah"})),
        delta(json!({"content": "yes", "tool_calls": null})),
        delta(json!({"content": null, "refusal": "no"})),
        finish("content_filter"),
        json!({"choices": [], "usage": {
            "prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15,
            "prompt_tokens_details": {"cached_tokens": 4, "audio_tokens": 0},
        }}),
        json!("[DONE]"),
        delta(json!({"content": "never"})),
    ]);
    let usage = Usage { input_tokens: 6, output_tokens: 5, cache_read_tokens: 4, cache_write_tokens: 0 };
    assert_eq!(
        events.unwrap(),
        [
            ModelEvent::Thinking("hm".to_owned()),
            ModelEvent::Thinking("ah".to_owned()),
            text("yes"),
            text("no"),
            ModelEvent::Done { stop_reason: "content_filter".to_owned(), usage },
        ]
    );
}

#[test]
fn a_whole_object_is_known_by_its_brackets_wherever_its_pieces_are_cut() {
    let whole = r#" {"a": ["}{]", "\\\"}", {"b": {}}], "c\\": 1}"#;
    assert!(serde_json::from_str::<Value>(whole).is_ok());
    for cut in 0..=whole.len() {
        let mut shape = Shape::default();
        shape.push(&whole[..cut]);
        assert_eq!(shape.complete, cut == whole.len(), "{}", &whole[..cut]);
        shape.push(&whole[cut..]);
        assert!(shape.complete);
    }
    for never in ["", "text", "[1", r#""{}""#, r#"{"a": "}"#] {
        let mut shape = Shape::default();
        shape.push(never);
        assert!(!shape.complete, "{never}");
    }
}

/// Each piece of a call that is held back was once a reason to parse the one before it anew.
#[test]
fn many_small_pieces_behind_a_long_call_cost_no_more_than_their_length() {
    let call = |index: usize, arguments: &str| {
        calls(
            json!([{"index": index, "id": format!("c{index}"), "function": {"name": "t", "arguments": arguments}}]),
        )
    };
    // It looks as if it were complete.
    let long = format!(r#"{{"text": "{}}}"#, "x".repeat(1 << 20));
    let mut chunks = vec![call(0, &long)];
    chunks.extend(vec![call(1, "1"); 5000]);
    chunks.push(finish("tool_calls"));
    let events = decode(&chunks).unwrap();
    let expected =
        [tool("c0", "t"), input(&long), tool("c1", "t"), input(&"1".repeat(5000)), done("tool_calls")];
    assert!(events == expected);
}

#[test]
fn a_response_that_does_not_end_is_given_up() {
    let piece = |index: usize| {
        calls(json!([{"index": index, "function": {"name": "t", "arguments": "x".repeat(1 << 20)}}]))
    };
    let too_long = decode(&(0..17).map(piece).collect::<Vec<_>>());
    let told = "the response is longer than any model's, expected at most 16777216 bytes";
    assert_eq!(too_long, Err(ProviderError::fatal(told)));
    let many: Vec<_> = (0..1025).map(|index| json!({"index": index})).collect();
    let told = "the response calls more tools than any model does, expected at most 1024";
    assert_eq!(decode(&[calls(json!(many))]), Err(ProviderError::fatal(told)));
}

#[test]
fn parallel_calls_are_told_one_after_another_even_when_their_pieces_mix() {
    let events = decode(&[
        calls(
            json!([{"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": ""}}]),
        ),
        calls(json!([{"index": 0, "function": {"arguments": "{\"x\""}}])),
        calls(json!([
            {"index": 1, "id": "b", "function": {"name": "g", "arguments": "{\"y"}},
            {"index": 2, "id": "c", "function": {"name": "h"}},
        ])),
        calls(
            json!([{"index": 0, "function": {"arguments": ":1}"}}, {"index": 1, "function": {"arguments": "\":2}"}}]),
        ),
        finish("tool_calls"),
    ]);
    assert_eq!(
        events.unwrap(),
        [
            tool("a", "f"),
            input("{\"x\""),
            input(":1}"),
            tool("b", "g"),
            input("{\"y\":2}"),
            tool("c", "h"),
            done("tool_calls"),
        ]
    );
}

#[test]
fn a_call_is_told_as_soon_as_the_one_before_it_is_complete() {
    let mut decoder = Decoder::default();
    let mut push = |chunk: Value| -> Vec<ModelEvent> {
        decoder.push(&chunk.to_string(), &redactor()).unwrap();
        std::iter::from_fn(|| decoder.told().next()).collect()
    };
    let first = json!([{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{\"x\":{}"}}]);
    assert_eq!(push(calls(first)), [tool("a", "f"), input("{\"x\":{}")]);
    let second = json!([{"index": 1, "id": "b", "function": {"name": "g", "arguments": "{"}}]);
    assert_eq!(push(calls(second)), []);
    assert_eq!(
        push(calls(json!([{"index": 0, "function": {"arguments": "}"}}]))),
        [input("}"), tool("b", "g"), input("{")]
    );
    assert_eq!(push(calls(json!([{"index": 1, "function": {"arguments": "}"}}]))), [input("}")]);
}

#[test]
fn calls_are_told_apart_where_their_numbers_do_not_do_it() {
    let whole = |index: Value, id: &str| json!({"index": index, "id": id, "function": {"name": "f", "arguments": "{}"}});
    let expected = vec![tool("a", "f"), input("{}"), tool("b", "f"), input("{}"), done("stop")];
    for index in [json!(0), json!(null)] {
        let at_once =
            decode(&[calls(json!([whole(index.clone(), "a"), whole(index.clone(), "b")])), finish("stop")]);
        assert_eq!(at_once.unwrap(), expected);
        let apart = decode(&[
            calls(json!([whole(index.clone(), "a")])),
            calls(json!([whole(index, "b")])),
            finish("stop"),
        ]);
        assert_eq!(apart.unwrap(), expected);
    }
    let repeated = decode(&[
        calls(json!([{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{"}}])),
        calls(json!([{"index": 0, "id": "a", "function": {"name": "f", "arguments": "\"x\""}}])),
        calls(json!([{"index": 0, "id": "", "function": {"name": "", "arguments": ":"}}])),
        calls(json!([{"function": {"arguments": "1}"}}])),
        finish("stop"),
    ]);
    assert_eq!(
        repeated.unwrap(),
        [tool("a", "f"), input("{"), input("\"x\""), input(":"), input("1}"), done("stop")]
    );
}

#[test]
fn a_missing_id_is_made_up_and_differs_each_time() {
    let call = || json!([{"function": {"name": "f", "arguments": "{}"}}]);
    let events = decode(&[calls(call()), calls(call()), finish("stop")]).unwrap();
    let ids: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            ModelEvent::ToolUse { id, .. } => Some(id),
            _ => None,
        })
        .collect();
    assert_eq!(ids.len(), 2);
    assert!(ids.iter().all(|id| id.len() == 21 && id.starts_with("call_")) && ids[0] != ids[1], "{ids:?}");
}

#[test]
fn a_response_is_complete_at_its_mark_or_at_the_end_behind_its_reason() {
    assert_eq!(
        decode(&[delta(json!({"content": "a"})), json!("[DONE]")]).unwrap(),
        [text("a"), done("stop")]
    );
    let call = calls(json!([{"index": 0, "id": "a", "function": {"name": "f"}}]));
    assert_eq!(decode(&[call, json!(" [DONE]")]).unwrap(), [tool("a", "f"), done("tool_calls")]);
    assert_eq!(decode(&[finish("length")]).unwrap(), [done("length")]);
    assert_eq!(decode(&[delta(json!({"content": "a"}))]).unwrap(), [text("a")]);
}

#[test]
fn a_broken_chunk_is_shown_without_the_key() {
    let refused = decode(&[json!("{\"choices\": sk-secret-1")]);
    assert_eq!(
        refused,
        Err(ProviderError::retryable(
            "got a broken piece of a response (expected value at line 1 column 13): {\"choices\": ***"
        ))
    );
}

#[test]
fn an_error_in_the_stream_is_final_where_another_try_cannot_help() {
    let broke_off = |message: &str| format!("the model endpoint broke off: {message}");
    let retryable = [
        (json!({"message": "busy sk-secret-1", "type": "server_error", "code": null}), "busy ***"),
        (json!({"message": "bad gateway", "code": 502}), "bad gateway"),
        (json!({"message": "slow down", "code": "429"}), "slow down"),
        (json!({"type": "overloaded"}), "overloaded"),
        (json!({}), "no reason given"),
        (json!("oops"), "oops"),
        (json!(7), "7"),
    ];
    for (error, message) in retryable {
        let expected = Err(ProviderError::retryable(broke_off(message)));
        assert_eq!(decode(&[json!({ "error": error })]), expected);
    }
    let fatal = [
        json!({"message": "no", "type": "invalid_request_error"}),
        json!({"message": "no", "code": "insufficient_quota"}),
        json!({"message": "no", "code": 400}),
    ];
    for error in fatal {
        assert_eq!(decode(&[json!({ "error": error })]), Err(ProviderError::fatal(broke_off("no"))));
    }
}

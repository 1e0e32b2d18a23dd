//! The chunks of a response, put in order.
//!
//! Endpoints differ in what they leave out and in how they number parallel calls; see [`Decoder`].

use std::collections::VecDeque;

use mod_interface::types::Usage;
use serde::{Deserialize, de::IgnoredAny};

use super::failure::{Redactor, WireError};
use crate::providers::{ModelEvent, ProviderError};

#[derive(Deserialize)]
struct Chunk {
    choices: Option<Vec<Choice>>,
    usage: Option<WireUsage>,
    error: Option<WireError>,
}

#[derive(Deserialize)]
struct Choice {
    delta: Option<Delta>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Delta {
    content: Option<String>,
    /// Why the model will not answer: shown like an answer.
    refusal: Option<String>,
    reasoning_content: Option<String>,
    /// Another name for it; some endpoints send both.
    reasoning: Option<String>,
    tool_calls: Option<Vec<CallDelta>>,
}

#[derive(Deserialize)]
struct CallDelta {
    index: Option<u32>,
    id: Option<String>,
    function: Option<FunctionDelta>,
}

#[derive(Deserialize, Default)]
struct FunctionDelta {
    name: Option<String>,
    arguments: Option<String>,
}

#[derive(Deserialize)]
struct WireUsage {
    #[serde(default)]
    prompt_tokens: u64,
    #[serde(default)]
    completion_tokens: u64,
    prompt_tokens_details: Option<PromptDetails>,
}

#[derive(Deserialize)]
struct PromptDetails {
    cached_tokens: Option<u64>,
}

impl From<WireUsage> for Usage {
    fn from(wire: WireUsage) -> Self {
        let cached = wire.prompt_tokens_details.and_then(|details| details.cached_tokens).unwrap_or(0);
        Self {
            input_tokens: wire.prompt_tokens.saturating_sub(cached),
            output_tokens: wire.completion_tokens,
            cache_read_tokens: cached,
            cache_write_tokens: 0,
        }
    }
}

/// A tool call as far as it has come.
struct Call {
    index: Option<u32>,
    id: String,
    name: String,
    arguments: String,
    /// How much of the arguments has been handed on.
    told: usize,
}

/// Makes events of chunks.
///
/// Events tell one call after another, while chunks may add to several at once: the first call that is
/// not complete is told as it comes, those behind it are held until it is.
#[derive(Default)]
pub(super) struct Decoder {
    events: VecDeque<ModelEvent>,
    calls: Vec<Call>,
    /// The number of calls that were begun in `events`.
    begun: usize,
    usage: Usage,
    stop_reason: Option<String>,
    done: bool,
}

impl Decoder {
    /// Takes the next event that is ready.
    pub(super) fn next(&mut self) -> Option<ModelEvent> {
        self.events.pop_front()
    }

    /// Whether the response is complete.
    pub(super) fn is_done(&self) -> bool {
        self.done
    }

    /// Takes the data of the next server-sent event.
    pub(super) fn push(&mut self, data: &str, redactor: &Redactor) -> Result<(), ProviderError> {
        if self.done {
            return Ok(());
        }
        if data.trim() == "[DONE]" {
            return self.finish();
        }
        let chunk: Chunk = serde_json::from_str(data).map_err(|error| {
            let start = redactor.excerpt(data);
            ProviderError::retryable(format!("got a broken piece of a response ({error}): {start}"))
        })?;
        if let Some(error) = chunk.error {
            return Err(error.in_stream(redactor));
        }
        if let Some(usage) = chunk.usage {
            self.usage = usage.into();
        }
        // Only one answer is asked for.
        let Some(choice) = chunk.choices.into_iter().flatten().next() else { return Ok(()) };
        if let Some(delta) = choice.delta {
            self.delta(delta);
        }
        self.stop_reason = choice.finish_reason.or(self.stop_reason.take());
        Ok(())
    }

    /// Is told that nothing more comes. Some endpoints leave out the closing mark.
    pub(super) fn end_of_stream(&mut self) -> Result<(), ProviderError> {
        if self.done || self.stop_reason.is_none() { Ok(()) } else { self.finish() }
    }

    fn delta(&mut self, delta: Delta) {
        let told = |text: Option<String>| text.filter(|text| !text.is_empty());
        self.events.extend(told(delta.reasoning_content.or(delta.reasoning)).map(ModelEvent::Thinking));
        self.events.extend(told(delta.content).map(ModelEvent::Text));
        self.events.extend(told(delta.refusal).map(ModelEvent::Text));
        for call in delta.tool_calls.into_iter().flatten() {
            self.call(call);
        }
        self.tell_calls(false);
    }

    fn call(&mut self, delta: CallDelta) {
        let function = delta.function.unwrap_or_default();
        let id = delta.id.filter(|id| !id.is_empty());
        let name = function.name.filter(|name| !name.is_empty());
        let position = self.position(delta.index, id.as_deref(), name.is_some());
        let call = match position.and_then(|position| self.calls.get_mut(position)) {
            Some(call) => call,
            None => {
                // An id of our own must differ from those of all other calls of the conversation.
                let id = id.unwrap_or_else(|| format!("call_{:016x}", fastrand::u64(..)));
                let (name, arguments) = (String::new(), String::new());
                self.calls.push_mut(Call { index: delta.index, id, name, arguments, told: 0 })
            }
        };
        if call.name.is_empty() {
            call.name = name.unwrap_or_default();
        }
        call.arguments.push_str(function.arguments.as_deref().unwrap_or_default());
    }

    /// Which call a delta adds to; `None` for a new one. The index says so, but some endpoints give all
    /// calls the same one and tell them apart by their ids, and some give none.
    fn position(&self, index: Option<u32>, id: Option<&str>, named: bool) -> Option<usize> {
        if let Some(id) = id
            && let Some(position) = self.calls.iter().rposition(|call| call.id == id)
        {
            return Some(position);
        }
        match index {
            Some(_) if id.is_some() && named => None,
            Some(_) => self.calls.iter().rposition(|call| call.index == index),
            None if id.is_some() || named => None,
            None => self.calls.len().checked_sub(1),
        }
    }

    /// Tells of the calls as far as their order allows. At the end, all are complete.
    fn tell_calls(&mut self, end: bool) {
        loop {
            let is_last = self.begun == self.calls.len();
            if let Some(call) = self.begun.checked_sub(1).and_then(|last| self.calls.get_mut(last)) {
                let piece = &call.arguments[call.told..];
                if !piece.is_empty() {
                    self.events.push_back(ModelEvent::ToolInput(piece.to_owned()));
                    call.told = call.arguments.len();
                }
                if is_last || !(end || is_complete(&call.arguments)) {
                    return;
                }
            }
            let Some(next) = self.calls.get(self.begun).filter(|next| end || !next.name.is_empty()) else {
                return;
            };
            self.events.push_back(ModelEvent::ToolUse { id: next.id.clone(), name: next.name.clone() });
            self.begun += 1;
        }
    }

    fn finish(&mut self) -> Result<(), ProviderError> {
        self.tell_calls(true);
        let stop_reason = self
            .stop_reason
            .take()
            .unwrap_or_else(|| if self.calls.is_empty() { "stop" } else { "tool_calls" }.to_owned());
        self.events.push_back(ModelEvent::Done { stop_reason, usage: self.usage });
        self.done = true;
        Ok(())
    }
}

/// Whether the arguments are a whole object. The last byte is looked at first: it mostly says no.
fn is_complete(arguments: &str) -> bool {
    arguments.trim_end().ends_with('}') && serde_json::from_str::<IgnoredAny>(arguments).is_ok()
}

#[cfg(test)]
mod tests {
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
        decoder.end_of_stream()?;
        Ok(std::iter::from_fn(|| decoder.next()).collect())
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
            std::iter::from_fn(|| decoder.next()).collect()
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
            let at_once = decode(&[
                calls(json!([whole(index.clone(), "a"), whole(index.clone(), "b")])),
                finish("stop"),
            ]);
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
        assert!(
            ids.iter().all(|id| id.len() == 21 && id.starts_with("call_")) && ids[0] != ids[1],
            "{ids:?}"
        );
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
}

//! The chunks of a response, put in order.
//!
//! Endpoints differ in what they leave out and in how they number parallel calls; see [`Decoder`].

use mod_interface::types::Usage;
use serde::Deserialize;

use crate::providers::{
    MAX_RESPONSE_BYTES, ModelEvent, ProviderError,
    calls::{MAX_CALLS, too_many},
    endpoint::{Decode, Redactor, Told, WireError, parse},
};

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
    /// How far the arguments are a whole object.
    shape: Shape,
    /// How much of the arguments has been handed on.
    told: usize,
}

/// The brackets of a JSON text that comes in pieces, each looked at once.
#[derive(Default)]
struct Shape {
    depth: usize,
    in_string: bool,
    escaped: bool,
    complete: bool,
}

impl Shape {
    fn push(&mut self, piece: &str) {
        for byte in piece.bytes() {
            match byte {
                _ if std::mem::take(&mut self.escaped) => {}
                b'\\' if self.in_string => self.escaped = true,
                b'"' => self.in_string = !self.in_string,
                _ if self.in_string => {}
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    self.complete |= self.depth == 0;
                }
                _ => {}
            }
        }
    }
}

/// Makes events of chunks.
///
/// Events tell one call after another, while chunks may add to several at once: the first call that is
/// not complete is told as it comes, those behind it are held until it is.
#[derive(Default)]
pub(super) struct Decoder {
    told: Told,
    calls: Vec<Call>,
    /// The number of calls that were begun in `events`.
    begun: usize,
    /// The bytes of all calls.
    size: usize,
    usage: Usage,
    stop_reason: Option<String>,
}

impl Decode for Decoder {
    fn told(&mut self) -> &mut Told {
        &mut self.told
    }

    fn read(&mut self, data: &str, redactor: &Redactor) -> Result<(), ProviderError> {
        if data.trim() == "[DONE]" {
            self.finish();
            return Ok(());
        }
        let chunk: Chunk = parse(data, redactor)?;
        if let Some(error) = chunk.error {
            return Err(error.in_stream(redactor));
        }
        if let Some(usage) = chunk.usage {
            self.usage = usage.into();
        }
        // Only one answer is asked for.
        let Some(choice) = chunk.choices.into_iter().flatten().next() else { return Ok(()) };
        if let Some(delta) = choice.delta {
            self.delta(delta)?;
        }
        self.stop_reason = choice.finish_reason.or(self.stop_reason.take());
        Ok(())
    }

    /// Some endpoints leave out the closing mark.
    fn cut_off(&mut self) {
        if self.stop_reason.is_some() {
            self.finish();
        }
    }
}

impl Decoder {
    fn delta(&mut self, delta: Delta) -> Result<(), ProviderError> {
        let thinking = delta.reasoning_content.or(delta.reasoning);
        self.told.piece(ModelEvent::Thinking, thinking.unwrap_or_default());
        self.told.piece(ModelEvent::Text, delta.content.unwrap_or_default());
        self.told.piece(ModelEvent::Text, delta.refusal.unwrap_or_default());
        for call in delta.tool_calls.into_iter().flatten() {
            self.call(call)?;
        }
        self.tell_calls(false);
        Ok(())
    }

    fn call(&mut self, delta: CallDelta) -> Result<(), ProviderError> {
        let function = delta.function.unwrap_or_default();
        let id = delta.id.filter(|id| !id.is_empty());
        let name = function.name.filter(|name| !name.is_empty());
        let position = self.position(delta.index, id.as_deref(), name.is_some());
        let call = match position.and_then(|position| self.calls.get_mut(position)) {
            Some(call) => call,
            None => {
                // An id of our own must differ from those of all other calls of the conversation.
                let id = id.unwrap_or_else(|| format!("call_{:016x}", fastrand::u64(..)));
                if self.calls.len() == MAX_CALLS {
                    // Here too, for calls are held back here.
                    return Err(too_many());
                }
                let (name, arguments, shape) = Default::default();
                self.calls.push_mut(Call { index: delta.index, id, name, arguments, shape, told: 0 })
            }
        };
        if call.name.is_empty() {
            call.name = name.unwrap_or_default();
        }
        let piece = function.arguments.unwrap_or_default();
        call.arguments.push_str(&piece);
        call.shape.push(&piece);
        // Those that are held back are nobody else's to count.
        self.size += piece.len();
        if self.size > MAX_RESPONSE_BYTES { Err(ProviderError::too_long()) } else { Ok(()) }
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
                    self.told.event(ModelEvent::ToolInput(piece.to_owned()));
                    call.told = call.arguments.len();
                }
                if is_last || !(end || call.shape.complete) {
                    return;
                }
            }
            let Some(next) = self.calls.get(self.begun).filter(|next| end || !next.name.is_empty()) else {
                return;
            };
            self.told.event(ModelEvent::ToolUse { id: next.id.clone(), name: next.name.clone() });
            self.begun += 1;
        }
    }

    fn finish(&mut self) {
        self.tell_calls(true);
        let stop_reason = self
            .stop_reason
            .take()
            .unwrap_or_else(|| if self.calls.is_empty() { "stop" } else { "tool_calls" }.to_owned());
        self.told.done(stop_reason, self.usage);
    }
}

#[cfg(test)]
mod tests;

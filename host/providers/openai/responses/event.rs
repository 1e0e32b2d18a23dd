//! The events of a response, made into those of the run.

use mod_interface::types::Usage;
use serde::Deserialize;

use super::{ID, request::Kept};
use crate::providers::{
    ModelEvent, ProviderError,
    endpoint::{Decode, Redactor, Told, WireError, parse},
    signature::sign,
};

#[derive(Deserialize)]
#[serde(tag = "type")]
enum Event {
    #[serde(rename = "response.output_item.added")]
    Added { output_index: u32, item: Item },
    #[serde(rename = "response.output_text.delta", alias = "response.refusal.delta")]
    Text { delta: String },
    #[serde(rename = "response.reasoning_summary_text.delta", alias = "response.reasoning_text.delta")]
    Reasoning { delta: String },
    #[serde(rename = "response.reasoning_summary_part.added")]
    ReasoningPart { summary_index: u32 },
    #[serde(rename = "response.function_call_arguments.delta")]
    Arguments { output_index: u32, delta: String },
    #[serde(rename = "response.output_item.done")]
    Done { output_index: u32, item: Item },
    #[serde(rename = "response.completed", alias = "response.incomplete", alias = "response.failed")]
    Ended { response: Response },
    /// The details stand in it, or in a field of it.
    #[serde(rename = "error")]
    Error { error: Option<WireError>, message: Option<String>, code: Option<String> },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Item {
    FunctionCall {
        call_id: String,
        name: String,
        #[serde(default)]
        arguments: String,
    },
    Reasoning {
        #[serde(default)]
        id: String,
        encrypted_content: Option<String>,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Response {
    error: Option<WireError>,
    incomplete_details: Option<Incomplete>,
    usage: Option<WireUsage>,
}

#[derive(Deserialize)]
struct Incomplete {
    reason: Option<String>,
}

#[derive(Deserialize)]
struct WireUsage {
    #[serde(default)]
    input_tokens: u64,
    #[serde(default)]
    output_tokens: u64,
    input_tokens_details: Option<InputDetails>,
}

#[derive(Deserialize)]
struct InputDetails {
    cached_tokens: Option<u64>,
}

impl From<WireUsage> for Usage {
    fn from(wire: WireUsage) -> Self {
        let cached = wire.input_tokens_details.and_then(|details| details.cached_tokens).unwrap_or(0);
        Self {
            input_tokens: wire.input_tokens.saturating_sub(cached),
            output_tokens: wire.output_tokens,
            cache_read_tokens: cached,
            cache_write_tokens: 0,
        }
    }
}

/// The call that is told as it comes. Another that begins meanwhile is told when it is whole.
struct Call {
    index: u32,
    /// How much of its arguments was told.
    told: usize,
}

/// Makes events of events.
#[derive(Default)]
pub(super) struct Decoder {
    told: Told,
    call: Option<Call>,
    called: bool,
}

impl Decode for Decoder {
    fn told(&mut self) -> &mut Told {
        &mut self.told
    }

    fn read(&mut self, data: &str, redactor: &Redactor) -> Result<(), ProviderError> {
        if data.trim() == "[DONE]" {
            return Ok(());
        }
        match parse(data, redactor)? {
            Event::Added { output_index, item } => self.added(output_index, item),
            Event::Text { delta } => self.told.piece(ModelEvent::Text, delta),
            Event::Reasoning { delta } => self.told.piece(ModelEvent::Thinking, delta),
            // The parts of a summary are paragraphs of one text.
            Event::ReasoningPart { summary_index: 0 } => {}
            Event::ReasoningPart { .. } => self.told.piece(ModelEvent::Thinking, "\n\n".to_owned()),
            Event::Arguments { output_index, delta } => self.arguments(output_index, delta),
            Event::Done { output_index, item } => self.item(output_index, item)?,
            Event::Ended { response } => self.finish(response, redactor)?,
            Event::Error { error, message, code } => {
                let own = WireError::Details { message, r#type: None, code: code.map(Into::into) };
                return Err(error.unwrap_or(own).in_stream(redactor));
            }
            Event::Other => {}
        }
        Ok(())
    }
}

impl Decoder {
    fn added(&mut self, index: u32, item: Item) {
        if let (None, Item::FunctionCall { call_id, name, .. }) = (&self.call, item) {
            self.begin(index, call_id, name);
        }
    }

    fn begin(&mut self, index: u32, id: String, name: String) {
        self.called = true;
        self.told.event(ModelEvent::ToolUse { id, name });
        self.call = Some(Call { index, told: 0 });
    }

    fn arguments(&mut self, index: u32, delta: String) {
        if let Some(call) = self.call.as_mut().filter(|call| call.index == index) {
            call.told += delta.len();
            self.told.piece(ModelEvent::ToolInput, delta);
        }
    }

    /// An item is whole: what of it was not told yet is told now.
    fn item(&mut self, index: u32, item: Item) -> Result<(), ProviderError> {
        match item {
            Item::FunctionCall { call_id, name, arguments } => {
                if self.call.as_ref().is_none_or(|call| call.index != index) {
                    self.begin(index, call_id, name);
                }
                let told = self.call.take().map_or(0, |call| call.told);
                let rest = arguments.get(told..).or(arguments.is_empty().then_some(""));
                let rest = rest.ok_or_else(|| {
                    ProviderError::retryable("the pieces of a tool's input are longer than the whole")
                })?;
                self.told.piece(ModelEvent::ToolInput, rest.to_owned());
            }
            Item::Reasoning { id, encrypted_content: Some(encrypted) } => {
                let kept = serde_json::to_string(&Kept { id, encrypted }).unwrap_or_default();
                self.told.event(ModelEvent::ThinkingSignature(sign(ID, &kept)));
            }
            Item::Reasoning { .. } | Item::Other => {}
        }
        self.told.event(ModelEvent::BlockEnd);
        Ok(())
    }

    fn finish(&mut self, response: Response, redactor: &Redactor) -> Result<(), ProviderError> {
        if let Some(error) = response.error {
            return Err(error.in_stream(redactor));
        }
        let usual = if self.called { "tool_calls" } else { "stop" };
        let stop_reason = match response.incomplete_details.and_then(|details| details.reason) {
            Some(reason) if reason == "max_output_tokens" => "length".to_owned(),
            Some(reason) => reason,
            None => usual.to_owned(),
        };
        let usage = response.usage.map(Usage::from).unwrap_or_default();
        self.told.done(stop_reason, usage);
        Ok(())
    }
}

#[cfg(test)]
mod tests;

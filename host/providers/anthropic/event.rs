//! The events of a response, made into those of the run.

use mod_interface::types::Usage;
use serde::Deserialize;
use serde_json::Value;

use super::ID;
use crate::providers::{
    MAX_RESPONSE_BYTES, ModelEvent, ProviderError,
    endpoint::{Decode, Redactor, Told, WireError, parse},
    signature::sign,
};

/// Who signs what the model thinks and does not show.
pub(super) const REDACTED: &str = "anthropic-redacted";

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Event {
    MessageStart {
        message: Start,
    },
    ContentBlockStart {
        index: u32,
        content_block: Block,
    },
    ContentBlockDelta {
        index: u32,
        delta: Delta,
    },
    ContentBlockStop {
        index: u32,
    },
    MessageDelta {
        delta: End,
        #[serde(default)]
        usage: WireUsage,
    },
    MessageStop,
    Error {
        error: WireError,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Start {
    #[serde(default)]
    usage: WireUsage,
}

#[derive(Deserialize)]
struct End {
    stop_reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block {
    Text {
        #[serde(default)]
        text: String,
    },
    Thinking {
        #[serde(default)]
        thinking: String,
        #[serde(default)]
        signature: String,
    },
    RedactedThinking {
        data: String,
    },
    ToolUse {
        id: String,
        name: String,
        #[serde(default)]
        input: Value,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
#[serde(tag = "type")]
enum Delta {
    #[serde(rename = "text_delta")]
    Text { text: String },
    #[serde(rename = "thinking_delta")]
    Thinking { thinking: String },
    #[serde(rename = "signature_delta")]
    Signature { signature: String },
    #[serde(rename = "input_json_delta")]
    InputJson { partial_json: String },
    #[serde(other)]
    Other,
}

/// The last word on each number counts.
#[derive(Deserialize, Default)]
struct WireUsage {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
}

impl WireUsage {
    fn add_to(&self, usage: &mut Usage) {
        let set = |to: &mut u64, from: Option<u64>| *to = from.unwrap_or(*to);
        set(&mut usage.input_tokens, self.input_tokens);
        set(&mut usage.output_tokens, self.output_tokens);
        set(&mut usage.cache_read_tokens, self.cache_read_input_tokens);
        set(&mut usage.cache_write_tokens, self.cache_creation_input_tokens);
    }
}

/// The block that is coming.
struct Open {
    index: u32,
    kind: Kind,
}

enum Kind {
    Text,
    Thinking {
        signature: String,
    },
    /// The input that came with the beginning: it counts where no pieces of it follow.
    ToolUse {
        whole: Value,
        pieces: bool,
    },
    /// Nothing of it is told.
    Other,
}

/// Makes events of events.
#[derive(Default)]
pub(super) struct Decoder {
    told: Told,
    open: Option<Open>,
    called: bool,
    usage: Usage,
    stop_reason: Option<String>,
}

impl Decode for Decoder {
    fn told(&mut self) -> &mut Told {
        &mut self.told
    }

    fn read(&mut self, data: &str, redactor: &Redactor) -> Result<(), ProviderError> {
        match parse(data, redactor)? {
            Event::MessageStart { message } => message.usage.add_to(&mut self.usage),
            Event::ContentBlockStart { index, content_block } => self.begin(index, content_block),
            Event::ContentBlockDelta { index, delta } => self.delta(index, delta)?,
            Event::ContentBlockStop { index } => {
                self.open(index)?;
                self.end();
            }
            Event::MessageDelta { delta, usage } => {
                usage.add_to(&mut self.usage);
                self.stop_reason = delta.stop_reason.or(self.stop_reason.take());
            }
            Event::MessageStop => self.finish(),
            Event::Error { error } => return Err(error.in_stream(redactor)),
            Event::Other => {}
        }
        Ok(())
    }

    /// Some servers leave out the last event.
    fn cut_off(&mut self) {
        if self.stop_reason.is_some() {
            self.finish();
        }
    }
}

impl Decoder {
    fn begin(&mut self, index: u32, block: Block) {
        self.end();
        let kind = match block {
            Block::Text { text } => {
                self.told.piece(ModelEvent::Text, text);
                Kind::Text
            }
            Block::Thinking { thinking, signature } => {
                self.told.piece(ModelEvent::Thinking, thinking);
                Kind::Thinking { signature }
            }
            Block::RedactedThinking { data } => {
                self.told.event(ModelEvent::ThinkingSignature(sign(REDACTED, &data)));
                Kind::Thinking { signature: String::new() }
            }
            Block::ToolUse { id, name, input } => {
                self.called = true;
                self.told.event(ModelEvent::ToolUse { id, name });
                Kind::ToolUse { whole: input, pieces: false }
            }
            Block::Other => Kind::Other,
        };
        self.open = Some(Open { index, kind });
    }

    fn delta(&mut self, index: u32, delta: Delta) -> Result<(), ProviderError> {
        match (&mut self.open(index)?.kind, delta) {
            (Kind::Text, Delta::Text { text }) => self.told.piece(ModelEvent::Text, text),
            (Kind::Thinking { .. }, Delta::Thinking { thinking }) => {
                self.told.piece(ModelEvent::Thinking, thinking)
            }
            (Kind::Thinking { signature }, Delta::Signature { signature: piece }) => {
                signature.push_str(&piece);
                if signature.len() > MAX_RESPONSE_BYTES {
                    return Err(ProviderError::too_long());
                }
            }
            (Kind::ToolUse { pieces, .. }, Delta::InputJson { partial_json }) => {
                *pieces |= !partial_json.is_empty();
                self.told.piece(ModelEvent::ToolInput, partial_json);
            }
            // Of what is not asked for, nothing is told.
            (Kind::Other, _) | (_, Delta::Other) => {}
            _ => {
                return Err(ProviderError::retryable("got a piece of another kind than the block it is for"));
            }
        }
        Ok(())
    }

    /// Ends the block that is coming. What it was signed with is told whole.
    fn end(&mut self) {
        let Some(Open { kind, .. }) = self.open.take() else { return };
        match kind {
            Kind::Thinking { signature } if !signature.is_empty() => {
                self.told.event(ModelEvent::ThinkingSignature(sign(ID, &signature)));
            }
            Kind::ToolUse { whole: Value::Object(input), pieces: false } if !input.is_empty() => {
                self.told.event(ModelEvent::ToolInput(Value::Object(input).to_string()));
            }
            Kind::Other => return,
            _ => {}
        }
        self.told.event(ModelEvent::BlockEnd);
    }

    fn open(&mut self, index: u32) -> Result<&mut Open, ProviderError> {
        let open = self.open.as_mut().filter(|open| open.index == index);
        open.ok_or_else(|| ProviderError::retryable("got a piece of a block that did not begin"))
    }

    fn finish(&mut self) {
        self.end();
        let usual = if self.called { "tool_use" } else { "end_turn" };
        let stop_reason = self.stop_reason.take().unwrap_or_else(|| usual.to_owned());
        self.told.done(stop_reason, self.usage);
    }
}

#[cfg(test)]
mod tests;

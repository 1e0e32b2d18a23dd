use mod_interface::types::{ContentBlock, EventPayload, Message, Usage};
use serde_json::{Map, Value};

use super::{Calls, MAX_RESPONSE_BYTES, ModelEvent, ModelResponse, ProviderError};
use crate::events::Emitter;

/// A message is told anew when it has grown by a quarter, and by no less than this: however long it
/// gets, all its updates together are about five times its size.
const MIN_GROWTH: usize = 256;

/// So much may be told for the sake of blocks that begin or end; and three times the message in all, or else
/// very many blocks would make it quadratic.
const FREE: usize = 1 << 20;

/// Puts the pieces of one response together, and tells of each as it comes.
pub(super) struct Assembly<'a> {
    emitter: &'a Emitter,
    /// The blocks so far; the input of an open tool call is its JSON text.
    blocks: Vec<ContentBlock>,
    calls: Calls,
    /// Whether the last block may still grow.
    open: bool,
    /// The bytes of all pieces so far, and how many there were at the last `message_update`.
    size: usize,
    told: usize,
    /// Whether a block began or ended since then.
    boundary: bool,
    /// The bytes that were told because of that alone.
    spent: usize,
}

impl<'a> Assembly<'a> {
    pub(super) fn new(emitter: &'a Emitter) -> Self {
        Self {
            emitter,
            blocks: Vec::new(),
            calls: Calls::default(),
            open: false,
            size: 0,
            told: 0,
            boundary: false,
            spent: 0,
        }
    }

    /// Takes a piece. Returns the response when it was the last one.
    pub(super) fn push(&mut self, event: ModelEvent) -> Result<Option<ModelResponse>, ProviderError> {
        self.calls.check(&event)?;
        match event {
            ModelEvent::Text(delta) => self.text(delta),
            ModelEvent::Thinking(delta) => self.thinking(delta),
            ModelEvent::ThinkingSignature(signature) => self.signature(&signature),
            ModelEvent::ToolUse { id, name } => self.tool_use(id, name),
            ModelEvent::ToolInput(json) => self.tool_input(&json),
            ModelEvent::BlockEnd => self.close(),
            ModelEvent::Alive => {}
            ModelEvent::Done { stop_reason, usage } => return Ok(Some(self.finish(stop_reason, usage))),
        }
        if self.size > MAX_RESPONSE_BYTES {
            return Err(ProviderError::too_long());
        }
        self.update();
        Ok(None)
    }

    /// Gives up what came so far: whoever listens is told to forget it.
    pub(super) fn abandon(mut self) {
        if let Some(ContentBlock::Thinking { .. }) = self.open_block() {
            self.close();
        }
        if !self.blocks.is_empty() {
            self.emitter.emit(EventPayload::MessageUpdate { message: Message::assistant(Vec::new()) });
        }
    }

    fn finish(&mut self, stop_reason: String, usage: Usage) -> ModelResponse {
        self.close();
        if self.boundary || self.size > self.told {
            self.tell();
        }
        ModelResponse { content: std::mem::take(&mut self.blocks), usage, stop_reason }
    }

    fn text(&mut self, delta: String) {
        if delta.is_empty() {
            return;
        }
        self.size += delta.len();
        match self.open_block() {
            Some(ContentBlock::Text { text }) => text.push_str(&delta),
            _ => self.begin(ContentBlock::text(delta.clone())),
        }
        self.emitter.emit(EventPayload::TextDelta { delta });
    }

    fn thinking(&mut self, delta: String) {
        if delta.is_empty() {
            return;
        }
        self.size += delta.len();
        match self.open_block() {
            // A signature ends a block: what follows it is the next one.
            Some(ContentBlock::Thinking { thinking, signature: None }) => thinking.push_str(&delta),
            _ => self.begin(ContentBlock::Thinking { thinking: delta.clone(), signature: None }),
        }
        self.emitter.emit(EventPayload::ThinkingDelta { delta });
    }

    fn signature(&mut self, piece: &str) {
        self.size += piece.len();
        match self.open_block() {
            Some(ContentBlock::Thinking { signature, .. }) => {
                signature.get_or_insert_default().push_str(piece);
            }
            _ => self
                .begin(ContentBlock::Thinking { thinking: String::new(), signature: Some(piece.to_owned()) }),
        }
    }

    fn tool_use(&mut self, id: String, name: String) {
        self.size += id.len() + name.len();
        self.begin(ContentBlock::ToolUse { id, name, input: Value::String(String::new()) });
        self.boundary = true;
    }

    fn tool_input(&mut self, json: &str) {
        self.size += json.len();
        if let Some(ContentBlock::ToolUse { input: Value::String(text), .. }) = self.open_block() {
            text.push_str(json);
        }
    }

    fn open_block(&mut self) -> Option<&mut ContentBlock> {
        self.blocks.last_mut().filter(|_| self.open)
    }

    fn begin(&mut self, block: ContentBlock) {
        self.close();
        if let ContentBlock::Thinking { .. } = block {
            self.emitter.emit(EventPayload::ThinkingStart {});
        }
        self.blocks.push(block);
        self.open = true;
    }

    fn close(&mut self) {
        let emitter = self.emitter;
        match self.open_block() {
            None => return,
            Some(ContentBlock::Thinking { thinking, .. }) => {
                emitter.emit(EventPayload::ThinkingEnd { text: thinking.clone() });
            }
            Some(ContentBlock::ToolUse { input, .. }) => *input = parsed(input.as_str().unwrap_or_default()),
            Some(_) => {}
        }
        self.open = false;
        self.boundary = true;
    }

    fn update(&mut self) {
        if self.size - self.told >= MIN_GROWTH.max(self.told / 4) {
            self.tell();
        } else if self.boundary && self.spent + self.size <= FREE.max(3 * self.size) {
            self.spent += self.size;
            self.tell();
        }
    }

    fn tell(&mut self) {
        self.boundary = false;
        self.told = self.size;
        self.emitter.emit(EventPayload::MessageUpdate { message: Message::assistant(self.blocks.clone()) });
    }
}

/// The input of a complete tool call, of its JSON text. Text that is no JSON stays text; no text at all is
/// what some models send for a tool without parameters.
fn parsed(text: &str) -> Value {
    if text.trim().is_empty() {
        return Value::Object(Map::new());
    }
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::providers::fixture::{Recorder, update};

    /// The content that comes of the pieces, and what was told of them.
    fn assemble(pieces: Vec<ModelEvent>) -> (Vec<ContentBlock>, Vec<EventPayload>) {
        let recorder = Recorder::new();
        let mut assembly = Assembly::new(&recorder.emitter);
        let done = ModelEvent::Done { stop_reason: "stop".to_owned(), usage: Usage::default() };
        let response = pieces.into_iter().chain([done]).find_map(|piece| assembly.push(piece).unwrap());
        (response.unwrap().content, recorder.take())
    }

    #[test]
    fn blocks_of_reasoning_end_with_their_signature() {
        let think = |text: &str| ModelEvent::Thinking(text.to_owned());
        let sign = |text: &str| ModelEvent::ThinkingSignature(text.to_owned());
        let block = |text: &str, signature: Option<&str>| ContentBlock::Thinking {
            thinking: text.to_owned(),
            signature: signature.map(str::to_owned),
        };
        let delta = |text: &str| EventPayload::ThinkingDelta { delta: text.to_owned() };
        let end = |text: &str| EventPayload::ThinkingEnd { text: text.to_owned() };

        let (content, told) =
            assemble(vec![think("a"), think(""), sign("s1"), sign("s2"), think("b"), sign("t")]);
        assert_eq!(content, [block("a", Some("s1s2")), block("b", Some("t"))]);
        assert_eq!(
            told,
            [
                EventPayload::ThinkingStart {},
                delta("a"),
                end("a"),
                EventPayload::ThinkingStart {},
                delta("b"),
                update(vec![block("a", Some("s1s2")), block("b", None)]),
                end("b"),
                update(content),
            ]
        );

        let (content, told) = assemble(vec![sign("redacted")]);
        assert_eq!(content, [block("", Some("redacted"))]);
        assert_eq!(told, [EventPayload::ThinkingStart {}, end(""), update(content)]);
    }

    #[test]
    fn a_block_that_is_said_to_end_is_not_added_to() {
        let sign = |text: &str| ModelEvent::ThinkingSignature(text.to_owned());
        let text = |text: &str| ModelEvent::Text(text.to_owned());
        let end = || ModelEvent::BlockEnd;
        let (content, _) =
            assemble(vec![sign("a"), end(), sign("b"), end(), end(), text("c"), end(), text("d")]);
        let redacted = |signature: &str| ContentBlock::Thinking {
            thinking: String::new(),
            signature: Some(signature.to_owned()),
        };
        assert_eq!(content, [redacted("a"), redacted("b"), ContentBlock::text("c"), ContentBlock::text("d")]);
    }

    #[test]
    fn all_updates_of_a_long_message_together_are_about_five_times_its_size() {
        let (pieces, piece) = (40_000, "0123456789");
        let (_, told) = assemble(vec![ModelEvent::Text(piece.to_owned()); pieces]);
        let sizes: Vec<_> = told
            .iter()
            .filter_map(|event| match event {
                EventPayload::MessageUpdate { message } => Some(message.text().len()),
                _ => None,
            })
            .collect();
        let size = pieces * piece.len();
        let together: usize = sizes.iter().sum();
        assert!((4 * size..=6 * size).contains(&together), "{sizes:?}");
        assert_eq!(told.len(), pieces + sizes.len());
    }

    #[test]
    fn all_updates_of_very_many_blocks_together_are_less_than_ten_times_the_message() {
        let block = |number: usize| {
            [
                ModelEvent::ToolUse { id: format!("{number:04}"), name: "tool".to_owned() },
                ModelEvent::ToolInput("{}".to_owned()),
            ]
        };
        let long = ModelEvent::Text("x".repeat(1 << 20));
        let pieces: Vec<_> = [long].into_iter().chain((0..100).flat_map(block)).collect();
        let (content, told) = assemble(pieces);
        let size = |content: &[ContentBlock]| -> usize {
            content.iter().map(|block| block.as_text().map_or(10, str::len)).sum()
        };
        let updates: Vec<_> = told
            .iter()
            .filter_map(|event| match event {
                EventPayload::MessageUpdate { message } => Some(&message.content),
                _ => None,
            })
            .collect();
        let together: usize = updates.iter().map(|content| size(content)).sum();
        assert!(together < 10 * size(&content), "{} updates, {together} bytes", updates.len());
        assert_eq!(updates.last(), Some(&&content), "the last one is the whole");
    }

    #[test]
    fn a_response_that_does_not_end_is_given_up() {
        let recorder = Recorder::new();
        let mut assembly = Assembly::new(&recorder.emitter);
        let piece = || ModelEvent::Text("x".repeat(1 << 20));
        let pushed: Vec<_> = (0..17).map(|_| assembly.push(piece())).collect();
        assert!(pushed[..16].iter().all(|pushed| *pushed == Ok(None)));
        assert_eq!(pushed[16], Err(ProviderError::too_long()));
    }

    #[test]
    fn an_empty_response_tells_nothing() {
        assert_eq!(assemble(vec![ModelEvent::Text(String::new()), ModelEvent::Alive]), (vec![], vec![]));
    }
}

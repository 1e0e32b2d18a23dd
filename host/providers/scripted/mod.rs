//! A model that plays a scenario: for tests, for the quick start, and for authors of mods.
//!
//! It is chosen by `scripted/<path>`; a relative path starts at the working directory. The file is
//! checked whole before the run starts.
//!
//! # The scenario
//! A JSON object with one key, `turns`: what the model answers, one turn for each request. An attempt
//! that is made again is a request of its own. Every key but `turns` may be left out:
//! ```json
//! {"turns": [
//!   {
//!     "description": "what this turn is about; shown when it fails",
//!     "expect": {
//!       "model": "the end of the model's id",
//!       "effort": "low",
//!       "messages_count": 1,
//!       "system_contains": "text",
//!       "last_user_contains": "text",
//!       "tools_include": ["read_file"],
//!       "tools_exclude": ["shell_command"],
//!       "tool_result_contains": {"id": "call_1_1", "text": "text"}
//!     },
//!     "delay_ms": 100,
//!     "thinking": "a block of reasoning",
//!     "text": "a block of text",
//!     "tool_calls": [{"id": "call_1_1", "name": "read_file", "input": {"file_path": "a.txt"}}],
//!     "chunks": 3,
//!     "usage": {"input_tokens": 1, "output_tokens": 1, "cache_read_tokens": 0, "cache_write_tokens": 0},
//!     "stop_reason": "tool_use"
//!   },
//!   {"error": {"kind": "retryable", "message": "busy", "retry_after_ms": 1000}},
//!   {"text": "done"}
//! ]}
//! ```
//! - `expect`: what the request must be like. `effort` is `null` where none must be set.
//!   `last_user_contains` looks at the last message on the user's side that has a text of its own.
//!   `tool_result_contains` looks at the result of the call `id`, or without it at all results of the
//!   last message that has any.
//! - `delay_ms`: the wait before the first piece.
//! - `tool_calls`: `id` is `call_<turn>_<number>` where it is left out, both counted from 1. `input` may
//!   be any JSON, `{}` where it is left out; `input_text` in its place is sent as it is, JSON or not.
//! - `chunks`: into how many pieces each text and each input is split, 1 where it is left out.
//! - `stop_reason`: `tool_use` or `end_turn` where it is left out.
//! - `error`: the attempt fails, after the pieces of the turn. `kind` is `retryable` or `fatal`.
//!
//! A request that is not as expected, and one for which there is no turn left, fails the run with a
//! message that names the file, the turn, what was expected and what came.

mod expect;
mod scenario;

use std::{
    collections::{HashMap, hash_map::Entry},
    num::NonZeroUsize,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures::{StreamExt, stream};

use self::scenario::{Scenario, Turn};
use super::{ModelEvent, ModelRequest, ModelStream, Provider, ProviderError};

/// The provider's id.
pub const ID: &str = "scripted";

/// The provider `scripted`. Each scenario is played once, from its first turn, by all who call it.
pub struct Scripted {
    cwd: Arc<Path>,
    plays: Mutex<HashMap<PathBuf, Play>>,
}

/// A scenario and how far it has been played.
struct Play {
    scenario: Arc<Scenario>,
    next: usize,
}

impl Scripted {
    /// A provider that finds scenarios from `cwd` on.
    pub fn new(cwd: impl Into<Arc<Path>>) -> Self {
        Self { cwd: cwd.into(), plays: Mutex::default() }
    }

    /// The scenario of `model`, and the index of the turn to play.
    fn advance(&self, model: &str, turns: usize) -> Result<(Arc<Scenario>, usize), ProviderError> {
        let path = self.cwd.join(model);
        let mut plays = self.plays.lock().unwrap_or_else(PoisonError::into_inner);
        let play = match plays.entry(path) {
            Entry::Occupied(play) => play.into_mut(),
            Entry::Vacant(place) => {
                let scenario =
                    Scenario::load(place.key()).map_err(|error| ProviderError::fatal(error.to_string()))?;
                place.insert(Play { scenario: Arc::new(scenario), next: 0 })
            }
        };
        let turn = play.next;
        play.next += turns;
        Ok((Arc::clone(&play.scenario), turn))
    }
}

impl Provider for Scripted {
    fn id(&self) -> &str {
        ID
    }

    fn prepare(&self, model: &str) -> Result<(), ProviderError> {
        self.advance(model, 0).map(|_| ())
    }

    fn stream(&self, request: ModelRequest) -> ModelStream {
        let turn = self.advance(&request.model, 1).and_then(|(scenario, index)| {
            let turn = scenario.turn(index)?;
            turn.expect.check(&request).map_err(|error| scenario.failure(index, &error))?;
            Ok((pieces(turn, index + 1), turn.delay_ms))
        });
        let delayed = async move {
            match turn {
                Err(error) => stream::iter(vec![Err(error)]),
                Ok((pieces, delay_ms)) => {
                    if delay_ms > 0 {
                        tokio::time::sleep(Duration::from_millis(delay_ms)).await;
                    }
                    stream::iter(pieces)
                }
            }
        };
        stream::once(delayed).flatten().boxed()
    }
}

/// What a turn sends, in order.
fn pieces(turn: &Turn, number: usize) -> Vec<Result<ModelEvent, ProviderError>> {
    let mut events = Vec::new();
    events.extend(split(&turn.thinking, turn.chunks).map(ModelEvent::Thinking));
    events.extend(split(&turn.text, turn.chunks).map(ModelEvent::Text));
    for (position, call) in turn.tool_calls.iter().enumerate() {
        let id = call.id.clone().unwrap_or_else(|| format!("call_{number}_{}", position + 1));
        events.push(ModelEvent::ToolUse { id, name: call.name.clone() });
        events.extend(split(&call.json(), turn.chunks).map(ModelEvent::ToolInput));
    }
    let last = match &turn.error {
        Some(error) => Err(error.into()),
        None => Ok(ModelEvent::Done { stop_reason: turn.stop_reason(), usage: turn.usage.into() }),
    };
    events.into_iter().map(Ok).chain([last]).collect()
}

/// Splits `text` into `count` pieces of about one length, or fewer where it is shorter.
fn split(text: &str, count: NonZeroUsize) -> impl Iterator<Item = String> {
    let chars: Vec<char> = text.chars().collect();
    let size = chars.len().div_ceil(count.get()).max(1);
    let pieces: Vec<String> = chars.chunks(size).map(|piece| piece.iter().collect()).collect();
    pieces.into_iter()
}

#[cfg(test)]
mod tests;

//! Models behind one trait.
//!
//! A [`Provider`] turns a [`ModelRequest`] into a stream of [`ModelEvent`]s. Retrying and putting the
//! pieces together is not its business: [`ModelClient`] does that once, for all of them.
//! [`Providers`] finds the provider of a `provider/model` name.
//!
//! # What a listener hears of a call
//! - `text_delta` and `thinking_delta`: one for every piece, as it comes. `thinking_start` and
//!   `thinking_end` stand around each block of reasoning.
//! - `message_update`: the whole message so far. It comes when a tool call begins, when a block has
//!   ended, when the message has grown by a quarter (256 bytes at least) since the last one, and with
//!   the last piece. So it depends on the pieces alone, never on the clock, and all of them together
//!   are about five times as long as the message; in one of very many blocks, no more than ten times. The input of a tool call that is still coming is its
//!   JSON text so far, as a string.
//! - `api_retry`: when an attempt failed and another will be made, for the fourth failure and those
//!   after it; `attempt` is the number of the attempt that comes next.
//!
//! An attempt that breaks off after some pieces is made anew from the start. A `message_update`
//! without content then says that what came so far counts no longer; the pieces of the next attempt
//! follow. A call that fails, or is interrupted, just ends: there is no event for that here.

pub mod anthropic;
mod assembly;
mod calls;
mod client;
mod endpoint;
pub mod openai;
mod resolve;
mod retry;
pub mod scripted;
mod signature;

#[cfg(test)]
mod fixture;

use std::{sync::Arc, time::Duration};

use futures::stream::BoxStream;
use mod_interface::types::{Effort, Message, ModelInfo, ToolSpec, Usage};

pub(crate) use calls::Calls;
pub use client::{CallError, ModelClient, ModelResponse};
pub use endpoint::Access;
pub use resolve::{Providers, ProvidersError};
pub use retry::{MAX_RETRY_AFTER, RetryPolicy};

/// The most that one response may hold, in bytes, so that a server cannot fill the memory. No model says as
/// much.
pub(crate) const MAX_RESPONSE_BYTES: usize = 16 << 20;

/// One call of a model.
#[derive(Debug, Clone)]
pub struct ModelRequest {
    /// The model's id, without its provider.
    pub model: Arc<str>,
    /// The system prompt.
    pub system: Arc<str>,
    /// The conversation, valid for sending.
    pub messages: Vec<Arc<Message>>,
    /// The tools that the model may call.
    pub tools: Arc<[ToolSpec]>,
    /// How hard it shall think; `None` is the model's own default.
    pub effort: Option<Effort>,
}

/// A piece of a response.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelEvent {
    /// A piece of text.
    Text(String),
    /// A piece of reasoning.
    Thinking(String),
    /// The provider's proof of the reasoning so far.
    ThinkingSignature(String),
    /// A tool call begins.
    ToolUse {
        /// The call's id.
        id: String,
        /// The tool's name.
        name: String,
    },
    /// A piece of the JSON text of the last tool call's input.
    ToolInput(String),
    /// The open block is complete: what follows begins another. It may be left out where that is plain.
    BlockEnd,
    /// The connection is alive, there is just nothing to tell: no one hears of it.
    Alive,
    /// The response is complete. A stream that ends without it was cut off.
    Done {
        /// Why the model stopped, in the provider's own word.
        stop_reason: String,
        /// The tokens of the call.
        usage: Usage,
    },
}

/// The pieces of a response, in order. Dropping it gives the request up.
pub type ModelStream = BoxStream<'static, Result<ModelEvent, ProviderError>>;

/// A source of models.
pub trait Provider: Send + Sync {
    /// The name before the slash in `provider/model`.
    fn id(&self) -> &str;

    /// The models that it says it has. Where it says none, any name is taken for one.
    fn models(&self) -> &[ModelInfo] {
        &[]
    }

    /// Makes sure, before a run starts, that `model` can be called: that there is a key, or a file.
    ///
    /// # Errors
    /// Says what is missing and what to do.
    fn prepare(&self, _model: &str) -> Result<(), ProviderError> {
        Ok(())
    }

    /// Starts a call.
    fn stream(&self, request: ModelRequest) -> ModelStream;
}

/// Why a call failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProviderError {
    /// Trying again may help: overload, a cut connection, a 5xx.
    #[error("{message}")]
    Retryable {
        /// What went wrong.
        message: String,
        /// How long the server asks to wait.
        retry_after: Option<Duration>,
    },
    /// Trying again will not help.
    #[error("{0}")]
    Fatal(String),
}

impl ProviderError {
    /// A failure that another try may mend, at any time.
    pub fn retryable(message: impl Into<String>) -> Self {
        Self::Retryable { message: message.into(), retry_after: None }
    }

    /// The failure of a response that does not end.
    fn too_long() -> Self {
        Self::Fatal(format!(
            "the response is longer than any model's, expected at most {MAX_RESPONSE_BYTES} bytes"
        ))
    }

    /// A failure that no other try will mend.
    pub fn fatal(message: impl Into<String>) -> Self {
        Self::Fatal(message.into())
    }
}

/// The word of `known` that a misspelt `word` most likely meant.
fn closest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let typos = |other: &&str| strsim::damerau_levenshtein(word, other);
    known.into_iter().min_by_key(typos).filter(|best| typos(best) <= (best.len() / 3).max(1))
}

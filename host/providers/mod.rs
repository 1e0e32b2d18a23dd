//! Models behind one trait.
//!
//! A provider turns a [`ModelRequest`] into a stream of [`ModelEvent`]s. Retrying and putting the
//! pieces together is not its business: that is done once, for all of them.

use std::{sync::Arc, time::Duration};

use futures::stream::BoxStream;
use mod_interface::types::{Effort, Message, ToolSpec, Usage};

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

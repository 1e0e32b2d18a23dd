use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;
use mod_interface::types::{ContentBlock, Effort, Message, ToolSpec, Usage};
use tokio_util::sync::CancellationToken;

use super::BoxError;
use crate::events::Emitter;

/// Answers model calls.
pub trait Model: Send + Sync {
    /// Makes one call, and raises what happens on the way: `text_delta`, `thinking_*`,
    /// `message_update`, `api_retry`. When `cancel` fires the call is given up, and the future
    /// dropped.
    fn complete<'a>(
        &'a self,
        call: ModelCall,
        emitter: &'a Emitter,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<ModelResponse, BoxError>>;

    /// Checks that `model`, written `provider/id`, can be called.
    ///
    /// # Errors
    /// Says why it cannot.
    fn check(&self, model: &str) -> Result<(), String>;
}

/// One call of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelCall {
    /// `provider/id`.
    pub model: Arc<str>,
    /// How hard it shall think; `None` is the model's own default.
    pub effort: Option<Effort>,
    /// The system prompt.
    pub system: Arc<str>,
    /// The conversation, valid for sending.
    pub messages: Vec<Arc<Message>>,
    /// The tools that it may call.
    pub tools: Arc<[ToolSpec]>,
}

/// A whole response.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelResponse {
    /// What the model says.
    pub content: Vec<ContentBlock>,
    /// The tokens of the call.
    pub usage: Usage,
    /// Why the model stopped, in the provider's own word where it has one.
    pub stop_reason: String,
}

/// Which model a run starts with, and how hard it thinks. A change holds from the next model call on,
/// unless a `prepare_next_turn` hook of the run has said otherwise.
#[derive(Debug)]
pub struct ModelChoice {
    chosen: Mutex<(Arc<str>, Option<Effort>)>,
}

impl ModelChoice {
    /// Starts with `model`, written `provider/id`; no `effort` is the model's own default.
    pub fn new(model: impl Into<Arc<str>>, effort: Option<Effort>) -> Self {
        Self { chosen: Mutex::new((model.into(), effort)) }
    }

    /// The model and the effort.
    pub fn get(&self) -> (Arc<str>, Option<Effort>) {
        self.chosen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes another model, and leaves the effort.
    pub fn set_model(&self, model: impl Into<Arc<str>>) {
        self.chosen.lock().unwrap_or_else(PoisonError::into_inner).0 = model.into();
    }

    /// Takes another effort, or goes back to the model's own default.
    pub fn set_effort(&self, effort: Option<Effort>) {
        self.chosen.lock().unwrap_or_else(PoisonError::into_inner).1 = effort;
    }
}

use serde::{Deserialize, Serialize};

use super::{Effort, ToolSpec, Usage};

/// A model that a provider has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelInfo {
    /// What stands behind the slash of `provider/model`.
    pub id: String,
    /// What people call it.
    pub name: String,
}

/// What a provider is registered with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProviderSpec {
    /// What stands in front of the slash of `provider/model`: of `a-z`, `0-9` and `-`, 64 characters at most.
    pub id: String,
    /// Its models. Where there are none, any name is taken for one.
    #[serde(default)]
    pub models: Vec<ModelInfo>,
}

/// What a provider is asked, beside the messages.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelQuestion {
    /// The model's id, without its provider.
    pub model: String,
    /// The system prompt.
    #[serde(default)]
    pub system: String,
    /// The tools that the model may call.
    #[serde(default)]
    pub tools: Vec<ToolSpec>,
    /// How hard it shall think; `None` is the model's own default.
    #[serde(default)]
    pub effort: Option<Effort>,
}

/// A piece of a model's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelPiece {
    /// A piece of text.
    Text(String),
    /// A piece of reasoning.
    Thinking(String),
    /// The provider's proof of the reasoning so far. It comes back with the conversation.
    Signature(String),
    /// A tool call begins.
    ToolUse {
        /// The call's id; no two of the conversation have the same.
        id: String,
        /// The tool's name.
        name: String,
    },
    /// A piece of the JSON text of the last tool call's input.
    ToolInput(String),
    /// The block so far is complete: what follows begins another. It may be left out where that is plain.
    BlockEnd,
    /// The connection is alive, there is just nothing to tell.
    Alive,
}

/// How a model's answer ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelOutcome {
    /// It is complete.
    Done(ModelDone),
    /// It broke off, or did not begin.
    Failed(ModelFailure),
}

/// A complete answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelDone {
    /// Why the model stopped, in the provider's own word. `length` and `max_tokens`, `pause_turn` and `refusal` mean
    /// something to the run.
    pub stop_reason: String,
    /// The tokens of the call.
    #[serde(default)]
    pub usage: Usage,
}

impl ModelDone {
    /// An answer of which no tokens were counted.
    pub fn new(stop_reason: impl Into<String>) -> Self {
        Self { stop_reason: stop_reason.into(), usage: Usage::default() }
    }

    /// Says how many tokens it took.
    #[must_use]
    pub fn usage(self, usage: Usage) -> Self {
        Self { usage, ..self }
    }
}

/// Why there is no complete answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelFailure {
    /// What went wrong, in one line.
    pub message: String,
    /// Whether trying again may help.
    pub retryable: bool,
    /// How long the server asks to wait.
    #[serde(default)]
    pub retry_after_ms: Option<u64>,
}

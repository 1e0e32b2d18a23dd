use serde::{Deserialize, Serialize};

/// Tokens of one model call, or of several added up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Usage {
    /// Tokens read that no cache held.
    pub input_tokens: u64,
    /// Tokens written by the model.
    pub output_tokens: u64,
    /// Tokens read from the provider's prompt cache.
    pub cache_read_tokens: u64,
    /// Tokens put into the provider's prompt cache.
    pub cache_write_tokens: u64,
}

impl Usage {
    /// All tokens together.
    pub const fn total(&self) -> u64 {
        self.input_tokens
            .saturating_add(self.output_tokens)
            .saturating_add(self.cache_read_tokens)
            .saturating_add(self.cache_write_tokens)
    }
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.cache_read_tokens = self.cache_read_tokens.saturating_add(other.cache_read_tokens);
        self.cache_write_tokens = self.cache_write_tokens.saturating_add(other.cache_write_tokens);
    }
}

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The model was done.
    EndTurn,
    /// The run had its `max_turns` turns.
    MaxTurns,
    /// A `should_stop_after_turn` hook ended it.
    StopHook,
    /// A tool hook asked to terminate.
    Terminate,
    /// A tool call was denied.
    PermissionDenied,
    /// The user interrupted it.
    Interrupted,
    /// It failed; `run_error` says how.
    Error,
}

impl StopReason {
    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::EndTurn => "end_turn",
            Self::MaxTurns => "max_turns",
            Self::StopHook => "stop_hook",
            Self::Terminate => "terminate",
            Self::PermissionDenied => "permission_denied",
            Self::Interrupted => "interrupted",
            Self::Error => "error",
        }
    }
}

/// What came of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunResult {
    /// The text of the last assistant message; empty when there is none.
    pub final_text: String,
    /// Why it ended.
    pub stop_reason: StopReason,
    /// How many turns were committed.
    pub turn_count: u32,
    /// Tokens of all turns.
    pub usage: Usage,
}

/// How a session came to be bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionStartSource {
    /// A new session.
    Startup,
    /// A session read back from disk.
    Resume,
}

/// Why a session is torn down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionEndReason {
    /// The program ends.
    Shutdown,
    /// Another session takes its place.
    Replaced,
}

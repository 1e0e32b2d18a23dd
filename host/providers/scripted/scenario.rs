use std::{
    num::NonZeroUsize,
    path::{Path, PathBuf},
    time::Duration,
};

use mod_interface::types::Usage;
use serde::Deserialize;
use serde_json::Value;

use super::expect::Expect;
use crate::{
    files,
    providers::{ProviderError, closest},
};

/// A scenario that has been checked.
#[derive(Debug)]
pub(super) struct Scenario {
    path: PathBuf,
    turns: Vec<Turn>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    turns: Vec<Turn>,
}

/// What the model answers to one request.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Turn {
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    pub(super) expect: Expect,
    #[serde(default)]
    pub(super) delay_ms: u64,
    #[serde(default)]
    pub(super) thinking: String,
    #[serde(default)]
    pub(super) text: String,
    #[serde(default)]
    pub(super) tool_calls: Vec<Call>,
    #[serde(default = "one")]
    pub(super) chunks: NonZeroUsize,
    #[serde(default)]
    pub(super) usage: ScriptedUsage,
    #[serde(default)]
    stop_reason: Option<String>,
    #[serde(default)]
    pub(super) error: Option<ScriptedError>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Call {
    pub(super) id: Option<String>,
    pub(super) name: String,
    input: Option<Value>,
    input_text: Option<String>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ScriptedUsage {
    input_tokens: u64,
    output_tokens: u64,
    cache_read_tokens: u64,
    cache_write_tokens: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScriptedError {
    kind: ErrorKind,
    message: String,
    retry_after_ms: Option<u64>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ErrorKind {
    Retryable,
    Fatal,
}

/// Why a scenario cannot be played.
#[derive(Debug, thiserror::Error)]
pub(super) enum ScenarioError {
    #[error("cannot read the scenario {}: {source}", path.display())]
    Unreadable { path: PathBuf, source: std::io::Error },
    #[error("the scenario {} is wrong at line {line}, column {column}: {message}", path.display())]
    Wrong { path: PathBuf, line: usize, column: usize, message: String },
    #[error("the scenario {} is wrong in turn {turn}: {message}", path.display())]
    WrongTurn { path: PathBuf, turn: usize, message: &'static str },
}

impl Scenario {
    /// Reads and checks a scenario.
    pub(super) fn load(path: &Path) -> Result<Self, ScenarioError> {
        let path = path.to_owned();
        let text = match files::read_text(&path) {
            Ok(text) => text,
            Err(source) => return Err(ScenarioError::Unreadable { path, source }),
        };
        let turns = match serde_json::from_str::<File>(&text) {
            Ok(file) => file.turns,
            Err(error) => {
                let (line, column) = (error.line(), error.column());
                return Err(ScenarioError::Wrong { path, line, column, message: explain(&error) });
            }
        };
        for (index, turn) in turns.iter().enumerate() {
            if let Err(message) = turn.check() {
                return Err(ScenarioError::WrongTurn { path, turn: index + 1, message });
            }
        }
        Ok(Self { path, turns })
    }

    /// The turn at `index`, or that there is none.
    pub(super) fn turn(&self, index: usize) -> Result<&Turn, ProviderError> {
        self.turns.get(index).ok_or_else(|| {
            let turns = self.turns.len();
            self.failure(index, &format!("there is no such turn, expected at most {turns} requests"))
        })
    }

    /// That a request was not what the turn at `index` expects.
    pub(super) fn failure(&self, index: usize, message: &str) -> ProviderError {
        let description = self.turns.get(index).and_then(|turn| turn.description.as_deref());
        let description = description.map(|text| format!(" ({text})")).unwrap_or_default();
        let path = self.path.display();
        ProviderError::Fatal(format!("scenario {path}, turn {}{description}: {message}", index + 1))
    }
}

impl Turn {
    fn check(&self) -> Result<(), &'static str> {
        for call in &self.tool_calls {
            if call.name.is_empty() || call.id.as_deref() == Some("") {
                return Err("the name and the id of a tool call must not be empty");
            }
            if call.input.is_some() && call.input_text.is_some() {
                return Err("a tool call has an input or an input_text, got both");
            }
        }
        match &self.error {
            Some(ScriptedError { kind: ErrorKind::Fatal, retry_after_ms: Some(_), .. }) => {
                Err("retry_after_ms is for errors of the kind retryable, got it with fatal")
            }
            Some(_) if self.stop_reason.is_some() => Err("a turn that fails has no stop_reason"),
            _ => Ok(()),
        }
    }

    pub(super) fn stop_reason(&self) -> String {
        let default = if self.tool_calls.is_empty() { "end_turn" } else { "tool_use" };
        self.stop_reason.as_deref().unwrap_or(default).to_owned()
    }
}

impl Call {
    /// The input as the model writes it.
    pub(super) fn json(&self) -> String {
        match (&self.input_text, &self.input) {
            (Some(text), _) => text.clone(),
            (None, Some(input)) => input.to_string(),
            (None, None) => "{}".to_owned(),
        }
    }
}

impl From<ScriptedUsage> for Usage {
    fn from(usage: ScriptedUsage) -> Self {
        Self {
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            cache_read_tokens: usage.cache_read_tokens,
            cache_write_tokens: usage.cache_write_tokens,
        }
    }
}

impl From<&ScriptedError> for ProviderError {
    fn from(error: &ScriptedError) -> Self {
        let message = error.message.clone();
        match error.kind {
            ErrorKind::Fatal => Self::Fatal(message),
            ErrorKind::Retryable => {
                Self::Retryable { message, retry_after: error.retry_after_ms.map(Duration::from_millis) }
            }
        }
    }
}

fn one() -> NonZeroUsize {
    NonZeroUsize::MIN
}

/// The parser's own words without the place, and what a misspelt word may have meant.
///
/// The parser tells the known words in its text alone: "unknown field `a`, expected one of `b`, `c`".
fn explain(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let text = text.rsplit_once(" at line ").map_or(text.as_str(), |(what, _place)| what);
    let mut words = text.split('`').skip(1).step_by(2);
    let meant = match words.next() {
        Some(word) if text.starts_with("unknown ") => closest(word, words),
        _ => None,
    };
    match meant {
        Some(meant) => format!("{text} (did you mean `{meant}`?)"),
        None => text.to_owned(),
    }
}

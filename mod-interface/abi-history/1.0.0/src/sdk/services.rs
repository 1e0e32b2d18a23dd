//! The host's services by name, as [`super::ModApi`] and [`super::Ctx`] both offer them.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Error, Result};
use crate::abi::Frame;

/// How much a line of the log matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogLevel {
    /// For the mod's author.
    Debug,
    /// Worth to know.
    Info,
    /// Something is wrong.
    Warn,
    /// Something failed.
    Error,
}

/// Asks for a service that answers at once.
pub(crate) fn now(frame: &Frame, service: &str, args: &Value) -> Result<Value> {
    answer(frame.call_now(service, &args.to_string()))
}

/// Asks for a service that answers later.
pub(crate) fn later(
    frame: &Frame,
    service: &str,
    args: &Value,
) -> impl Future<Output = Result<Value>> + Send + 'static + use<> {
    let asked = frame.call(service, &args.to_string());
    async move { answer(asked.await) }
}

/// Writes a line to the host's log. A log that cannot be written is not the mod's trouble.
pub(crate) fn log(frame: &Frame, level: LogLevel, message: &str) {
    let _lost = now(frame, "log", &json!({ "level": level, "message": message }));
}

fn answer(answer: std::result::Result<String, String>) -> Result<Value> {
    let json = answer.map_err(Error::msg)?;
    Ok(serde_json::from_str(&json)?)
}

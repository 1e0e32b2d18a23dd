use std::sync::{Mutex, PoisonError};

use mod_interface::types::{AgentEvent, EventPayload, MAIN_AGENT, NoticeLevel, RunResult, StopReason};
use serde::Serialize;
use serde_json::{Value, json};

use super::{lines::Lines, timing};
use crate::{
    cli::{
        args::OutputFormat,
        output::{label, one_line},
        request::Ended,
    },
    events::EventSink,
    mod_host::HookTiming,
};

/// Turns a run's events into lines, in one of the three formats.
pub(super) struct Printer {
    pub(super) format: OutputFormat,
    /// Whether tools are told of, in the text format.
    pub(super) verbose: bool,
    /// Whether a person reads the answer as it comes out.
    pub(super) terminal: bool,
    pub(super) lines: Lines,
    pub(super) seen: Mutex<Seen>,
}

/// What the JSON format tells at the end.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Seen {
    session_id: Option<String>,
    model: Option<String>,
    error: Option<String>,
    notices: Vec<Value>,
    mod_errors: Vec<Value>,
    /// The tool calls that were denied, and why.
    denied: Vec<Value>,
}

impl EventSink for Printer {
    fn emit(&self, event: &AgentEvent) {
        match self.format {
            OutputFormat::Text => {
                if let Some(line) = self.message(event) {
                    self.lines.err(line);
                }
            }
            OutputFormat::StreamJson => match serde_json::to_string(event) {
                Ok(line) => self.lines.out(line),
                Err(error) => self.lines.err(format!("{}: an event is lost: {error}", label("error"))),
            },
            OutputFormat::Json => self.seen.lock().unwrap_or_else(PoisonError::into_inner).note(event),
        }
    }
}

impl Printer {
    /// Tells what is odd before a run begins.
    pub(super) fn warn(&self, message: &str) {
        let payload = EventPayload::Notice { level: NoticeLevel::Warning, message: message.to_owned() };
        self.emit(&AgentEvent { payload, agent_id: MAIN_AGENT.into() });
    }

    /// Tells people of a failure.
    pub(super) fn error(&self, error: &str) {
        self.lines.err(format!("{}: {error}", label("error")));
    }

    /// Prints that no run came of it, where programs read it.
    pub(super) fn not_begun(&self, error: &str) {
        let payload = EventPayload::RunError { error: error.to_owned() };
        match self.format {
            OutputFormat::Text => {}
            OutputFormat::StreamJson => self.emit(&AgentEvent { payload, agent_id: MAIN_AGENT.into() }),
            OutputFormat::Json => {
                self.emit(&AgentEvent { payload, agent_id: MAIN_AGENT.into() });
                self.summary(Value::Null, None, None);
            }
        }
    }

    /// Prints what came of the run, and what the hooks took.
    pub(super) fn end(&self, ended: &Ended, timing: Option<&[HookTiming]>) {
        match (self.format, ended) {
            (OutputFormat::Text, Ended::Run(result)) => {
                if let Some(line) = early_end(result) {
                    self.lines.err(line);
                }
                self.text(&result.final_text);
            }
            (OutputFormat::Text, Ended::Handled(message)) => {
                self.text(message.as_deref().unwrap_or_default())
            }
            (OutputFormat::StreamJson, _) | (OutputFormat::Text, Ended::Failed) => {}
            (OutputFormat::Json, Ended::Failed) => self.summary(Value::Null, None, timing),
            (OutputFormat::Json, Ended::Run(result)) => self.summary(json!(result), None, timing),
            (OutputFormat::Json, Ended::Handled(message)) => {
                self.summary(Value::Null, message.as_deref(), timing)
            }
        }
        match (self.format, timing) {
            (OutputFormat::Text, Some(timing)) => {
                timing::table(timing).into_iter().for_each(|line| self.lines.err(line));
            }
            (OutputFormat::StreamJson, Some(timing)) => {
                self.lines.out(json!({ "type": "mod_timing", "hooks": timing }).to_string());
            }
            (OutputFormat::Json, _) | (_, None) => {}
        }
    }

    /// Prints the one object of the JSON format.
    fn summary(&self, result: Value, message: Option<&str>, timing: Option<&[HookTiming]>) {
        let mut summary = json!(*self.seen.lock().unwrap_or_else(PoisonError::into_inner));
        summary["result"] = result;
        if let Some(message) = message {
            summary["message"] = message.into();
        }
        if let Some(timing) = timing {
            summary["modTiming"] = json!(timing);
        }
        self.lines.out(summary.to_string());
    }

    fn text(&self, text: &str) {
        let text = text.trim_end();
        if text.is_empty() {
            return;
        }
        let shown = |char: &char| !char.is_control() || matches!(char, '\n' | '\t');
        self.lines.out(if self.terminal {
            anstream::adapter::strip_str(text).to_string().chars().filter(shown).collect()
        } else {
            text.to_owned()
        });
    }

    /// The line for an event in the text format, where it has one.
    fn message(&self, event: &AgentEvent) -> Option<String> {
        let (word, text) = match &event.payload {
            EventPayload::Notice { level: NoticeLevel::Info, message } => ("info", message.clone()),
            EventPayload::Notice { level: NoticeLevel::Warning, message } => ("warning", message.clone()),
            EventPayload::ModError { mod_id, hook, error } => {
                ("warning", format!("{mod_id} failed in {hook}: {error}"))
            }
            EventPayload::ApiRetry { attempt, error, delay_ms } => (
                "warning",
                format!("the model request is tried again in {delay_ms} ms, attempt {attempt}: {error}"),
            ),
            EventPayload::ToolDenied { tool_name, reason, .. } => {
                ("warning", format!("{tool_name} was denied: {reason}"))
            }
            EventPayload::Interrupted {} => ("warning", "the run was interrupted".to_owned()),
            EventPayload::RunError { error } => ("error", error.clone()),
            payload if self.verbose => ("tool", tool_message(payload)?),
            _ => return None,
        };
        let agent =
            if &*event.agent_id == MAIN_AGENT { String::new() } else { format!("[{}] ", event.agent_id) };
        Some(format!("{}: {agent}{}", label(word), one_line(&text)))
    }
}

/// What a tool does, for those who asked to see it.
fn tool_message(payload: &EventPayload) -> Option<String> {
    Some(match payload {
        EventPayload::ToolRunning { tool_name, description: Some(description), .. } => {
            format!("{tool_name} runs: {description}")
        }
        EventPayload::ToolRunning { tool_name, .. } => format!("{tool_name} runs"),
        EventPayload::ToolHookBlocked { tool_name, hook_output, .. } => {
            format!("{tool_name} was blocked: {hook_output}")
        }
        EventPayload::ToolCompleted { tool_name, .. } => format!("{tool_name} is done"),
        EventPayload::ToolErrored { tool_name, error, .. } => format!("{tool_name} failed: {error}"),
        _ => return None,
    })
}

/// Says that a run did not come to its own end, where no event said so.
fn early_end(result: &RunResult) -> Option<String> {
    let (reason, count) = (result.stop_reason.as_str(), result.turn_count);
    let turns = if count == 1 { "turn" } else { "turns" };
    match result.stop_reason {
        StopReason::MaxTurns | StopReason::Terminate | StopReason::PermissionDenied => {
            Some(format!("{}: the run ended early, after {count} {turns}: {reason}", label("warning")))
        }
        StopReason::EndTurn | StopReason::StopHook | StopReason::Interrupted | StopReason::Error => None,
    }
}

impl Seen {
    fn note(&mut self, event: &AgentEvent) {
        let main = &*event.agent_id == MAIN_AGENT;
        match &event.payload {
            EventPayload::RunStart { session_id } if main => self.session_id = Some(session_id.to_string()),
            EventPayload::ModelRequestStart { model } if main => self.model = Some(model.clone()),
            EventPayload::RunError { error } if main => self.error = Some(error.clone()),
            EventPayload::Notice { level, message } => {
                self.notices.push(json!({ "level": level, "message": message }));
            }
            EventPayload::ToolDenied { tool_call_id, tool_name, reason } => {
                let id = tool_call_id;
                self.denied.push(json!({ "toolCallId": id, "toolName": tool_name, "reason": reason }));
            }
            EventPayload::ModError { mod_id, hook, error } => {
                self.mod_errors.push(json!({ "modId": mod_id, "hook": hook, "error": error }));
            }
            _ => {}
        }
    }
}

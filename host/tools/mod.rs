//! The built-in tools, one file each, on one trait.

use std::{path::Path, sync::Arc};

use futures::future::BoxFuture;
use mod_interface::types::{ToolOutput, ToolSpec};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// A tool that the model can call.
pub trait Tool: Send + Sync {
    /// What the model is told of it.
    fn spec(&self) -> &ToolSpec;

    /// What it touches, for the permission check.
    fn access(&self) -> Access {
        if self.spec().read_only { Access::Read } else { Access::Other }
    }

    /// The part of the input that permission rules match: a path, a command.
    fn rule_subject(&self, _input: &Value) -> Option<String> {
        None
    }

    /// One line for people: what a call with this input is about to do.
    fn describe(&self, _input: &Value) -> BoxFuture<'_, Option<String>> {
        Box::pin(std::future::ready(None))
    }

    /// Runs it. A failure is an output with `is_error`, never a panic. When `ctx.cancel` fires it
    /// ends soon, and leaves no process and no half-written file behind.
    fn run(&self, input: Value, ctx: ToolContext) -> BoxFuture<'_, ToolOutput>;
}

/// What a tool touches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// It only reads.
    Read,
    /// It changes files of the workspace.
    Edit,
    /// It may do anything.
    Other,
}

/// What a tool call is given beside its input.
#[derive(Clone)]
pub struct ToolContext {
    /// The workspace root; relative paths start here.
    pub cwd: Arc<Path>,
    /// Fires when the run is interrupted.
    pub cancel: CancellationToken,
    /// The call's id.
    pub tool_call_id: Arc<str>,
    /// The agent that calls.
    pub agent_id: Arc<str>,
    /// Takes the output so far, for `tool_update`.
    pub progress: Arc<dyn Fn(&str) + Send + Sync>,
}

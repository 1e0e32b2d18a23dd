//! The tools that the model can call: the trait, the set of those in force, and the built-in ones,
//! one file each.
//!
//! Every tool answers within bounds: what is longer is cut, and the answer says how to see the rest.
//! Files are replaced whole or not at all. Pipes, devices and the like are never read.

mod edit_file;
mod error;
mod file;
mod folder;
mod glob;
mod grep;
mod list_directory;
mod page;
mod path;
mod read_file;
mod set;
mod shell_command;
#[cfg(test)]
mod testing;
mod typed;
mod walk;
mod write_file;

use std::{path::Path, sync::Arc};

pub use error::Error;
use futures::future::BoxFuture;
use mod_interface::types::{ToolOutput, ToolSpec};
pub(crate) use path::{normal, real};
use serde_json::Value;
pub use set::{Registered, Split, ToolSet};
use tokio_util::sync::CancellationToken;

/// A tool that the model can call.
pub trait Tool: Send + Sync {
    /// What the model is told of it.
    fn spec(&self) -> &ToolSpec;

    /// What it touches, for the permission check.
    fn access(&self) -> Access {
        if self.spec().read_only { Access::Read } else { Access::Other }
    }

    /// What permission rules match, as it was given: the command, or every path that the call touches. A
    /// tool that reads or edits names paths, any other one commands.
    fn rule_subjects(&self, _input: &Value) -> Vec<String> {
        Vec::new()
    }

    /// One line for people: what a call with this input is about to do.
    fn describe(&self, _input: &Value) -> BoxFuture<'_, Option<String>> {
        Box::pin(std::future::ready(None))
    }

    /// Runs it. A failure is an output with `is_error`, never a panic. When `ctx.cancel` fires it
    /// ends soon, and leaves no process and no half-written file behind; the same when the future is
    /// dropped.
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

impl Access {
    /// The tools whose deny patterns hold for every tool of this access: what one must not read, none may
    /// find, and what one must not write, none may edit.
    pub const fn bound_by(self) -> &'static [&'static str] {
        match self {
            Self::Read => &["read_file"],
            Self::Edit => &["read_file", "write_file", "edit_file"],
            Self::Other => &[],
        }
    }
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
    /// What must not be found.
    pub hidden: Arc<Hidden>,
    /// Takes the output so far, for `tool_update`.
    pub progress: Arc<dyn Fn(&str) + Send + Sync>,
}

/// Whether what is at a path must not be found, because it must not be read. The path is absolute, and no
/// link in it is followed.
pub type Hidden = dyn Fn(&Path) -> bool + Send + Sync;

/// The built-in tools, in the order in which the model is told of them.
pub fn builtin() -> Vec<Arc<dyn Tool>> {
    let writing = file::Writing::default();
    vec![
        typed::tool(read_file::ReadFile),
        typed::tool(write_file::WriteFile { writing: writing.clone() }),
        typed::tool(edit_file::EditFile { writing }),
        typed::tool(shell_command::ShellCommand),
        typed::tool(grep::Grep),
        typed::tool(glob::Glob),
        typed::tool(list_directory::ListDirectory),
    ]
}

//! How many mods become one decision.
//!
//! [`HookHandler`] is all that this module knows of a mod: one set of hooks, called with a
//! [`HookInput`]. A run asks [`Mods`] once a round which handlers there are, so that a registration
//! that is disposed in the middle of a round takes effect at the next one.
//!
//! From the inside out: `merge` holds the ways in which answers combine, each written once; `runner`
//! has a function per hook that says which of them it is; `verdict` and `patch` apply an answer;
//! `check` keeps bad ones away from the state; `isolation` tells every fault; `later` is an answer that is to
//! come, and `interrupt` bounds it after Ctrl-C.

mod check;
#[cfg(test)]
pub(crate) mod fakes;
mod interrupt;
mod isolation;
mod later;
mod merge;
mod patch;
mod runner;
#[cfg(test)]
mod tests;
mod verdict;

use std::{path::Path, sync::Arc};

use mod_interface::types::{
    AgentState, ContentBlock, Hook, HookOutcome, HookSet, Message, RunResult, SessionChange, StopReason,
    Usage,
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::events::Emitter;

pub(crate) use check::{bounded, tool_content};
pub use interrupt::Interrupt;
pub(crate) use isolation::Faults;
use isolation::shortened;
pub use later::{Later, LaterAnswer};
pub use runner::{HookRunner, Round};
pub use verdict::{AfterVerdict, BeforeVerdict, Handled, InputVerdict};

/// What a hook is asked.
#[derive(Clone)]
pub struct HookInput {
    /// Which hook.
    pub hook: Hook,
    /// The run that asks.
    pub scope: Arc<Scope>,
    /// The round, counted from 1; 0 outside of a round.
    pub turn_number: u32,
    /// The state as it stands.
    pub state: AgentState,
    /// What the hook is about.
    pub subject: Subject,
}

/// What stays the same for all hooks of a run: built once per run.
pub struct Scope {
    /// Raises the run's events, under its agent id.
    pub emitter: Emitter,
    /// Tells that the run was interrupted.
    pub cancel: CancellationToken,
    /// The workspace root.
    pub cwd: Arc<Path>,
    /// What went wrong so far.
    pub(crate) faults: Arc<Faults>,
}

impl Scope {
    /// The scope of a run in which nothing went wrong so far.
    pub fn new(emitter: Emitter, cancel: CancellationToken, cwd: impl Into<Arc<Path>>) -> Self {
        Self { emitter, cancel, cwd: cwd.into(), faults: Arc::default() }
    }

    /// The same for hooks that are waited for although the run is interrupted: what they ask of the host is not
    /// interrupted either.
    fn patient(&self) -> Self {
        let Self { emitter, cwd, faults, .. } = self;
        let (emitter, cwd, faults) = (emitter.clone(), Arc::clone(cwd), Arc::clone(faults));
        Self { emitter, cancel: CancellationToken::new(), cwd, faults }
    }
}

/// What a hook is about, beside the state.
#[derive(Clone)]
pub enum Subject {
    /// Nothing more: `append_system_prompt`, `on_turn_start`, `should_stop_after_turn`,
    /// `prepare_next_turn`.
    None,
    /// `transform_context`: the messages as the mods before left them.
    Context(Arc<Vec<Arc<Message>>>),
    /// `before_tool_call`: the call, its input as the mods before left it.
    ToolCall(ToolCallInput),
    /// `after_tool_call`: the call with its final input, and the result as the mods before left it.
    ToolResult {
        /// The call.
        call: ToolCallInput,
        /// The content so far.
        content: Arc<Vec<ContentBlock>>,
        /// Whether it counts as failed so far.
        is_error: bool,
    },
    /// `on_turn_end`.
    TurnEnd {
        /// Whether the model called tools.
        had_tool_calls: bool,
        /// The tokens of this turn.
        usage: Usage,
    },
    /// `on_run_end`.
    RunEnd(Arc<RunResult>),
    /// `on_stop`.
    Stop {
        /// How the run would end.
        stop_reason: StopReason,
        /// The text of the last assistant message.
        last_assistant_text: Arc<str>,
    },
    /// `transform_input`: the prompt as the mods before left it.
    Prompt(Arc<str>),
    /// `on_session_start` and `on_session_end`.
    Session(SessionChange),
}

/// A tool call, as a hook sees it.
#[derive(Clone)]
pub struct ToolCallInput {
    /// The call's id.
    pub id: Arc<str>,
    /// The tool's name.
    pub name: Arc<str>,
    /// The input.
    pub input: Arc<Value>,
}

/// One set of hooks that a mod registered.
pub trait HookHandler: Send + Sync {
    /// `mod:<name>`.
    fn mod_id(&self) -> &str;

    /// The hooks that it has; no other is ever asked of it.
    fn hooks(&self) -> HookSet;

    /// Whether a call that this handler failed to judge must be blocked.
    fn fails_closed(&self) -> bool;

    /// Asks it. Never panics and never blocks for longer than the mod's own code does; a pending
    /// answer is bounded in time by the handler.
    ///
    /// The input comes back when nobody looks at it any more: for the next handler, without counting.
    fn call(&self, input: Arc<HookInput>) -> (HookAnswer, Option<Arc<HookInput>>);
}

/// An answer that is there, or one that is to come.
pub enum HookAnswer {
    /// The answer.
    Ready(HookResult),
    /// The answer, later. Dropping it abandons the call.
    Pending(LaterAnswer),
}

/// What a hook answered; `None` is "no opinion".
pub type HookResult = Result<Option<HookOutcome>, HookFault>;

/// How a hook failed. Its text is cut where it is too long to be told.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HookFault {
    /// It returned an error.
    #[error("{}", shortened(.0))]
    Error(String),
    /// It panicked; the text says where.
    #[error("panicked: {}", shortened(.0))]
    Panic(String),
    /// It took longer than it may.
    #[error("timeout: took longer than {0} ms of its own time")]
    Timeout(u64),
    /// It answered something that may not touch the state.
    #[error("answered something invalid: {}", shortened(.0))]
    Invalid(String),
}

/// The handlers of all mods, by hook, in registration order.
#[derive(Default, Clone)]
pub struct Handlers {
    by_hook: [Vec<Arc<dyn HookHandler>>; Hook::ALL.len()],
}

impl Handlers {
    /// Sorts `handlers`, which stand in registration order, by hook.
    pub fn new(handlers: impl IntoIterator<Item = Arc<dyn HookHandler>>) -> Self {
        let mut by_hook: [Vec<Arc<dyn HookHandler>>; Hook::ALL.len()] = Default::default();
        for handler in handlers {
            for hook in handler.hooks().iter() {
                by_hook[hook as usize].push(Arc::clone(&handler));
            }
        }
        Self { by_hook }
    }

    /// The handlers that have `hook`, in registration order.
    pub fn of(&self, hook: Hook) -> &[Arc<dyn HookHandler>] {
        &self.by_hook[hook as usize]
    }
}

/// Knows which handlers there are now.
pub trait Mods: Send + Sync {
    /// The handlers as they stand; later registrations do not show in the snapshot.
    fn handlers(&self) -> Arc<Handlers>;

    /// Tells, for the end of a run, how often each fault of what is no hook happened again after it was told,
    /// while it was about the agent of `emitter`.
    fn report_repeated_faults(&self, _emitter: &Emitter) {}
}

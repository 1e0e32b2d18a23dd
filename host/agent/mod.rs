//! The loop: a user's message, model calls, tool calls, until the run ends.
//!
//! It knows traits alone: a [`Model`], a [`ToolSource`], [`Mods`], a [`Commit`]; never a provider, a tool
//! or a mod. [`Agent::run`] is one run; `run` holds its rounds, `intake` makes tool calls ready, `dispatch` is
//! the one way that every one of them takes, `compaction` what of a long conversation is sent, `permissions` who may do what, `queue` what is said meanwhile, `recovery` which answers are no end,
//! `subagent` a run inside of a tool call, `wire` what a model can be sent.
//!
//! A run never fails upward: a failing model, tool, mod or commit ends in its result, its events and the
//! state that it hands back.

mod compaction;
mod dispatch;
mod intake;
mod model;
mod permissions;
mod queue;
mod recovery;
mod run;
mod subagent;
#[cfg(test)]
mod tests;
mod toolbox;
mod wire;

use std::{
    num::NonZeroU32,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
};

use futures::future::BoxFuture;
use mod_interface::types::{AgentState, Message, MessageSource, PermissionMode, RunResult};
use tokio_util::sync::CancellationToken;

use crate::{
    events::Emitter,
    hooks::{HookRunner, Mods, Scope},
};

pub use compaction::{Compaction, CompactionError, Summary, summarize};
pub use model::{Model, ModelCall, ModelChoice, ModelResponse};
pub use permissions::{Answer, Ask, LiveMode, NobodyToAsk, Permissions, Question, Rule, Workspace};
pub use queue::{Delivery, MessageQueue, Sender};
pub use subagent::{AGENT_TOOL, SubagentTask, Subagents};
pub use toolbox::{ToolSource, Toolbox};
pub use wire::prepare_for_send;

use run::Run;

/// What a run is made of.
#[derive(Clone)]
pub struct AgentConfig {
    /// Raises the run's events, under the agent's id.
    pub emitter: Emitter,
    /// The workspace root.
    pub cwd: Arc<Path>,
    /// Answers model calls.
    pub model: Arc<dyn Model>,
    /// Which model, and how hard it thinks; may be changed while a run goes on.
    pub choice: Arc<ModelChoice>,
    /// The tools in force.
    pub tools: Arc<dyn ToolSource>,
    /// The mods in force.
    pub mods: Arc<dyn Mods>,
    /// Who may do what.
    pub permissions: Arc<Permissions>,
    /// What is said while a run goes on.
    pub queue: Arc<MessageQueue>,
    /// Makes each completed turn durable.
    pub commit: Arc<dyn Commit>,
    /// Builds the base of the system prompt, once a round.
    pub system_prompt: Arc<SystemPrompt>,
    /// After how many turns a run ends; `None` is never.
    pub max_turns: Option<NonZeroU32>,
    /// How the calls of one batch run.
    pub tool_execution: ToolExecution,
    /// When a conversation is compacted, and what was made of it beside a run.
    pub compaction: Arc<Compaction>,
}

/// Builds a system prompt from the state and the permission mode of the round. The same input must give
/// the same bytes: the provider's prompt cache goes by them.
pub type SystemPrompt = dyn Fn(&AgentState, PermissionMode) -> Arc<str> + Send + Sync;

/// How the tool calls of one batch run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ToolExecution {
    /// One after another.
    #[default]
    Sequential,
    /// All at once; hooks, results and end events stay in the order of the calls.
    Parallel,
}

/// The durability boundary.
pub trait Commit: Send + Sync {
    /// Makes `state` durable. Called once per completed turn; the run goes on when it is done, and ends
    /// with `run_error` when it fails. It is never cut short.
    fn commit<'a>(&'a self, state: &'a AgentState) -> BoxFuture<'a, Result<(), BoxError>>;

    /// What was said to the model beside the conversation and is not in `state`: appended to it before each round.
    fn unsaid(&self, _state: &AgentState) -> Vec<Arc<Message>> {
        Vec::new()
    }
}

/// Why something that the agent was given failed.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// What a run leaves behind.
#[derive(Debug)]
pub struct RunOutcome {
    /// The whole state. After an error or an interruption it may be ahead of the last commit.
    pub state: AgentState,
    /// What came of the run, as `run_end` tells it.
    pub result: RunResult,
    /// Why it failed, where the stop reason is `error`.
    pub error: Option<Error>,
}

/// Why a run failed, or a rule was refused.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The model gave no answer.
    #[error("the model {model} gave no answer: {reason}")]
    Model {
        /// `provider/id`.
        model: Arc<str>,
        /// What it says.
        reason: BoxError,
    },
    /// Nothing was left to send.
    #[error(
        "there is no message to send; give a prompt, or look for a mod whose transformContext leaves none"
    )]
    NothingToSend,
    /// The turn could not be made durable.
    #[error("turn {turn_number} could not be saved, so the run ends: {reason}")]
    Commit {
        /// The turn.
        turn_number: u32,
        /// What the commit says.
        reason: BoxError,
    },
    /// A permission rule that cannot be read.
    #[error(
        "a permission rule is a tool's name, or a name and a pattern as in shell_command(git *), got: {0}"
    )]
    Rule(String),
}

/// An agent: what its runs share.
pub struct Agent {
    config: Arc<AgentConfig>,
    /// How often `on_stop` hooks kept it going since a person last said something.
    forced: AtomicU32,
}

impl Agent {
    /// Makes an agent.
    pub fn new(config: impl Into<Arc<AgentConfig>>) -> Self {
        Self { config: config.into(), forced: AtomicU32::new(0) }
    }

    /// Runs until the run ends by itself, or `cancel` fires. `user_input` is appended to `state` first.
    /// One run at a time.
    pub async fn run(
        &self,
        mut state: AgentState,
        user_input: Option<Message>,
        cancel: &CancellationToken,
    ) -> RunOutcome {
        if let Some(message) = user_input {
            if message.source == MessageSource::User {
                self.forced.store(0, Relaxed);
            }
            state.push(message);
        }
        let config = &self.config;
        let hooks = HookRunner::new(Arc::new(Scope::new(
            config.emitter.clone(),
            cancel.child_token(),
            Arc::clone(&config.cwd),
        )));
        Run::new(config, &hooks, &self.forced, state).run_to_end().await
    }
}

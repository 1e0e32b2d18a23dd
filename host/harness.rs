//! The composition root: the one place that knows everybody.
//!
//! [`Harness::builder`] takes what a session is made of; [`HarnessBuilder::start`] puts it together, loads
//! the mods and binds the session. [`Harness::prompt`] runs one prompt, [`Harness::end`] tears down.

mod access;
mod agent_tool;
mod builder;
mod live;
mod loaded;
mod model;
mod prompt;
mod record;
mod recording;
mod rules;
mod store;
mod toolbox;

use std::{path::Path, sync::Arc, time::Duration};

use mod_interface::types::{
    AgentState, CommandOutcome, EventPayload, Message, MessageSource, NoticeLevel, PermissionMode,
    SessionChange, SessionEndReason, SessionStartSource,
};
use tokio_util::sync::CancellationToken;

use crate::{
    agent::{self, Agent, Compaction, LiveMode, RunOutcome},
    events::EventBus,
    hooks::{HookRunner, Mods, Scope},
    mod_host::{LoadError, LoadWarning, ModCommand, ModHost},
    providers::ProvidersError,
    session,
};

use store::Store;

pub use access::ModelAccess;
pub use builder::HarnessBuilder;
pub use recording::Recording;

pub use crate::session::Earlier;

/// How long the end waits for who listens to events and is still busy.
const LISTENERS: Duration = Duration::from_secs(2);

/// Why a harness cannot start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The folders were not given.
    #[error("no folders were given; call HarnessBuilder::places")]
    NoPlaces,
    /// No model was named.
    #[error("no model is chosen; name one with --model provider/model, or as \"model\" in settings.json")]
    NoModel,
    /// The model cannot be called.
    #[error(transparent)]
    Model(#[from] ProvidersError),
    /// A permission rule cannot be read.
    #[error(transparent)]
    Rule(#[from] agent::Error),
    /// A mod's constructor never returns.
    #[error(transparent)]
    Mod(#[from] LoadError),
    /// An option names a mod that there is not.
    #[error("no mod is called {name}, {hint}: --mod-option {option}")]
    Option {
        /// What was typed.
        option: String,
        /// The part of it that names a mod.
        name: String,
        /// Which one may be meant.
        hint: String,
    },
    /// An option has a value that its flag cannot have.
    #[error("{0}")]
    OptionValue(String),
    /// The session's file cannot be made.
    #[error(transparent)]
    Session(#[from] session::Error),
    /// A tool cannot be added.
    #[error(transparent)]
    Tool(#[from] crate::tools::Error),
    /// The start was interrupted while mods were loading.
    #[error("interrupted before the run began")]
    Interrupted,
}

/// A session that runs prompts, one at a time.
pub struct Harness {
    agent: Agent,
    /// `None` while a prompt runs, so that the run alone owns the conversation and appends to it in place.
    state: tokio::sync::Mutex<Option<AgentState>>,
    store: Arc<Store>,
    compaction: Arc<Compaction>,
    cwd: Arc<Path>,
    mods: Arc<ModHost>,
    warnings: Vec<LoadWarning>,
    bus: EventBus,
    mode: Arc<LiveMode>,
    cancel: CancellationToken,
}

/// What became of a prompt.
#[derive(Debug)]
pub enum Prompted {
    /// It was run.
    Ran(Box<RunOutcome>),
    /// A mod consumed it, and may have something to say in its place.
    Handled {
        /// A row to show.
        message: Option<String>,
    },
    /// It was a slash command that failed, as a `mod_error` said, or that was interrupted.
    Failed,
}

/// What a typed prompt comes to.
enum Said {
    Prompt(Arc<str>, MessageSource),
    Instead(Prompted),
}

impl From<Option<CommandOutcome>> for Said {
    /// What a slash command comes to; nothing, where it failed or was interrupted.
    fn from(outcome: Option<CommandOutcome>) -> Self {
        match outcome {
            None => Self::Instead(Prompted::Failed),
            Some(CommandOutcome::Done) => Self::Instead(Prompted::Handled { message: None }),
            Some(CommandOutcome::Message(text)) => Self::Instead(Prompted::Handled { message: Some(text) }),
            Some(CommandOutcome::Prompt(text)) => Self::Prompt(text.into(), MessageSource::Mod),
        }
    }
}

impl Harness {
    /// Starts to put a harness together.
    pub fn builder() -> HarnessBuilder {
        HarnessBuilder::default()
    }

    /// Runs a typed prompt to its end: `transform_input`, then a run. `cancel` interrupts both. Where the
    /// future is dropped instead, no hook and no event says so, and the session stands as of its last commit.
    ///
    /// A prompt `/name arguments` runs the mods' slash command of that name, where there is one, in its place;
    /// the prompt that a command answers with was not typed, and runs as it is. It is a mod's message: how often
    /// stop hooks have kept the agent going since a person last said something is not forgotten for it.
    pub async fn prompt(&self, prompt: &str, cancel: &CancellationToken) -> Prompted {
        let mut slot = self.state.lock().await;
        let state = self.take(&mut slot).await;
        let said = match self.command(prompt) {
            Some((command, args)) => cancel.run_until_cancelled(command.run(args)).await.flatten().into(),
            None => self.transformed(&state, prompt, cancel).await,
        };
        let message = match said {
            Said::Prompt(text, source) => Message::user_from(source, &*text),
            Said::Instead(prompted) => {
                *slot = Some(state);
                return prompted;
            }
        };
        let (state, _running) = self.store.begin(state);
        let outcome = self.agent.run(state, Some(message), cancel).await;
        *slot = Some(outcome.state.clone());
        Prompted::Ran(Box::new(outcome))
    }

    /// The slash command that a prompt names, and what stands behind its name.
    fn command<'a>(&self, prompt: &'a str) -> Option<(Arc<ModCommand>, &'a str)> {
        let typed = prompt.trim().strip_prefix('/')?;
        let (name, args) = typed.split_once(char::is_whitespace).unwrap_or((typed, ""));
        let command = self.mods.commands().into_iter().find(|command| command.spec().name == name)?;
        Some((command, args.trim()))
    }

    async fn transformed(&self, state: &AgentState, prompt: &str, cancel: &CancellationToken) -> Said {
        let hooks = self.hooks(cancel.child_token());
        let verdict = hooks.round(self.mods.handlers(), 0).transform_input(state, prompt).await;
        match verdict.handled {
            Some(handled) => Said::Instead(Prompted::Handled { message: handled.message }),
            None => Said::Prompt(verdict.prompt, MessageSource::User),
        }
    }

    /// The permission mode in force.
    pub fn permission_mode(&self) -> PermissionMode {
        self.mode.get()
    }

    /// Takes another permission mode, at any time. A round that goes on keeps the mode that it began with: this holds
    /// from the next one on, for sub-agents too. Where it is another one, `permission_mode_changed` is raised before
    /// this returns.
    pub fn set_permission_mode(&self, mode: PermissionMode) {
        self.mode.set(mode);
    }

    /// The mods that did not load.
    pub fn warnings(&self) -> &[LoadWarning] {
        &self.warnings
    }

    /// The mods.
    pub fn mods(&self) -> &Arc<ModHost> {
        &self.mods
    }

    /// The events of the session.
    pub fn events(&self) -> &EventBus {
        &self.bus
    }

    /// Tears the session down: `on_session_end`, awaited, then `session_shutdown`. Where the token of
    /// [`HarnessBuilder::cancel`] has fired or fires, it is not awaited for long. Nor is a sink that is still
    /// busy with earlier events: what it was not told is counted in a notice.
    pub async fn end(self, reason: SessionEndReason) {
        for option in self.mods.unasked_options() {
            let meant = self.mods.meant_option(&option);
            let hint = meant.map(|name| format!(", did you mean {name}?")).unwrap_or_default();
            let text = format!("no mod asked for this option{hint}: --mod-option {option}");
            self.bus.main().notice(NoticeLevel::Warning, text);
        }
        let state = self.state().await;
        let hooks = self.hooks(self.cancel.child_token());
        hooks.round(self.mods.handlers(), 0).on_session(&state, SessionChange::End(reason)).await;
        self.mods.report_repeated_faults(&self.bus.main());
        if let Err(error) = self.save().await {
            self.bus.main().notice(NoticeLevel::Warning, error);
        }
        self.bus.main().emit(EventPayload::SessionShutdown { reason });
        let untold = self.bus.settle(LISTENERS).await;
        if untold > 0 {
            let text = format!("a listener is too busy, and was not told all events: {untold} left out");
            self.bus.main().notice(NoticeLevel::Warning, text);
        }
        self.mods.ended_well();
    }

    /// Binds the session: `session_start`, then `on_session_start`.
    async fn bind(&self, source: SessionStartSource, cancel: CancellationToken) {
        self.bus.main().emit(EventPayload::SessionStart { source });
        let state = self.state().await;
        let hooks = self.hooks(cancel);
        hooks.round(self.mods.handlers(), 0).on_session(&state, SessionChange::Start(source)).await;
    }

    /// Brings to the disk what was written since the last commit, and what was asked for and no run has taken.
    async fn save(&self) -> Result<(), String> {
        let compaction = Arc::clone(&self.compaction);
        let amended = Arc::clone(&self.store).amend(move |state| compaction.apply(state)).await;
        let synced = Arc::clone(&self.store).sync().await.map_err(|error| error.to_string());
        amended.and(synced)
    }

    async fn state(&self) -> AgentState {
        let mut slot = self.state.lock().await;
        let state = self.take(&mut slot).await;
        slot.insert(state).clone()
    }

    /// The state; after a prompt that was dropped, and where the session went elsewhere, that of the last commit.
    async fn take(&self, slot: &mut Option<AgentState>) -> AgentState {
        match slot.take() {
            Some(state) => self.store.current(state),
            None => self.store.state().await,
        }
    }

    /// Hooks outside of a run.
    fn hooks(&self, cancel: CancellationToken) -> HookRunner {
        HookRunner::new(Arc::new(Scope::new(self.bus.main(), cancel, Arc::clone(&self.cwd))))
    }
}

//! What the command line asks of a harness.

use std::{num::NonZeroU32, path::PathBuf, sync::Arc};

use futures::future::BoxFuture;
use mod_interface::types::{PermissionMode, RunResult};
use tokio_util::sync::CancellationToken;

use crate::{
    events::EventSink,
    harness::Recording,
    mod_host::HookTiming,
    settings::{Loaded, Places},
};

/// Runs one prompt in a new session, to its end. The events go to the sink; the token interrupts it. The
/// composition root has it; tests have their own.
pub(super) type RunPrompt = dyn Fn(RunRequest, Arc<dyn EventSink>, CancellationToken) -> BoxFuture<'static, Result<Finished, BoxError>>
    + Send
    + Sync;

/// Why a run could not begin. Not anyhow's: that one may ask for a backtrace, which waits for the system's
/// loader, and a mod that hangs in its constructor holds the loader for ever.
pub(super) type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A run that was asked for on the command line. Paths are absolute.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RunRequest {
    /// Where everything lies.
    pub(super) places: Places,
    /// The settings as they were read; whether the project is trusted is not decided yet.
    pub(super) settings: Loaded,
    /// The prompt.
    pub(super) prompt: String,
    /// The model, `provider/id`.
    pub(super) model: Option<String>,
    /// Mods to load ahead of the others.
    pub(super) mods: Vec<PathBuf>,
    /// Values of mods' flags.
    pub(super) mod_options: Vec<(String, String)>,
    /// Load no mods but the built-in ones.
    pub(super) no_mods: bool,
    /// Stop after so many turns.
    pub(super) max_turns: Option<NonZeroU32>,
    /// What may run unasked.
    pub(super) permission_mode: Option<PermissionMode>,
    /// Run every tool unasked, and load the project's mods unasked.
    pub(super) skip_permissions: bool,
    /// Rules for what runs unasked, beside those of the settings.
    pub(super) allow: Vec<String>,
    /// Rules for what never runs, beside those of the settings.
    pub(super) deny: Vec<String>,
    /// Where the session is recorded.
    pub(super) record: Recording,
    /// Time the hooks of mods.
    pub(super) mod_timing: bool,
}

/// What is left when a session is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Finished {
    /// How the prompt ended.
    pub(super) ended: Ended,
    /// How many mods did not load: a run without a guard that should have been there is no success.
    pub(super) mods_not_loaded: usize,
    /// What the hooks of mods took, where that was asked for.
    pub(super) mod_timing: Option<Vec<HookTiming>>,
}

/// How a prompt ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ended {
    /// It was run.
    Run(RunResult),
    /// A mod consumed it, and may have something to say in its place.
    Handled(Option<String>),
    /// It was a slash command that came to nothing; why was told.
    Failed,
}

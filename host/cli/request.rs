//! What the command line asks of a harness.

use std::{num::NonZeroU32, path::PathBuf, sync::Arc};

use futures::future::BoxFuture;
use mod_interface::types::{PermissionMode, RunResult};
use tokio_util::sync::CancellationToken;

use crate::{
    events::EventSink,
    settings::{Loaded, Places},
};

/// Runs one prompt in a new session, to its end. The events go to the sink; the token interrupts it. The
/// composition root has it; tests have their own.
pub type RunPrompt = dyn Fn(RunRequest, Arc<dyn EventSink>, CancellationToken) -> BoxFuture<'static, anyhow::Result<Ended>>
    + Send
    + Sync;

/// A run that was asked for on the command line. Paths are absolute.
#[derive(Debug, Clone, PartialEq)]
pub struct RunRequest {
    /// Where everything lies.
    pub places: Places,
    /// The settings as they were read; whether the project is trusted is not decided yet.
    pub settings: Loaded,
    /// The prompt.
    pub prompt: String,
    /// The model, `provider/id`.
    pub model: Option<String>,
    /// Mods to load ahead of the others.
    pub mods: Vec<PathBuf>,
    /// Values of mods' flags.
    pub mod_options: Vec<(String, String)>,
    /// Load no mods but the built-in ones.
    pub no_mods: bool,
    /// Stop after so many turns.
    pub max_turns: Option<NonZeroU32>,
    /// What may run unasked.
    pub permission_mode: Option<PermissionMode>,
    /// Run every tool unasked, and load the project's mods unasked.
    pub skip_permissions: bool,
    /// Rules for what runs unasked, beside those of the settings.
    pub allow: Vec<String>,
    /// Rules for what never runs, beside those of the settings.
    pub deny: Vec<String>,
    /// Keep a record of the session on disk.
    pub record: bool,
}

/// How a prompt ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// It was run.
    Run(RunResult),
    /// A mod consumed it, and may have something to say in its place.
    Handled(Option<String>),
}

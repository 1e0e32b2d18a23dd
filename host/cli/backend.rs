//! What the command line asks of the rest of the program.
//!
//! The commands know this trait alone, so that a test can stand in for sessions and mods.

use std::{collections::BTreeMap, num::NonZeroU32, path::PathBuf, sync::Arc};

use futures::future::BoxFuture;
use mod_interface::types::{PermissionMode, RunResult};
use registry::HostFacts;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::{
    events::EventSink,
    settings::{Loaded, Places, Scope},
};

/// The program behind the commands.
pub trait Backend: Send + Sync + 'static {
    /// Runs one prompt in a new session, to its end. Events go to `sink`; `cancel` interrupts it.
    fn run(
        &self,
        request: RunRequest,
        sink: Arc<dyn EventSink>,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, anyhow::Result<Ended>>;

    /// Finds every mod that a session with these settings would load, or would leave out, in load order.
    /// Runs none of them.
    fn find_mods(&self, places: &Places, settings: &Loaded) -> Vec<FoundMod>;

    /// Loads the mod at `path`, its folder or library, in this process, and says what it registered.
    fn trial_load(&self, path: PathBuf) -> BoxFuture<'static, anyhow::Result<Trial>>;

    /// What this machine and this program are.
    fn host_facts(&self) -> HostFacts;
}

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

/// What a mod registered when it was loaded.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Trial {
    /// The mod's name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Names by kind: `hooks`, `tools`, `commands`, `events`, …
    pub registered: BTreeMap<String, Vec<String>>,
    /// What is odd about it, one line each.
    pub warnings: Vec<String>,
}

/// A mod that was found, by its files alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FoundMod {
    /// Its name.
    pub name: String,
    /// Whose it is; `None` for a built-in one.
    pub scope: Option<Scope>,
    /// Where it comes from: `builtin`, a path, or a package.
    pub source: String,
    /// Its version, where its files tell.
    pub version: Option<String>,
    /// The interface version that it was built for, where its files tell.
    pub interface: Option<String>,
    /// The hash of its library, and how it compares.
    pub hash: Option<String>,
    /// Whether a session would load it.
    #[serde(flatten)]
    pub state: ModState,
    /// Its folder or library, for those that can be loaded.
    pub path: Option<PathBuf>,
    /// What it registered; filled in for those that were loaded.
    pub registered: BTreeMap<String, Vec<String>>,
    /// What is odd about it, one line each.
    pub warnings: Vec<String>,
}

/// Whether a session would load a mod.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", content = "reason", rename_all = "snake_case")]
pub enum ModState {
    /// It would, as far as its files tell.
    Found,
    /// It would: it was loaded to see.
    Loaded,
    /// The settings turn it off.
    Disabled,
    /// Another mod of its name comes before it; the text says which.
    Shadowed(String),
    /// The workspace is not trusted.
    Untrusted,
    /// It cannot be loaded; the text says why.
    Failed(String),
}

//! The `mods` commands: one file each, each with a [`Report`](super::output::Report) of what came of it.

mod add;
mod build;
mod found;
mod inspect;
mod job;
mod list;
mod lock;
mod pack;
mod packages;
mod remove;
mod sign;
mod trial;
mod trust;
mod update;
mod verify;

#[cfg(test)]
mod tests;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use registry::HostFacts;
use tokio_util::sync::CancellationToken;

use super::{
    args::{ModsCommand, Workspace},
    output::{Exit, Streams},
    process::Process,
    workspace,
};
use crate::settings::Places;

/// What is said of a project whose mods do not count. Commands that only look open nothing of it.
const UNTRUSTED: &str =
    "the workspace is not trusted: its own mods are not looked at, and do not load before cmd mods trust";

impl ModsCommand {
    /// Whether programs read what it prints.
    pub(super) fn is_json(&self) -> bool {
        match self {
            Self::Add(args) => args.common.json,
            Self::List(args) => args.common.json,
            Self::Update(args) => args.common.json,
            Self::Remove(args) => args.common.json,
            Self::Verify(args) => args.common.json,
            Self::Lock(args) => args.common.json,
            Self::Trust(args) => args.common.json,
            Self::Untrust(args) => args.common.json,
            Self::Inspect(args) => args.json,
            Self::Pack(args) => args.json,
            Self::TrialLoad { .. } => false,
        }
    }

    /// Whether it waits for child processes, the network or the user, and can be interrupted there.
    pub(super) fn waits_for_others(&self) -> bool {
        match self {
            Self::Add(_) | Self::Update(_) | Self::Verify(_) | Self::Trust(_) => true,
            Self::List(args) => !args.unloaded,
            Self::Remove(_)
            | Self::Lock(_)
            | Self::Untrust(_)
            | Self::Inspect(_)
            | Self::Pack(_)
            | Self::TrialLoad { .. } => false,
        }
    }
}

/// What the commands work with.
pub(super) struct Context<'a> {
    pub(super) process: &'a Process,
    pub(super) facts: HostFacts,
    pub(super) streams: Streams<'a>,
    /// Interrupts the command.
    pub(super) cancel: CancellationToken,
}

impl Context<'_> {
    /// Runs a command.
    pub(super) async fn run(mut self, command: &ModsCommand) -> anyhow::Result<Exit> {
        match command {
            ModsCommand::Add(args) => self.add(args).await,
            ModsCommand::List(args) => self.list(args).await,
            ModsCommand::Pack(args) => self.pack(args),
            ModsCommand::Inspect(args) => self.inspect(args),
            ModsCommand::Verify(args) => self.verify(args).await,
            ModsCommand::Update(args) => self.update(args).await,
            ModsCommand::Remove(args) => self.remove(args),
            ModsCommand::Lock(args) => self.lock(args),
            ModsCommand::Trust(args) => self.trust(args).await,
            ModsCommand::Untrust(args) => self.untrust(args),
            ModsCommand::TrialLoad { paths, limit_ms } => {
                let limit = Duration::from_millis(*limit_ms);
                let paths = paths.iter().map(|path| self.typed(path)).collect();
                trial::load(paths, self.process.cwd.clone(), limit, self.streams.out).await?;
                Ok(Exit::Success)
            }
        }
    }

    fn places(&self, typed: &Workspace) -> anyhow::Result<Places> {
        workspace(self.process, typed)
    }

    /// A path as it was typed, seen from where it was typed.
    fn typed(&self, path: &Path) -> PathBuf {
        self.process.cwd.join(path)
    }

    /// Loads mods in child processes of this program, each within `limit`.
    fn trials<'p>(&'p self, places: &'p Places, limit: Duration) -> trial::Trials<'p> {
        trial::Trials { exe: &self.process.exe, cwd: &places.cwd, limit, cancel: &self.cancel }
    }
}

//! The `mods` commands: one file each, each with a [`Report`](super::output::Report) of what came of it.

mod add;
mod bench;
mod build;
mod found;
mod inspect;
mod job;
mod list;
mod lock;
mod new;
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
            ModsCommand::New(args) => self.new_mod(args),
            ModsCommand::Pack(args) => self.pack(args),
            ModsCommand::Inspect(args) => self.inspect(args),
            ModsCommand::Bench(args) => self.bench(args).await,
            ModsCommand::Verify(args) => self.verify(args).await,
            ModsCommand::Update(args) => self.update(args).await,
            ModsCommand::Remove(args) => self.remove(args),
            ModsCommand::Lock(args) => self.lock(args),
            ModsCommand::Trust(args) => self.trust(args).await,
            ModsCommand::Untrust(args) => self.untrust(args),
            ModsCommand::BenchOne(args) => bench::one(self.streams.out, self.process, args).await,
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

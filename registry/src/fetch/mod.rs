//! Getting packages from elsewhere, by the `npm` and `git` programs that are there, with the user's own settings for
//! proxies, certificates and credentials. Neither unpacks anything: what they bring is judged and written by this
//! crate. Nothing of a package is run. A start never comes here.

mod git;
mod npm;
mod process;

pub(crate) use git::{fetch as git, tag_commit};
pub(crate) use npm::fetch as npm;
pub use process::end_programs;

use crate::Error;
use std::{
    ffi::OsString,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

/// How to get packages.
#[derive(Debug, Clone)]
pub struct FetchOptions {
    /// Only what is cached on this machine: npm's cache, and nothing for git.
    pub offline: bool,
    /// The transports that git may use, joined by `:`.
    pub git_protocols: String,
    /// Variables for `npm` and `git`, beside those of this process.
    pub env: Vec<(OsString, OsString)>,
    /// How long one run of either may take.
    pub timeout: Duration,
    /// Becomes true when the user wants no more of it: a run of either is ended, and what was not installed by then is
    /// not.
    pub interrupted: Arc<AtomicBool>,
}

impl FetchOptions {
    /// Ends the work of an installation that the user has interrupted.
    pub(crate) fn go_on(&self) -> Result<(), Error> {
        if self.interrupted.load(Relaxed) { Err(Error::Interrupted) } else { Ok(()) }
    }
}

impl Default for FetchOptions {
    fn default() -> Self {
        Self {
            offline: false,
            git_protocols: "https:ssh".to_owned(),
            env: Vec::new(),
            timeout: Duration::from_secs(300),
            interrupted: Arc::default(),
        }
    }
}

#[cfg(test)]
pub(crate) mod fixtures;
#[cfg(test)]
mod tests;

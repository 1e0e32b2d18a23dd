//! Running a child process so that nothing of it is left behind.
//!
//! A child gets a session of its own: it cannot take the terminal, and it can be ended together
//! with what it started. That happens when its time is up, when the run is cancelled, when the
//! future is dropped, to what still runs in the background when the child itself ends, and to all
//! at the end of the program. Only a process that has left the session **and** outlived
//! its parent (a daemon) is not found.
//!
//! Output is kept up to a bound, its beginning and its end; what lies between is counted.

mod capture;
#[cfg(unix)]
mod family;
#[cfg(not(unix))]
#[path = "family_windows.rs"]
mod family;
mod living;
mod running;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests;

use std::{ffi::OsString, io, path::PathBuf, time::Duration};

pub use capture::Captured;
pub(crate) use living::end_all;
use tokio_util::sync::CancellationToken;

/// A process to run. It gets no input.
#[derive(Debug, Clone)]
pub struct Run {
    /// The program: a path, or a name that is looked up in `PATH`.
    pub program: OsString,
    /// Its arguments, passed as they are.
    pub args: Vec<OsString>,
    /// The folder that it runs in.
    pub cwd: PathBuf,
    /// Variables of this process that it does not inherit.
    pub env_remove: Vec<OsString>,
    /// How its two streams are kept.
    pub streams: Streams,
    /// How many bytes of each stream are kept.
    pub limit: usize,
    /// How long it may run.
    pub timeout: Option<Duration>,
}

/// How a child's two streams are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Streams {
    /// Each for itself.
    Separate,
    /// Both as `stdout`, in the order in which they were written.
    Merged,
}

/// What came of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// What it wrote to stdout; with [`Streams::Merged`] to stderr too.
    pub stdout: Captured,
    /// What it wrote to stderr.
    pub stderr: Captured,
    /// How it ended.
    pub end: End,
    /// How many processes that it had left in the background were ended.
    pub stopped: usize,
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// By itself, with this code.
    Exited(i32),
    /// By a signal that somebody else sent, or by a crash.
    Signalled(i32),
    /// It was ended because its time was up.
    TimedOut,
    /// It was ended because the run was cancelled.
    Cancelled,
}

/// Why a process could not be run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no folder to run in.
    #[error("cannot run {} here, this is not a folder: {}", .program.display(), .cwd.display())]
    Cwd {
        /// The program.
        program: OsString,
        /// The folder that is none.
        cwd: PathBuf,
    },
    /// It did not start.
    #[error("cannot start {}: {source}", .program.display())]
    Start {
        /// The program.
        program: OsString,
        /// Why.
        source: io::Error,
    },
    /// It was lost on the way.
    #[error("cannot follow {} to its end: {source}", .program.display())]
    Follow {
        /// The program.
        program: OsString,
        /// Why.
        source: io::Error,
    },
}

impl Run {
    /// A process that keeps its streams apart, 1 MB of each, and may run for ever.
    pub fn new(program: impl Into<OsString>, cwd: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            cwd: cwd.into(),
            env_remove: Vec::new(),
            streams: Streams::Separate,
            limit: 1_000_000,
            timeout: None,
        }
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<A: Into<OsString>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Runs it to its end. `on_output` sees each piece of output as it arrives, of both streams.
    ///
    /// Dropped before that, the process and all that it started are killed at once. Cancelled or
    /// out of time, they are asked to end first, and have a second to do so.
    ///
    /// # Errors
    /// When it cannot be started. A process that fails is no error.
    pub async fn run(
        &self,
        cancel: &CancellationToken,
        on_output: &mut (dyn FnMut(&[u8]) + Send),
    ) -> Result<Finished, Error> {
        running::run(self, cancel, on_output).await
    }
}

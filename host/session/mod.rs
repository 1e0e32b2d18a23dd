//! A session on disk: an append-only file of JSON lines.
//!
//! The first line is the header; every other line is an entry with an
//! id and the id of the entry before it. What happens in a turn becomes durable by one append and one
//! sync, closed by a `commit` entry: what stands after the last `commit` never happened, and is cut off
//! when the file is opened. So a crash at any byte loses at most the turn that was under way.
//!
//! A [`Session`] is its file's only writer. [`Session::commit`] takes the whole state and writes what is
//! new since the last one; the conversation is compared by pointer, so that costs no more at the end of
//! a long session than the append itself.

mod commit;
mod entry;
mod error;
mod file;
mod find;
mod name;
#[cfg(test)]
mod tests;

use std::{path::Path, sync::Arc, time::SystemTime};

use mod_interface::types::AgentState;

pub use error::Error;
pub use find::{Earlier, find};
pub use name::session_id;

pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;

/// Tells the time.
pub type Clock = Arc<dyn Fn() -> SystemTime + Send + Sync>;

/// The record of a session: a file, or memory alone.
pub struct Session {
    id: Arc<str>,
    committed: commit::Committed,
    log: Option<file::Log>,
}

impl Session {
    /// Begins a session in a new file under `sessions`, in the folder of the workspace `cwd`. A session
    /// that is dropped without a commit leaves no file.
    ///
    /// # Errors
    /// The file cannot be made.
    pub fn create(sessions: &Path, cwd: &Path, id: Arc<str>, clock: Clock) -> Result<Self> {
        let log = file::Log::create(sessions, cwd, &id, clock)?;
        Ok(Self { id, committed: commit::Committed::default(), log: Some(log) })
    }

    /// Begins a session that is never written.
    pub fn in_memory(id: Arc<str>) -> Self {
        Self { id, committed: commit::Committed::default(), log: None }
    }

    /// Opens a session again, with the state of its last commit. What a crash left behind it is cut off.
    ///
    /// # Errors
    /// The file cannot be read or written, another process has it open, it is not a session, it is of a
    /// newer version, or it is damaged before its last commit.
    pub fn open(path: &Path, clock: Clock) -> Result<(Self, AgentState)> {
        let (log, id, committed) = file::Log::open(path, clock)?;
        let session = Self { id, committed, log: Some(log) };
        let state = session.state();
        Ok((session, state))
    }

    /// Makes `state` durable: writes what is new in it since the last commit.
    ///
    /// # Errors
    /// It cannot be written. The session is then as it was, and the next commit tries all of it again.
    pub fn commit(&mut self, state: &AgentState) -> Result<()> {
        let change = self.committed.change_to(state);
        if let Some(log) = &mut self.log
            && !change.is_empty()
        {
            log.append(&change)?;
        }
        let keep = change.keep;
        self.committed.advance(keep, state);
        Ok(())
    }

    /// The state as of the last commit.
    pub fn state(&self) -> AgentState {
        self.committed.state(Arc::clone(&self.id))
    }

    /// The session's id; ids sort by the time of their session's start.
    pub fn id(&self) -> &Arc<str> {
        &self.id
    }

    /// The file, where there is one.
    pub fn path(&self) -> Option<&Path> {
        self.log.as_ref().map(file::Log::path)
    }
}

//! A session on disk: an append-only file of JSON lines, which are a tree.
//!
//! The first line is the header; every other line is an entry with an id, and the id of the entry that it
//! follows. What happens in a turn is written at once and synced, closed by a `commit` entry: messages behind
//! which no `commit` stands were never said, and are cut off when the file is opened. So a crash at any byte
//! loses at most the turn that was under way. Every other entry stands for itself: it is written when it is
//! made, which outlives the process, and synced with the next commit or at the session's end.
//!
//! What mods keep is entries of the tree too, each with its owner (`custom.rs`).
//!
//! The session goes on behind its *leaf*: the last entry, or the node that a `leaf` entry names, so that what
//! follows is a branch beside what followed it before. Nothing is ever taken out of the file.
//!
//! A [`Session`] is its file's only writer. [`Session::commit`] takes the whole state and writes what is
//! new since the last one; the conversation is compared by pointer, so that costs no more at the end of
//! a long session than the append itself.

mod branch;
mod custom;
#[cfg(test)]
mod custom_tests;
mod entry;
mod error;
mod file;
mod find;
mod name;
mod reader;
#[cfg(test)]
mod tests;
mod tree;
#[cfg(test)]
mod tree_tests;

use std::{path::Path, sync::Arc, time::SystemTime};

use mod_interface::types::{AgentState, Message, TreeNode};

pub use error::Error;
pub use find::{Earlier, find};
pub use name::session_id;

use entry::Body;
use file::Log;
use tree::Tree;

pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;

/// Tells the time.
pub type Clock = Arc<dyn Fn() -> SystemTime + Send + Sync>;

/// The longest name or label, in bytes.
const MAX_NAME: usize = 1000;

/// The record of a session: a file, or memory alone.
pub struct Session {
    id: Arc<str>,
    tree: Tree,
    log: Option<Log>,
}

impl Session {
    /// Begins a session in a new file under `sessions`, in the folder of the workspace `cwd`. A session
    /// that is dropped without an entry leaves no file.
    ///
    /// # Errors
    /// The file cannot be made.
    pub fn create(sessions: &Path, cwd: &Path, id: Arc<str>, clock: Clock) -> Result<Self> {
        let log = Log::create(sessions, cwd, &id, clock)?;
        Ok(Self { tree: Tree::new(Arc::clone(&id)), id, log: Some(log) })
    }

    /// Begins a session that is never written.
    pub fn in_memory(id: Arc<str>) -> Self {
        Self { tree: Tree::new(Arc::clone(&id)), id, log: None }
    }

    /// Opens a session again, with the state of its leaf. What a crash left behind its last commit is cut
    /// off.
    ///
    /// # Errors
    /// The file cannot be read or written, another process has it open, it is not a session, it is of a
    /// newer version, or it is damaged before its last commit.
    pub fn open(path: &Path, clock: Clock) -> Result<(Self, AgentState)> {
        let (log, tree) = Log::open(path, clock)?;
        let state = tree.state();
        Ok((Self { id: Arc::clone(&state.session_id), tree, log: Some(log) }, state))
    }

    /// Makes `state` durable: writes what is new in it since the last commit.
    ///
    /// # Errors
    /// It cannot be written. The session is then as it was, and the next commit tries all of it again.
    pub fn commit(&mut self, state: &AgentState) -> Result<()> {
        let change = self.tree.change_to(state);
        let (keep, bodies) = match change.is_empty() {
            true => (change.keep, Vec::new()),
            false => (change.keep, change.bodies().collect()),
        };
        if let Some(log) = &mut self.log {
            log.append_for_good(&bodies, &self.tree)?;
        }
        self.tree.take_commit(bodies, keep, state);
        Ok(())
    }

    /// The state as of the last commit of the branch on which the session goes on.
    pub fn state(&self) -> AgentState {
        self.tree.state()
    }

    /// The session's id; ids sort by the time of their session's start.
    pub fn id(&self) -> &Arc<str> {
        &self.id
    }

    /// The file, where there is one.
    pub fn path(&self) -> Option<&Path> {
        self.log.as_ref().map(Log::path)
    }

    /// The nodes of the tree, parents before their children, the root first. Ids stay as they are.
    pub fn tree(&self) -> Vec<TreeNode> {
        self.tree.nodes()
    }

    /// The node behind which the session goes on.
    pub fn leaf_id(&self) -> String {
        self.tree.leaf_id()
    }

    /// Goes on behind the node `target_id`: the state is that of the last commit on the way to it, and what
    /// comes next is a branch of its own.
    ///
    /// # Errors
    /// There is no such node, or it cannot be written. Nothing has changed then.
    pub fn navigate(&mut self, target_id: &str) -> Result<()> {
        let target = self.target(target_id)?;
        let body = Body::Leaf { target_id: self.tree.node_id(target) };
        self.write(std::slice::from_ref(&body))?;
        self.tree.go_to(target);
        Ok(())
    }

    /// Goes on behind the node `target_id`, with a message that says what is left behind `leaf`.
    ///
    /// # Errors
    /// The session is not at `leaf` any more, there is no such node, or it cannot be written. Nothing has changed
    /// then; where the message alone cannot be written, it has gone there without.
    pub fn navigate_with(&mut self, target_id: &str, leaf: &str, message: Message) -> Result<()> {
        if self.leaf_id() != leaf {
            return Err(Error::WentOn);
        }
        self.navigate(target_id)?;
        let mut state = self.state();
        state.push(message);
        self.commit(&state)
    }

    /// What was said on the branch of the leaf, and was not yet at `target_id`.
    ///
    /// # Errors
    /// There is no such node.
    pub fn left_behind(&self, target_id: &str) -> Result<Vec<Arc<Message>>> {
        Ok(self.tree.left_behind(self.target(target_id)?).to_vec())
    }

    /// Names a node; an empty name takes its name away.
    ///
    /// # Errors
    /// There is no such node, the name is too long, or it cannot be written.
    pub fn set_label(&mut self, target_id: &str, label: &str) -> Result<()> {
        let target = self.target(target_id)?;
        let label = Some(line(label)?).filter(|label| !label.is_empty());
        self.add(Body::Label { target_id: self.tree.node_id(target), label }).map(drop)
    }

    /// Names the session; gives the name, unless it has that one already.
    ///
    /// # Errors
    /// The name is blank or too long, or it cannot be written.
    pub fn set_name(&mut self, name: &str) -> Result<Option<Arc<str>>> {
        let name = line(name)?;
        if name.is_empty() {
            return Err(Error::NoName);
        }
        if self.name().is_some_and(|now| **now == *name) {
            return Ok(None);
        }
        self.add(Body::SessionInfo { name })?;
        Ok(self.name().cloned())
    }

    /// The session's name, once it has one.
    pub fn name(&self) -> Option<&Arc<str>> {
        self.tree.name()
    }

    /// Brings to the disk what was written since the last commit.
    ///
    /// # Errors
    /// The disk says that it cannot.
    pub fn sync(&mut self) -> Result<()> {
        self.log.as_mut().map_or(Ok(()), Log::sync)
    }

    fn target(&self, id: &str) -> Result<Option<usize>> {
        self.tree.target(id).ok_or_else(|| Error::NoSuchNode(id.to_owned()))
    }

    /// Adds an entry that stands for itself, and gives its id.
    fn add(&mut self, body: Body) -> Result<String> {
        let bodies = vec![body];
        self.write(&bodies)?;
        let mut ids = self.tree.ids(&bodies);
        self.tree.take(bodies);
        Ok(ids.pop().map(|(id, _)| id).unwrap_or_default())
    }

    fn write(&mut self, bodies: &[Body]) -> Result<()> {
        self.log.as_mut().map_or(Ok(()), |log| log.append(bodies, &self.tree))
    }
}

/// A name on one line.
fn line(name: &str) -> Result<String> {
    let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
    if name.len() > MAX_NAME {
        Err(Error::LongName { expected: MAX_NAME, got: name.len() })
    } else {
        Ok(name)
    }
}

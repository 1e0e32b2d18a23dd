use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::BoxFuture;
use mod_interface::types::{AgentState, Message};
use tokio::task::spawn_blocking;

use crate::{
    agent::{BoxError, Commit},
    session::{self, Session},
};

/// What is said to who wants to move the session under a run.
const RUNNING: &str =
    "a run goes on, and the session cannot go elsewhere under it; wait for its end, or ask in a command";

/// The record of a session, shared by the runs, which commit to it, and the mods, which write beside them.
///
/// Its lock is held for one write to the disk at most, and never across an await or a call of a mod.
pub(super) struct Store {
    held: Mutex<Held>,
    /// Held from before a commit begins until it is done, also when the run is dropped: who must see the session
    /// as it will be waits for it.
    committing: Arc<tokio::sync::Mutex<()>>,
}

struct Held {
    session: Session,
    /// Whether a run owns the conversation.
    running: bool,
    /// Whether the session went elsewhere since somebody took its state.
    moved: bool,
}

impl Held {
    /// The session, where no run holds it.
    fn idle(&mut self) -> Result<&mut Session, String> {
        if self.running { Err(RUNNING.to_owned()) } else { Ok(&mut self.session) }
    }

    /// `state`, or where the session went since that was taken.
    fn current(&mut self, state: AgentState) -> AgentState {
        if std::mem::take(&mut self.moved) { self.session.state() } else { state }
    }
}

/// A run that goes on, until this is dropped.
pub(super) struct Running(Arc<Store>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.held().running = false;
    }
}

impl Store {
    pub(super) fn new(session: Session) -> Self {
        let held = Held { session, running: false, moved: false };
        Self { held: Mutex::new(held), committing: Arc::default() }
    }

    /// Looks at the session, or writes to it what does not move it. Blocks while something is being written.
    pub(super) fn with<T>(&self, act: impl FnOnce(&mut Session) -> T) -> T {
        act(&mut self.held().session)
    }

    /// The state of the last commit, one that has begun included.
    pub(super) async fn state(&self) -> AgentState {
        let _done = self.committing.lock().await;
        let mut held = self.held();
        held.moved = false;
        held.session.state()
    }

    /// `state`, or where the session went since that was taken.
    pub(super) fn current(&self, state: AgentState) -> AgentState {
        self.held().current(state)
    }

    /// Begins a run, from [`Store::current`].
    pub(super) fn begin(self: &Arc<Self>, state: AgentState) -> (AgentState, Running) {
        let mut held = self.held();
        held.running = true;
        (held.current(state), Running(Arc::clone(self)))
    }

    /// Looks at the session for who wants to move it.
    ///
    /// # Errors
    /// A run goes on, or what `look` says.
    pub(super) fn idle<T>(&self, look: impl FnOnce(&mut Session) -> session::Result<T>) -> Result<T, String> {
        look(self.held().idle()?).map_err(|error| error.to_string())
    }

    /// Changes where the session goes on, or what was said there; the next run begins from that.
    ///
    /// # Errors
    /// A run goes on, or what `change` says.
    pub(super) async fn change<T: Send + 'static>(
        self: Arc<Self>,
        change: impl FnOnce(&mut Session) -> session::Result<T> + Send + 'static,
    ) -> Result<T, String> {
        let done = Arc::clone(&self.committing).lock_owned().await;
        let changed = spawn_blocking(move || {
            let _done = done;
            let mut held = self.held();
            let session = held.idle()?;
            let before = session.leaf_id();
            let changed = change(session).map_err(|error| error.to_string());
            // Also where it went only a part of the way; where it stayed, what no commit has stays too.
            held.moved |= held.session.leaf_id() != before;
            changed
        });
        changed.await.map_err(|error| error.to_string())?
    }

    /// Commits what `amend` changes of the state of the last commit, if that is anything. Not while a run goes on: it
    /// commits a state of its own.
    pub(super) async fn amend(
        self: Arc<Self>,
        amend: impl FnOnce(&mut AgentState) -> bool + Send + 'static,
    ) -> Result<(), String> {
        let done = Arc::clone(&self.committing).lock_owned().await;
        let amended = spawn_blocking(move || {
            let _done = done;
            let mut held = self.held();
            let mut state = held.session.state();
            if held.running || !amend(&mut state) {
                return Ok(());
            }
            held.session.commit(&state).map_err(|error| error.to_string())
        });
        amended.await.map_err(|error| error.to_string())?
    }

    /// Brings to the disk what was written since the last commit.
    pub(super) async fn sync(self: Arc<Self>) -> Result<(), BoxError> {
        Ok(spawn_blocking(move || self.with(Session::sync)).await??)
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Commits to the record. Writing and syncing block, so they are done beside the runtime.
pub(super) struct Recorded(pub(super) Arc<Store>);

impl Commit for Recorded {
    fn commit<'a>(&'a self, state: &'a AgentState) -> BoxFuture<'a, Result<(), BoxError>> {
        let (store, state) = (Arc::clone(&self.0), state.clone());
        Box::pin(async move {
            let done = Arc::clone(&store.committing).lock_owned().await;
            let committed = spawn_blocking(move || {
                let _done = done;
                store.with(|session| session.commit(&state))
            });
            Ok(committed.await??)
        })
    }

    fn unsaid(&self, state: &AgentState) -> Vec<Arc<Message>> {
        self.0.with(|session| session.give_unsaid(state))
    }
}

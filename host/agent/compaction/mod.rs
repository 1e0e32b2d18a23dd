//! A long conversation is sent as a summary of its beginning, and the rest.
//!
//! The conversation itself stays whole. What is kept is the summary and how many messages it stands for, in a slot of
//! the state that no mod can have: so it commits with a turn, follows the branches of a session, and is there after a
//! resume. At each model call those messages are replaced by one, ahead of all mods; where a mod has put
//! another in the place of the last of them, or moved it, the summary holds no more, and all is sent. What a mod changes
//! further up stays in the summary.
//!
//! A run compacts before a model call once the conversation has so many tokens ([`Watch`]); and it takes what was made
//! beside it, because somebody asked ([`Compaction::ask`]). The summary is made by the model that the run calls. A
//! compaction that fails is told, and the run goes on with the whole conversation.

mod cut;
mod kept;
mod summary;
mod watch;

use std::{
    num::NonZeroU64,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use mod_interface::types::{AgentState, Conversation, EventPayload, Usage};
use tokio_util::sync::CancellationToken;

use super::{BoxError, Model};
use crate::events::Emitter;

pub use summary::{Summary, summarize};
pub(super) use watch::Watch;

use kept::Kept;

/// Why a conversation was not compacted.
#[derive(Debug, thiserror::Error)]
pub enum CompactionError {
    /// It is too short, or its end alone is too long.
    #[error("there is nothing to compact: no beginning of the conversation is longer than what must stay")]
    Nothing,
    /// It is being done.
    #[error("the conversation is being compacted already")]
    Busy,
    /// It was interrupted.
    #[error("the compaction was interrupted")]
    Interrupted,
    /// The model gave no summary.
    #[error("the model {model} gave no summary: {reason}")]
    Model {
        /// `provider/id`.
        model: Arc<str>,
        /// What it says.
        reason: BoxError,
    },
}

/// What the runs of an agent and those who ask for a compaction share.
#[derive(Default)]
pub struct Compaction {
    threshold: Option<NonZeroU64>,
    /// What was made beside a run, until a run takes it.
    made: Mutex<Option<Made>>,
    /// Held while a summary is made.
    making: tokio::sync::Mutex<()>,
}

/// A compaction that is not in the state yet, and what it took.
#[derive(Clone)]
struct Made {
    kept: Kept,
    usage: Usage,
}

impl Compaction {
    /// Runs compact by themselves once a conversation has so many tokens; `None` is never.
    pub fn new(threshold: Option<NonZeroU64>) -> Self {
        Self { threshold, ..Self::default() }
    }

    /// The same for another agent.
    pub(super) fn another(&self) -> Self {
        Self::new(self.threshold)
    }

    /// Compacts `state`, which a run may have gone on from: the agent's next model call is made with the summary,
    /// and the run commits it. Until then [`Compaction::apply`] puts it into a state.
    ///
    /// # Errors
    /// There is nothing to compact, it is being done, it was interrupted, or the model gave no summary.
    pub async fn ask(
        &self,
        state: &AgentState,
        model: &dyn Model,
        name: Arc<str>,
        emitter: &Emitter,
        cancel: &CancellationToken,
    ) -> Result<(), CompactionError> {
        let made = self.make(state, model, name, emitter, cancel).await?;
        *self.made() = Some(made);
        Ok(())
    }

    /// Puts what was made and no run has taken into `state`; whether it holds for that.
    pub fn apply(&self, state: &mut AgentState) -> bool {
        let made = self.made().clone();
        made.is_some_and(|made| made.kept.put_into(state))
    }

    /// The same, for the run that takes it; gives what it took.
    fn take(&self, state: &mut AgentState) -> Option<Usage> {
        let made = self.made().take();
        made.filter(|made| made.kept.put_into(state)).map(|made| made.usage)
    }

    async fn make(
        &self,
        state: &AgentState,
        model: &dyn Model,
        name: Arc<str>,
        emitter: &Emitter,
        cancel: &CancellationToken,
    ) -> Result<Made, CompactionError> {
        let _one_at_a_time = self.making.try_lock().map_err(|_| CompactionError::Busy)?;
        let before = Kept::of(state);
        let sent = context(state);
        let summaries = usize::from(before.is_some());
        let cut = cut::cut(&sent, summaries).ok_or(CompactionError::Nothing)?;
        let mut telling = Telling::start(emitter);
        let Summary { text, usage } = summarize(model, name, &sent[..cut], None, cancel).await?;
        let from = before.map_or(0, |before| before.from) + cut - summaries;
        let kept = Kept::new(text, from, &state.messages);
        telling.tokens_saved = cut::tokens(&sent[..cut]).checked_sub(cut::tokens(&[kept.message()]));
        Ok(Made { kept, usage })
    }

    fn made(&self) -> MutexGuard<'_, Option<Made>> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What of a state's conversation is sent.
pub(super) fn context(state: &AgentState) -> Conversation {
    match Kept::of(state) {
        Some(kept) => kept.context(&state.messages),
        None => state.messages.clone(),
    }
}

/// Tells that a compaction begins and, when dropped, that it is over.
struct Telling<'a> {
    emitter: &'a Emitter,
    tokens_saved: Option<u64>,
}

impl<'a> Telling<'a> {
    fn start(emitter: &'a Emitter) -> Self {
        emitter.emit(EventPayload::CompactionStart {});
        Self { emitter, tokens_saved: None }
    }
}

impl Drop for Telling<'_> {
    fn drop(&mut self) {
        let tokens_saved = self.tokens_saved.filter(|saved| *saved > 0);
        self.emitter.emit(EventPayload::CompactionDone { tokens_saved });
    }
}

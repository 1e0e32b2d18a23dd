use std::sync::Arc;

use mod_interface::types::{AgentState, NoticeLevel, Usage};
use tokio_util::sync::CancellationToken;

use super::{Compaction, CompactionError, context, cut};
use crate::{agent::Model, events::Emitter};

/// How many messages a run goes on for before it compacts again, or tries to.
const PAUSE: usize = 10;

/// When a run compacts.
pub(crate) struct Watch {
    compaction: Arc<Compaction>,
    /// The tokens of the last model call, and how many messages there were behind it.
    last: Option<(u64, usize)>,
    /// Not before there are so many messages.
    not_before: usize,
}

impl Watch {
    pub(crate) fn new(compaction: &Arc<Compaction>) -> Self {
        Self { compaction: Arc::clone(compaction), last: None, not_before: 0 }
    }

    /// Notes what a model call took, once its answer is in the state.
    pub(crate) fn note(&mut self, usage: Usage, state: &AgentState) {
        self.last = Some((usage.total(), state.messages.len())).filter(|(tokens, _)| *tokens > 0);
    }

    /// Puts what was made beside the run into the state; gives what it took.
    pub(crate) fn take(&mut self, state: &mut AgentState) -> Usage {
        let made = self.compaction.take(state);
        if made.is_some() {
            self.pause(state);
        }
        made.unwrap_or_default()
    }

    /// Compacts the state where that is due; gives what it took. A failure is told.
    pub(crate) async fn compact(
        &mut self,
        state: &mut AgentState,
        model: &dyn Model,
        name: Arc<str>,
        emitter: &Emitter,
        cancel: &CancellationToken,
    ) -> Usage {
        if !self.is_due(state) {
            return Usage::default();
        }
        let made = self.compaction.make(state, model, name, emitter, cancel).await;
        match made {
            Ok(made) => {
                self.pause(state);
                made.kept.put_into(state);
                made.usage
            }
            Err(error) => {
                if let CompactionError::Model { .. } = error {
                    self.not_before = state.messages.len() + PAUSE;
                    let text =
                        format!("the conversation is sent as it is, for it could not be compacted: {error}");
                    emitter.notice(NoticeLevel::Warning, text);
                }
                Usage::default()
            }
        }
    }

    /// The conversation is shorter now by as much as nobody has counted.
    fn pause(&mut self, state: &AgentState) {
        self.last = None;
        self.not_before = state.messages.len() + PAUSE;
    }

    /// Whether the next model call would have as many tokens as a conversation may. Until a call of the run has told
    /// how many there are, they are estimated.
    fn is_due(&self, state: &AgentState) -> bool {
        let Some(threshold) = self.compaction.threshold else { return false };
        let messages = &state.messages;
        if messages.len() < self.not_before {
            return false;
        }
        let tokens = match self.last {
            Some((tokens, len)) => tokens + cut::tokens(messages.get(len..).unwrap_or_default()),
            None => cut::tokens(&context(state)),
        };
        tokens >= threshold.get()
    }
}

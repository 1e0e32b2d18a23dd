use std::sync::Arc;

use mod_interface::types::{AgentState, Conversation, Message, MessageSource};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The slot of the state. A mod's is called `mod:…`.
const SLOT: &str = "compaction";

/// What a compaction leaves in the state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Kept {
    /// What was said in the first messages.
    pub(super) summary: String,
    /// How many of them it stands for.
    pub(super) from: usize,
    /// What the last of them is, in short: where a mod put others in its place, the summary holds no more.
    after: String,
}

impl Kept {
    pub(super) fn new(summary: String, from: usize, messages: &[Arc<Message>]) -> Self {
        Self { summary, from, after: mark(messages, from) }
    }

    /// What a state has, and what holds for it.
    pub(super) fn of(state: &AgentState) -> Option<Self> {
        let kept: Self = serde_json::from_value(state.mod_state.get(SLOT)?.clone()).ok()?;
        kept.holds_for(&state.messages).then_some(kept)
    }

    /// Puts it into a state, where it holds for that and says more than what is there.
    pub(super) fn put_into(&self, state: &mut AgentState) -> bool {
        let is_news = Self::of(state).is_none_or(|before| before.from < self.from);
        let Ok(slot) = serde_json::to_value(self) else { return false };
        let puts = is_news && self.holds_for(&state.messages);
        if puts {
            state.set_mod_state(SLOT, slot);
        }
        puts
    }

    /// The message that stands for the first ones.
    pub(super) fn message(&self) -> Arc<Message> {
        let text = format!(
            "The conversation so far was too long to be sent. This is a summary of it; what follows is the rest, word \
             for word.\n\n{}",
            self.summary
        );
        Arc::new(Message::user_from(MessageSource::Other, text))
    }

    /// That message, and the rest.
    pub(super) fn context(&self, messages: &[Arc<Message>]) -> Conversation {
        let rest = messages[self.from..].iter().map(Arc::clone);
        Arc::new(std::iter::once(self.message()).chain(rest).collect::<Vec<_>>()).into()
    }

    fn holds_for(&self, messages: &[Arc<Message>]) -> bool {
        (1..messages.len()).contains(&self.from) && mark(messages, self.from) == self.after
    }
}

/// What the last of the first `from` messages is, in short.
fn mark(messages: &[Arc<Message>], from: usize) -> String {
    let last = from.checked_sub(1).and_then(|last| messages.get(last));
    let json = last.and_then(|message| serde_json::to_vec(&**message).ok()).unwrap_or_default();
    Sha256::digest(json)[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}

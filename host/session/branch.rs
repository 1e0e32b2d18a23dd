use std::{collections::BTreeMap, sync::Arc};

use mod_interface::types::{AgentState, Message};
use serde_json::Value;

use super::entry::Body;

/// What a branch of a session's tree comes to at its last commit. The messages are pointers of its own, not
/// the state's vector: a second owner of that would make the run copy it at the next message.
#[derive(Default)]
pub(super) struct Branch {
    messages: Vec<Arc<Message>>,
    mod_state: Arc<BTreeMap<String, Value>>,
}

/// What a state has that the record has not.
pub(super) struct Change<'a> {
    /// How many of the recorded messages still hold.
    pub(super) keep: usize,
    /// Whether that is not all of them.
    rewrites: bool,
    messages: &'a [Arc<Message>],
    mod_state: BTreeMap<String, Value>,
    removed: Vec<String>,
}

impl Branch {
    /// Compares the record with `state`. Messages are compared by pointer first, which is all that it
    /// takes for those that nobody touched.
    pub(super) fn change_to<'a>(&self, state: &'a AgentState) -> Change<'a> {
        let pairs = self.messages.iter().zip(state.messages.iter());
        let keep = pairs.take_while(|(ours, theirs)| Arc::ptr_eq(ours, theirs) || ours == theirs).count();
        let (mod_state, removed) = changed_slots(&self.mod_state, &state.mod_state);
        let rewrites = keep < self.messages.len();
        Change { keep, rewrites, messages: &state.messages[keep..], mod_state, removed }
    }

    /// Takes over what [`Branch::change_to`] found.
    pub(super) fn advance(&mut self, keep: usize, state: &AgentState) {
        self.messages.truncate(keep);
        self.messages.extend_from_slice(&state.messages[keep..]);
        self.mod_state = Arc::clone(&state.mod_state);
    }

    /// Takes over an entry, as a file has it.
    pub(super) fn apply(&mut self, body: &Body) {
        match body {
            Body::Message { message } => self.messages.push(Arc::clone(message)),
            Body::Rewrite { keep } => self.messages.truncate(*keep),
            Body::Commit { mod_state, removed } if mod_state.is_empty() && removed.is_empty() => {}
            Body::Commit { mod_state, removed } => {
                let slots = Arc::make_mut(&mut self.mod_state);
                slots.extend(mod_state.iter().map(|(id, value)| (id.clone(), value.clone())));
                removed.iter().for_each(|gone| drop(slots.remove(gone)));
            }
            Body::Leaf { .. } | Body::Label { .. } | Body::SessionInfo { .. } | Body::Other => {}
        }
    }

    pub(super) fn messages(&self) -> &[Arc<Message>] {
        &self.messages
    }

    /// The state that the branch describes.
    pub(super) fn state(&self, session_id: Arc<str>) -> AgentState {
        AgentState {
            session_id,
            messages: Arc::new(self.messages.clone()),
            mod_state: Arc::clone(&self.mod_state),
        }
    }
}

impl Change<'_> {
    /// Whether there is nothing to write.
    pub(super) fn is_empty(&self) -> bool {
        !self.rewrites && self.messages.is_empty() && self.mod_state.is_empty() && self.removed.is_empty()
    }

    /// The entries to write, in order.
    pub(super) fn bodies(&self) -> impl Iterator<Item = Body> {
        let rewrite = self.rewrites.then_some(Body::Rewrite { keep: self.keep });
        let messages = self.messages.iter().map(|message| Body::Message { message: Arc::clone(message) });
        let commit = Body::Commit { mod_state: self.mod_state.clone(), removed: self.removed.clone() };
        rewrite.into_iter().chain(messages).chain([commit])
    }
}

/// The slots of `now` that `before` has not or has otherwise, and those that only `before` has.
fn changed_slots(
    before: &Arc<BTreeMap<String, Value>>,
    now: &Arc<BTreeMap<String, Value>>,
) -> (BTreeMap<String, Value>, Vec<String>) {
    if Arc::ptr_eq(before, now) {
        return Default::default();
    }
    let set = now.iter().filter(|(id, value)| before.get(*id) != Some(value));
    let removed = before.keys().filter(|id| !now.contains_key(*id));
    (set.map(|(id, value)| (id.clone(), value.clone())).collect(), removed.cloned().collect())
}

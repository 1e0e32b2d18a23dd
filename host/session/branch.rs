use std::{collections::BTreeMap, sync::Arc};

use mod_interface::types::{AgentState, Message, MessageSource, Seen};
use serde_json::Value;

use super::entry::Body;

/// What a branch of a session's tree comes to at its last commit. The messages are pointers of its own, not
/// the state's vector: a second owner of that would make the run copy it at the next message.
#[derive(Default)]
pub(super) struct Branch {
    messages: Vec<Arc<Message>>,
    /// The state's conversation of the last commit, which begins with those messages if it has only grown since.
    committed: Seen,
    mod_state: Arc<BTreeMap<String, Value>>,
    /// What mods said to the model, and is in no message yet.
    unsaid: Vec<Arc<Message>>,
    /// What of that the turn that goes on was given: with its commit it was said, whatever a mod made of it.
    given: Vec<Arc<Message>>,
    /// Where the entries are that mods keep, by owner and type, in the order of the file.
    custom: BTreeMap<(String, String), Vec<usize>>,
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
    /// Compares the record with `state`.
    pub(super) fn change_to<'a>(&self, state: &'a AgentState) -> Change<'a> {
        let keep = self.shared_with(state);
        let (mod_state, removed) = changed_slots(&self.mod_state, &state.mod_state);
        let rewrites = keep < self.messages.len();
        Change { keep, rewrites, messages: &state.messages[keep..], mod_state, removed }
    }

    /// How many of the recorded messages `state` begins with. Where a mod changed some, all are compared, by pointer
    /// first.
    fn shared_with(&self, state: &AgentState) -> usize {
        if state.messages.grew_from(&self.committed) {
            return self.messages.len();
        }
        let pairs = self.messages.iter().zip(state.messages.iter());
        pairs.take_while(|(ours, theirs)| Arc::ptr_eq(ours, theirs) || ours == theirs).count()
    }

    /// Takes over what [`Branch::change_to`] found.
    pub(super) fn advance(&mut self, keep: usize, state: &AgentState) {
        self.messages.truncate(keep);
        self.messages.extend_from_slice(&state.messages[keep..]);
        self.committed = state.messages.seen();
        let given = std::mem::take(&mut self.given);
        self.unsaid.retain(|unsaid| !given.iter().any(|given| Arc::ptr_eq(given, unsaid)));
        said(&mut self.unsaid, &without(&state.messages[keep..], &given));
        self.mod_state = Arc::clone(&state.mod_state);
    }

    /// Takes over the entry at `index`, as a file has it.
    pub(super) fn apply(&mut self, index: usize, body: &Body) {
        match body {
            Body::Message { message } => {
                said(&mut self.unsaid, std::slice::from_ref(message));
                self.messages.push(Arc::clone(message));
            }
            Body::Custom { owner, custom_type, .. } => {
                self.custom.entry((owner.clone(), custom_type.clone())).or_default().push(index);
            }
            Body::CustomMessage { content, .. } => {
                self.unsaid.push(Arc::new(Message::user_from(MessageSource::Mod, content.as_str())));
            }
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

    /// [`Branch::unsaid_in`], for the turn that goes on to say.
    pub(super) fn give_unsaid(&mut self, state: &AgentState) -> Vec<Arc<Message>> {
        self.given = self.unsaid_in(state);
        self.given.clone()
    }

    /// What mods said to the model, and neither the record nor `state` has as a message.
    pub(super) fn unsaid_in(&self, state: &AgentState) -> Vec<Arc<Message>> {
        let mut unsaid = self.unsaid.clone();
        if !unsaid.is_empty() {
            said(&mut unsaid, &state.messages[self.shared_with(state)..]);
        }
        unsaid
    }

    pub(super) fn unsaid(&self) -> &[Arc<Message>] {
        &self.unsaid
    }

    /// Where the entries of this owner and type are.
    pub(super) fn custom(&self, owner: &str, custom_type: &str) -> &[usize] {
        self.custom.get(&(owner.to_owned(), custom_type.to_owned())).map_or(&[], Vec::as_slice)
    }

    pub(super) fn messages(&self) -> &[Arc<Message>] {
        &self.messages
    }

    /// The state that the branch describes.
    pub(super) fn state(&self, session_id: Arc<str>) -> AgentState {
        AgentState {
            session_id,
            messages: Arc::new(self.messages.clone()).into(),
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

/// Takes out of `unsaid` what new messages say, each once. They are told apart by what they say: a mod that puts one
/// into the state itself hands back a copy.
fn said(unsaid: &mut Vec<Arc<Message>>, messages: &[Arc<Message>]) {
    for message in messages {
        if let Some(at) = unsaid.iter().position(|unsaid| unsaid == message) {
            unsaid.remove(at);
        }
    }
}

/// What of `messages` is none of `given`.
fn without(messages: &[Arc<Message>], given: &[Arc<Message>]) -> Vec<Arc<Message>> {
    let others = messages.iter().filter(|message| !given.iter().any(|given| Arc::ptr_eq(given, message)));
    others.cloned().collect()
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

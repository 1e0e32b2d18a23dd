use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Conversation, Message};

/// The state of an agent: the conversation, and one slot of data per mod.
///
/// A clone is cheap: both parts are shared until one side changes them. Appending is amortised
/// O(1) as long as no older clone is alive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentState {
    /// The session that the state belongs to.
    pub session_id: Arc<str>,
    /// The conversation, oldest first.
    pub messages: Conversation,
    /// One JSON value per mod id.
    #[serde(default)]
    pub mod_state: Arc<BTreeMap<String, Value>>,
}

impl AgentState {
    /// An empty conversation.
    pub fn new(session_id: impl Into<Arc<str>>) -> Self {
        Self { session_id: session_id.into(), messages: Conversation::default(), mod_state: Arc::default() }
    }

    /// Appends a message.
    pub fn push(&mut self, message: impl Into<Arc<Message>>) {
        self.messages.push(message);
    }

    /// Replaces the slot of `mod_id`.
    pub fn set_mod_state(&mut self, mod_id: &str, value: Value) {
        Arc::make_mut(&mut self.mod_state).insert(mod_id.to_owned(), value);
    }
}

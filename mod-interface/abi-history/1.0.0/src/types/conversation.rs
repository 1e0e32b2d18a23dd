use std::{ops::Deref, sync::Arc};

use serde::{Deserialize, Serialize};

use super::Message;

/// The messages of a state, oldest first.
///
/// A clone is cheap: the list is shared until one side changes it. Who has seen one before can tell in O(1) that it has
/// only been appended to since, see [`Conversation::grew_from`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Conversation {
    messages: Arc<Vec<Arc<Message>>>,
    /// Another one as soon as something else happens to the list than an append in its place: of two conversations
    /// with the same one, one begins with the other.
    #[serde(skip)]
    line: Arc<()>,
}

/// A conversation as somebody has seen it.
#[derive(Debug, Clone, Default)]
pub struct Seen(Arc<()>);

impl Conversation {
    /// Appends a message: amortised O(1) as long as no older clone is alive.
    pub fn push(&mut self, message: impl Into<Arc<Message>>) {
        // A list that is shared is copied, and may then grow in two ways.
        if Arc::get_mut(&mut self.messages).is_none() {
            self.line = Arc::default();
        }
        Arc::make_mut(&mut self.messages).push(message.into());
    }

    /// The list, to change what it has.
    pub fn edit(&mut self) -> &mut Vec<Arc<Message>> {
        self.line = Arc::default();
        Arc::make_mut(&mut self.messages)
    }

    /// Notes how it is now.
    pub fn seen(&self) -> Seen {
        Seen(Arc::clone(&self.line))
    }

    /// Whether it begins with all that it was when it was seen so. False may be wrong, true is not.
    pub fn grew_from(&self, seen: &Seen) -> bool {
        Arc::ptr_eq(&self.line, &seen.0)
    }
}

impl Deref for Conversation {
    type Target = Arc<Vec<Arc<Message>>>;

    fn deref(&self) -> &Self::Target {
        &self.messages
    }
}

impl From<Arc<Vec<Arc<Message>>>> for Conversation {
    fn from(messages: Arc<Vec<Arc<Message>>>) -> Self {
        Self { messages, line: Arc::default() }
    }
}

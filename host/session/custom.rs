//! What mods keep in a session's record, and what they say to the model by way of it.

use std::sync::Arc;

use mod_interface::types::{AgentState, CustomMessage, Message, MessageSource, Role, SessionInfo};
use serde_json::Value;

use super::{Body, Error, Result, Session};

/// How many messages of mods may wait for the next turn, and how many bytes of them.
const MAX_UNSAID: usize = 1024;
const MAX_UNSAID_BYTES: usize = 4 << 20;

impl Session {
    /// Keeps `data` of the mod `owner` on the branch of the leaf; gives the entry's id.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn append_custom(&mut self, owner: &str, custom_type: &str, data: Value) -> Result<String> {
        let (owner, custom_type) = (owner.to_owned(), custom_type.to_owned());
        self.add(Body::Custom { owner, custom_type, data: Arc::new(data) })
    }

    /// Takes what the mod `owner` says to the model: gives the entry's id, and the message that it becomes.
    ///
    /// # Errors
    /// Too much waits for the next turn already, or it cannot be written.
    pub fn append_custom_message(
        &mut self,
        owner: &str,
        message: CustomMessage,
    ) -> Result<(String, Message)> {
        let CustomMessage { custom_type, content, display, details, .. } = message;
        let unsaid = self.tree.branch().unsaid();
        let bytes: usize =
            unsaid.iter().flat_map(|it| &it.content).filter_map(|it| it.as_text()).map(str::len).sum();
        if unsaid.len() >= MAX_UNSAID || bytes + content.len() > MAX_UNSAID_BYTES {
            return Err(Error::ManyUnsaid(MAX_UNSAID));
        }
        let message = Message::user_from(MessageSource::Mod, content.as_str());
        let owner = owner.to_owned();
        let id = self.add(Body::CustomMessage { owner, custom_type, content, display, details })?;
        Ok((id, message))
    }

    /// The ids and data of what the mod `owner` keeps under this type on the branch of the leaf, in the order of
    /// the file.
    pub fn custom_entries(&self, owner: &str, custom_type: &str) -> Vec<(String, Arc<Value>)> {
        self.tree.custom(owner, custom_type)
    }

    /// What mods said to the model, and neither a commit nor `state` has among its messages: in the order in which
    /// it was said. The next commit says it.
    pub fn give_unsaid(&mut self, state: &AgentState) -> Vec<Arc<Message>> {
        self.tree.branch_mut().give_unsaid(state)
    }

    /// What is known of it.
    pub fn info(&self) -> SessionInfo {
        let mut info = SessionInfo::default();
        info.id = self.id.to_string();
        info.name = self.name().map(ToString::to_string);
        info.first_prompt = self.first_prompt();
        info.recorded = self.log.is_some();
        info
    }

    fn first_prompt(&self) -> Option<String> {
        let by_a_person =
            |message: &&Arc<Message>| message.role == Role::User && message.source == MessageSource::User;
        let mut said = self.tree.branch().messages().iter().filter(by_a_person).map(|message| message.text());
        said.find(|text| !text.trim().is_empty())
    }
}

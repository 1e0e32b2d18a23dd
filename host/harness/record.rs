//! The session's record, as mods reach it.

use std::sync::Arc;

use futures::future::BoxFuture;
use mod_interface::types::{CustomMessage, Message, Navigation, SessionInfo, TreeNode};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::live::LiveSession;
use crate::{agent, mod_host::SessionRecord, session::Session};

impl SessionRecord for LiveSession {
    fn append_custom(&self, owner: &str, custom_type: &str, data: Value) -> Result<String, String> {
        self.store.with(|session| session.append_custom(owner, custom_type, data)).map_err(told)
    }

    fn append_custom_message(&self, owner: &str, said: CustomMessage) -> Result<(String, Message), String> {
        self.store.with(|session| session.append_custom_message(owner, said)).map_err(told)
    }

    fn custom_entries(&self, owner: &str, custom_type: &str) -> Vec<(String, Arc<Value>)> {
        self.store.with(|session| session.custom_entries(owner, custom_type))
    }

    fn info(&self) -> SessionInfo {
        self.store.with(|session| session.info())
    }

    fn set_name(&self, name: &str) -> Result<Option<String>, String> {
        let named = self.store.with(|session| session.set_name(name)).map_err(told)?;
        Ok(named.map(|name| name.to_string()))
    }

    fn tree(&self) -> Vec<TreeNode> {
        self.store.with(|session| session.tree())
    }

    fn leaf_id(&self) -> String {
        self.store.with(|session| session.leaf_id())
    }

    fn set_label(&self, target_id: &str, label: &str) -> Result<(), String> {
        self.store.with(|session| session.set_label(target_id, label)).map_err(told)
    }

    fn compact(&self, cancel: CancellationToken) -> BoxFuture<'static, Result<(), String>> {
        Self::compact(self, cancel)
    }

    fn navigate(
        &self,
        navigation: Navigation,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, Result<(), String>> {
        let Self { model, choice, store, .. } = self;
        let (model, (name, _), store) = (Arc::clone(model), choice.get(), Arc::clone(store));
        Box::pin(async move {
            let Navigation { target_id, summarize, custom_instructions, .. } = navigation;
            if !summarize {
                return store.change(move |session| session.navigate(&target_id)).await;
            }
            let look = |session: &mut Session| Ok((session.leaf_id(), session.left_behind(&target_id)?));
            let (leaf, left) = store.idle(look)?;
            if left.is_empty() {
                return store.change(move |session| session.navigate(&target_id)).await;
            }
            let made = agent::summarize(&*model, name, &left, custom_instructions.as_deref(), &cancel).await;
            let notes = made.map_err(|error| error.to_string())?.text;
            store.change(move |session| session.navigate_with(&target_id, &leaf, notes_message(&notes))).await
        })
    }
}

/// What the model reads of a branch that was left.
fn notes_message(notes: &str) -> Message {
    Message::from_mod(format!(
        "The conversation went back to this point. These are notes on what was said and done meanwhile; files may be as \
         they were left then.\n\n{notes}"
    ))
}

fn told(error: crate::session::Error) -> String {
    error.to_string()
}

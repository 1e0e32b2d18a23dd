//! The session's record, as mods reach it.

use std::sync::Arc;

use futures::future::{BoxFuture, ready};
use mod_interface::types::{CustomMessage, Message, Navigation, SessionInfo, TreeNode};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::live::LiveSession;
use crate::mod_host::SessionRecord;

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

    fn navigate(&self, navigation: Navigation) -> BoxFuture<'static, Result<(), String>> {
        if navigation.summarize {
            return Box::pin(ready(Err(
                "this host cannot summarize a branch that is left yet; navigate without summarize".to_owned(),
            )));
        }
        let store = Arc::clone(&self.store);
        Box::pin(store.change(move |session| session.navigate(&navigation.target_id)))
    }
}

fn told(error: crate::session::Error) -> String {
    error.to_string()
}

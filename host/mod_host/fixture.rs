//! A core without a harness around it, for the tests of what mods do and ask.

use std::{sync::Arc, time::Duration};

use futures::future::{BoxFuture, ready};
use mod_interface::{
    abi::{Frame, OwnFrame},
    types::{CustomMessage, DeliverAs, Effort, Message, Navigation, SessionInfo, TreeNode},
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{
    Core, ModHostConfig, SessionRecord,
    frame::{ModFrame, Question},
    identity::ModIdentity,
    live::Live,
};

/// A core, and frames of one mod of it.
pub(crate) struct World {
    pub(crate) core: Arc<Core>,
    pub(crate) owner: Arc<ModIdentity>,
    pub(crate) dir: tempfile::TempDir,
}

impl World {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let config = ModHostConfig {
            tool_timeout: Some(Duration::from_secs(600)),
            log_file: Some(dir.path().join("mods.log")),
            ..ModHostConfig::alone(dir.path(), Duration::from_secs(1))
        };
        let core = Arc::new(Core::new(config, tokio::runtime::Handle::current()));
        Self { core, owner: Arc::new(ModIdentity::new(0, "a")), dir }
    }

    pub(crate) fn frame(&self, question: Question) -> Frame {
        OwnFrame::new(ModFrame::new(&self.core, &self.owner, question)).frame().clone()
    }

    /// What a service that answers at once says to a factory.
    pub(crate) fn now(&self, service: &str, args: &str) -> Result<String, String> {
        self.frame(Question::Factory).call_now(service, args)
    }

    /// What a service that answers later says to a factory.
    pub(crate) async fn later(&self, service: &str, args: &str) -> Result<String, String> {
        self.frame(Question::Factory).call(service, args).await
    }
}

/// A session with a record in which nothing is, and nothing can be written.
pub(crate) struct NoRecord;

const FULL: &str = "the disk is full";

impl Live for NoRecord {
    fn queue_message(&self, _: String, _: DeliverAs) -> Result<(), String> {
        Ok(())
    }

    fn set_model(&self, _: &str) -> Result<(), String> {
        Ok(())
    }

    fn set_effort(&self, _: Option<Effort>) {}

    fn record(&self) -> &dyn SessionRecord {
        self
    }
}

impl SessionRecord for NoRecord {
    fn append_custom(&self, _: &str, _: &str, _: Value) -> Result<String, String> {
        Err(FULL.to_owned())
    }

    fn append_custom_message(&self, _: &str, _: CustomMessage) -> Result<(String, Message), String> {
        Err(FULL.to_owned())
    }

    fn custom_entries(&self, _: &str, _: &str) -> Vec<(String, Arc<Value>)> {
        Vec::new()
    }

    fn info(&self) -> SessionInfo {
        SessionInfo::default()
    }

    fn set_name(&self, _: &str) -> Result<Option<String>, String> {
        Err(FULL.to_owned())
    }

    fn tree(&self) -> Vec<TreeNode> {
        Vec::new()
    }

    fn leaf_id(&self) -> String {
        String::new()
    }

    fn set_label(&self, _: &str, _: &str) -> Result<(), String> {
        Err(FULL.to_owned())
    }

    fn compact(&self, _: CancellationToken) -> BoxFuture<'static, Result<(), String>> {
        Box::pin(ready(Ok(())))
    }

    fn navigate(&self, _: Navigation, _: CancellationToken) -> BoxFuture<'static, Result<(), String>> {
        Box::pin(ready(Err(FULL.to_owned())))
    }
}

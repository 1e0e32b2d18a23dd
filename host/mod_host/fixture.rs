//! A core without a harness around it, for the tests of what mods do and ask.

use std::{sync::Arc, time::Duration};

use mod_interface::abi::{Frame, OwnFrame};

use super::{
    Core, ModHostConfig,
    frame::{ModFrame, Question},
    identity::ModIdentity,
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

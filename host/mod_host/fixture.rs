//! A core without a harness around it, for the tests of what mods do and ask.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use mod_interface::abi::{Frame, OwnFrame};

use super::{
    Core, ModHostConfig,
    frame::{ModFrame, Question},
    identity::ModIdentity,
};
use crate::{events::EventBus, tools::ToolSet, ui::Headless};

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
            bus: EventBus::new(),
            ui: Arc::new(Headless),
            tools: Arc::<ToolSet>::default(),
            cwd: dir.path().into(),
            options: BTreeMap::new(),
            hook_timeout: None,
            tool_timeout: Some(Duration::from_secs(600)),
            load_timeout: Duration::from_secs(1),
            journal_dir: None,
            log_file: Some(dir.path().join("mods.log")),
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

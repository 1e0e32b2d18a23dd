//! A program that tests put behind the commands.

use std::{path::PathBuf, sync::Arc};

use futures::future::BoxFuture;
use registry::HostFacts;
use tokio_util::sync::CancellationToken;

use super::backend::{Backend, Ended, FoundMod, RunRequest, Trial};
use crate::{
    events::EventSink,
    settings::{Loaded, Places},
};

type Run = dyn Fn(RunRequest, Arc<dyn EventSink>, CancellationToken) -> BoxFuture<'static, anyhow::Result<Ended>>
    + Send
    + Sync;

/// Answers what it was made with.
pub(super) struct Fake {
    pub(super) run: Box<Run>,
    pub(super) found: Vec<FoundMod>,
    pub(super) facts: HostFacts,
}

impl Default for Fake {
    fn default() -> Self {
        Self {
            run: Box::new(|_, _, _| Box::pin(async { Err(anyhow::anyhow!("no run was expected")) })),
            found: Vec::new(),
            facts: HostFacts { interface: (1, 0), target: String::new(), glibc: None },
        }
    }
}

impl Backend for Fake {
    fn run(
        &self,
        request: RunRequest,
        sink: Arc<dyn EventSink>,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, anyhow::Result<Ended>> {
        (self.run)(request, sink, cancel)
    }

    fn find_mods(&self, _: &Places, _: &Loaded) -> Vec<FoundMod> {
        self.found.clone()
    }

    fn trial_load(&self, path: PathBuf) -> BoxFuture<'static, anyhow::Result<Trial>> {
        let name = path.display().to_string();
        Box::pin(async { Ok(Trial { name, ..Trial::default() }) })
    }

    fn host_facts(&self) -> HostFacts {
        self.facts.clone()
    }
}

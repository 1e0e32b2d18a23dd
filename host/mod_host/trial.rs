//! Loading one library to see what comes of it. Meant for a child process: whatever the library does,
//! it does there.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures::{Stream, StreamExt};
use mod_interface::types::{AgentEvent, EventPayload};
use serde::Serialize;

use super::{
    LoadError, LoadedMod, ModHost, ModHostConfig, Origin, Planned, Registered, host_facts, in_order,
    load::Ready, plan,
};
use crate::events::EventBus;

/// What a library did when it was loaded.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Trial {
    /// What it is.
    #[serde(flatten)]
    pub loaded: LoadedMod,
    /// What it registered.
    pub registered: Registered,
    /// What of it was refused.
    pub warnings: Vec<String>,
}

/// Loads each of these mods as `--mod` would, one after the other, as if it were the only one, and runs its factory,
/// with nobody there to answer it. It has `limit` to do so. An error is why it does not load.
pub fn trials(
    paths: Vec<PathBuf>,
    cwd: PathBuf,
    limit: Duration,
) -> impl Stream<Item = Result<Trial, LoadError>> {
    let ready = in_order(paths, |path| {
        let origin = Origin::Session { path: path.clone() };
        plan::named(&path, None, &host_facts()).map(|code| Ready::new(Planned { origin, code }))
    });
    ready.then(move |ready| {
        let cwd = cwd.clone();
        async move { trial(ready?, cwd, limit).await }
    })
}

async fn trial(ready: Ready, cwd: PathBuf, limit: Duration) -> Result<Trial, LoadError> {
    let bus = EventBus::new();
    let warnings = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&warnings);
    bus.add(Arc::new(move |event: &AgentEvent| {
        if let EventPayload::ModError { error, .. } = &event.payload {
            told.lock().unwrap_or_else(PoisonError::into_inner).push(error.clone());
        }
    }));
    let host = ModHost::new(ModHostConfig { bus, ..ModHostConfig::alone(cwd, limit) });
    host.load_one(ready, &|_| false).await?;
    let (loaded, registered) = host.mods().remove(0);
    let warnings = std::mem::take(&mut *warnings.lock().unwrap_or_else(PoisonError::into_inner));
    Ok(Trial { loaded, registered, warnings })
}

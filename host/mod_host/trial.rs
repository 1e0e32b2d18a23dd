//! Loading one library to see what comes of it. Meant for a child process: whatever the library does,
//! it does there.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use mod_interface::types::{AgentEvent, EventPayload};
use serde::Serialize;

use super::{
    LoadError, LoadedMod, ModHost, ModHostConfig, Origin, Plan, Planned, Registered, host_facts, plan,
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

/// Loads the mod at `path`, as `--mod` would, and runs its factory, with nobody there to answer it. It
/// has `limit` to do so.
///
/// # Errors
/// Why it does not load.
pub async fn trial(path: PathBuf, cwd: PathBuf, limit: Duration) -> Result<Trial, LoadError> {
    let bus = EventBus::new();
    let warnings = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&warnings);
    bus.add(Arc::new(move |event: &AgentEvent| {
        if let EventPayload::ModError { error, .. } = &event.payload {
            told.lock().unwrap_or_else(PoisonError::into_inner).push(error.clone());
        }
    }));
    let host = ModHost::new(ModHostConfig { bus, ..ModHostConfig::alone(cwd, limit) });
    let origin = Origin::Session { path: path.clone() };
    let planned = Planned { origin, code: plan::named(&path, &host_facts())? };
    let mut loaded = host.load(Plan { mods: vec![planned], ..Plan::default() }, |_| false).await?;
    if let Some(warning) = loaded.warnings.pop() {
        return Err(warning.error);
    }
    let (loaded, registered) = host.mods().remove(0);
    let warnings = std::mem::take(&mut *warnings.lock().unwrap_or_else(PoisonError::into_inner));
    Ok(Trial { loaded, registered, warnings })
}

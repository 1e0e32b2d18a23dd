//! From a request to a session of the harness.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use mod_interface::types::{NoticeLevel, PermissionMode, SessionEndReason};
use tokio_util::sync::CancellationToken;

use super::request::{BoxError, Ended, Finished, RunPrompt, RunRequest};
use crate::{
    events::EventSink,
    harness::{Harness, HarnessBuilder, ModelAccess, Prompted},
    mod_host::ProjectMods,
    settings::{self, ModLayer, Trust},
};

/// Runs prompts in sessions of the harness, whose models are reached by `access`. `begun` tells that a
/// session has started.
pub(super) fn prompts(access: ModelAccess, begun: Arc<AtomicBool>) -> Box<RunPrompt> {
    Box::new(move |request, sink, cancel| {
        Box::pin(run(access.clone(), Arc::clone(&begun), request, sink, cancel))
    })
}

async fn run(
    access: ModelAccess,
    begun: Arc<AtomicBool>,
    mut request: RunRequest,
    sink: Arc<dyn EventSink>,
    cancel: CancellationToken,
) -> Result<Finished, BoxError> {
    let prompt = std::mem::take(&mut request.prompt);
    let stay_out = trusted_mods_stay_out(&request)?;
    let timed = request.mod_timing;
    let harness = builder(request)?.model_access(access).sink(sink).cancel(cancel.clone()).start().await?;
    begun.store(true, Relaxed);
    if stay_out {
        harness.events().main().notice(NoticeLevel::Warning, STAY_OUT.to_owned());
    }
    let mods_not_loaded = harness.warnings().len();
    let prompted = harness.prompt(&prompt, &cancel).await;
    let mods = Arc::clone(harness.mods());
    harness.end(SessionEndReason::Shutdown).await;
    let mod_timing = timed.then(|| mods.hook_timings());
    let ended = match prompted {
        Prompted::Ran(outcome) => Ended::Run(outcome.result),
        Prompted::Handled { message } => Ended::Handled(message),
        Prompted::Failed => Ended::Failed,
    };
    Ok(Finished { ended, mods_not_loaded, mod_timing })
}

const STAY_OUT: &str = "the project's mods do not load in print mode, guards among them; \
                        --dangerously-skip-permissions loads them, --mod loads one";

/// Whether the project has mods that were trusted, and that this run goes without all the same. Of a project
/// that is not trusted nothing is looked at, or said.
fn trusted_mods_stay_out(request: &RunRequest) -> settings::Result<bool> {
    let Some(project) = request.places.project.as_ref().filter(|_| !request.skip_permissions) else {
        return Ok(false);
    };
    let trusted = Trust::load(&request.places)?.is_trusted(&request.places.cwd, &BTreeSet::new());
    let named = &request.settings.project.mods;
    let has_mods = || !named.sources.is_empty() || !named.paths.is_empty() || project.join("mods").is_dir();
    Ok(trusted && !request.no_mods && has_mods())
}

/// A headless session: nobody answers a question, so what would be asked is denied, and the project's
/// own mods load only where that was said to be skipped.
fn builder(request: RunRequest) -> settings::Result<HarnessBuilder> {
    let skip = request.skip_permissions;
    let workspace = &request.places.cwd;
    let trusted = skip || Trust::load(&request.places)?.is_trusted(workspace, &BTreeSet::new());
    let mut settings = request.settings.merge(trusted);
    if !skip {
        // What the project says of mods is about the mods that stay out of this run.
        settings.mods.project = ModLayer::default();
    }
    let mode = if skip { Some(PermissionMode::Bypass) } else { request.permission_mode };
    Ok(Harness::builder()
        .settings(settings)
        .places(request.places)
        .model(request.model)
        .mods(request.mods)
        .mod_options(request.mod_options)
        .no_mods(request.no_mods)
        .project_mods(if skip { ProjectMods::All } else { ProjectMods::None })
        .permission_mode(mode)
        .rules(request.allow, request.deny)
        .max_turns(request.max_turns)
        .time_hooks(request.mod_timing)
        .record(request.record))
}

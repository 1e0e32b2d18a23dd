//! The real program behind the commands: the harness.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use futures::future::BoxFuture;
use mod_interface::types::{PermissionMode, SessionEndReason};
use registry::{HostFacts, object, version};
use tokio_util::sync::CancellationToken;

use super::backend::{Backend, Ended, Finished, FoundMod, ModState, RunRequest, Trial};
use crate::{
    events::EventSink,
    harness::{Harness, ModelAccess, Prompted},
    mod_host::{self, Code, Lookup, Origin},
    settings::{Loaded, Places, Scope},
};

/// Sessions and mods, for real.
#[derive(Debug, Default)]
pub struct Live {
    /// How the models outside are reached.
    pub access: ModelAccess,
}

impl Backend for Live {
    fn run(
        &self,
        request: RunRequest,
        sink: Arc<dyn EventSink>,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, anyhow::Result<Finished>> {
        let access = self.access.clone();
        Box::pin(async move {
            let prompt = request.prompt.clone();
            let harness = builder(request, access).sink(sink).start().await?;
            let mods_not_loaded = harness.warnings().len();
            let ended = match harness.prompt(&prompt, &cancel).await {
                Prompted::Ran(outcome) => Ended::Run(outcome.result),
                Prompted::Handled { message } => Ended::Handled(message),
            };
            harness.end(SessionEndReason::Shutdown).await;
            Ok(Finished { ended, mods_not_loaded })
        })
    }

    fn find_mods(&self, places: &Places, settings: &Loaded) -> Vec<FoundMod> {
        // The files of a project are not opened before its workspace is trusted.
        let settings = settings.merge(false).mods;
        let host = mod_host::host_facts();
        let lookup = Lookup {
            places,
            settings: &settings,
            host: &host,
            session: &[],
            project: false,
            session_only: false,
        };
        let plan = lookup.plan();
        let mut found: Vec<FoundMod> = Vec::new();
        for planned in plan.mods {
            let mut one = describe(planned);
            let first = found.iter().find(|first| first.name == one.name);
            if settings.disabled_by(&one.name).is_some() {
                one.state = ModState::Disabled;
            } else if let Some(first) = first {
                one.state = ModState::Shadowed(format!("the one from {} comes first", first.source));
            }
            found.push(one);
        }
        let problems = plan.problems.into_iter();
        found.extend(problems.map(|(origin, error)| {
            let reason = format!("[{}] {error}", error.code());
            FoundMod { state: ModState::Failed(reason), ..unknown(&origin) }
        }));
        found
    }

    fn trial_load(&self, path: PathBuf) -> BoxFuture<'static, anyhow::Result<Trial>> {
        Box::pin(async move {
            let cwd = std::env::current_dir()?;
            let trial = mod_host::trial(path, cwd).await?;
            let registered = trial.registered;
            let strings = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect();
            Ok(Trial {
                name: trial.loaded.name,
                version: trial.loaded.version,
                registered: BTreeMap::from([
                    ("hooks".to_owned(), strings(registered.hooks)),
                    ("tools".to_owned(), registered.tools),
                    ("commands".to_owned(), registered.commands),
                    ("events".to_owned(), strings(registered.events)),
                ]),
                warnings: trial.warnings,
            })
        })
    }

    fn host_facts(&self) -> HostFacts {
        mod_host::host_facts()
    }
}

fn builder(request: RunRequest, access: ModelAccess) -> crate::harness::HarnessBuilder {
    let trusted = request.skip_permissions;
    let mode = if trusted { Some(PermissionMode::Bypass) } else { request.permission_mode };
    Harness::builder()
        .settings(request.settings.merge(trusted))
        .places(request.places)
        .model(request.model)
        .model_access(access)
        .mods(request.mods)
        .mod_options(request.mod_options)
        .no_mods(request.no_mods)
        .project_mods(trusted)
        .permission_mode(mode)
        .rules(request.allow, request.deny)
        .max_turns(request.max_turns)
        .in_memory(!request.record)
}

fn unknown(origin: &Origin) -> FoundMod {
    let (scope, source) = match origin {
        Origin::BuiltIn => (None, "builtin".to_owned()),
        Origin::Session { path } => (None, path.display().to_string()),
        Origin::User { source } => (Some(Scope::User), source.clone()),
        Origin::Project { source } => (Some(Scope::Project), source.clone()),
    };
    FoundMod {
        name: source.clone(),
        scope,
        source,
        version: None,
        interface: None,
        hash: None,
        state: ModState::Found,
        path: None,
        registered: BTreeMap::new(),
        warnings: Vec::new(),
    }
}

/// What the files of a mod say, its library looked at but not run.
fn describe(planned: mod_host::Planned) -> FoundMod {
    let mut found = unknown(&planned.origin);
    let (path, expected) = match planned.code {
        Code::BuiltIn { name, .. } => {
            found.name = name.to_owned();
            return found;
        }
        Code::Library { path, expected } => (path, expected),
    };
    let looked =
        std::fs::read(&path).map_err(|error| format!("cannot read the library: {error}")).and_then(|bytes| {
            let sha256 = registry::hash_bytes(&bytes).sha256;
            let checked =
                object::inspect(&bytes).and_then(|seen| object::check(&seen, &mod_host::host_facts()));
            checked
                .map(|metadata| (sha256, metadata))
                .map_err(|refusal| format!("[{}] {refusal}", refusal.code()))
        });
    match looked {
        Ok((sha256, metadata)) => {
            let as_locked = expected.is_none_or(|expected| expected.sha256 == sha256);
            found.name = metadata.name;
            found.version = Some(metadata.version.to_string());
            found.interface = Some(version::show(metadata.interface));
            found.hash =
                Some(format!("sha256:{sha256}{}", if as_locked { "" } else { ", not the one of the lock" }));
            if !as_locked {
                found.state = ModState::Failed(
                    "[E_HASH_MISMATCH] changed since it was installed; `cmd mods update` restores it"
                        .to_owned(),
                );
            }
        }
        Err(reason) => found.state = ModState::Failed(reason),
    }
    found.path = Some(path);
    found
}

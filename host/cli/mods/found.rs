//! What is known of a mod without running it.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use futures::StreamExt;
use registry::{FileHash, HostFacts, Metadata, hash_bytes, object, version::show};
use serde::Serialize;

use super::UNTRUSTED;
use crate::{
    builtin, files,
    mod_host::{Code, Expected, LeftOut, LoadError, Lookup, Origin, Plan, Planned, ProjectMods, in_order},
    settings::{KnownMods, Loaded, Mods, Places, Trust},
};

/// A mod that a session would load, or would leave out.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Found {
    /// Its name, where its files tell.
    pub(super) name: Option<String>,
    #[serde(flatten)]
    pub(super) origin: Origin,
    pub(super) version: Option<String>,
    /// The interface version that it was built for.
    pub(super) interface: Option<String>,
    /// The hash of its library.
    pub(super) sha256: Option<String>,
    /// How that compares with what was installed.
    pub(super) hash: Option<HashState>,
    #[serde(flatten)]
    pub(super) state: State,
    /// Its library.
    pub(super) library: Option<PathBuf>,
    /// What it registered, by kind; empty until it was loaded.
    pub(super) registered: BTreeMap<String, Vec<String>>,
    /// What is odd about it, one line each.
    pub(super) warnings: Vec<String>,
}

/// How a library compares with what was installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum HashState {
    /// It is what the lock or the manifest says.
    Ok,
    /// Nothing says what it must be.
    Unlocked,
    /// It is something else.
    Differs,
}

/// Whether a session would load a mod.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", content = "reason", rename_all = "snake_case")]
pub(super) enum State {
    /// It would, as far as its files tell.
    Found,
    /// It would: it was loaded to see.
    Loaded,
    /// The settings turn it off.
    Disabled,
    /// The filter of its source leaves it out.
    Filtered,
    /// Another mod of its name comes before it.
    Shadowed(String),
    /// It is not what it was when the workspace was trusted.
    Untrusted,
    /// It cannot be loaded.
    Failed(String),
}

/// Finds every mod, in load order, and what stands in the way of the rest. Nothing is run; nothing of a
/// project that is not trusted is opened. The lines that come with it are for the user to know.
pub(super) async fn find(
    places: &Places,
    loaded: &Loaded,
    facts: &HostFacts,
) -> anyhow::Result<(Vec<Found>, Vec<String>)> {
    let trust = Trust::load(places)?;
    let project = ProjectMods::by(trust, &places.cwd);
    let trusted = places.project.is_some() && project != ProjectMods::None;
    let settings = loaded.merge(trusted);
    let lookup = Lookup { places, settings: &settings.mods, host: facts, session: &[], project: &project };
    let Plan { mods, left_out, problems, mut notices } = lookup.plan().with_built_ins(builtin::roots());
    if places.project.as_deref().is_some_and(Path::exists) && !trusted {
        notices.push(UNTRUSTED.to_owned());
    }
    let for_here = facts.clone();
    let all = mods.into_iter().map(|planned| (planned, None));
    let all = all.chain(left_out.into_iter().map(|(planned, why)| (planned, Some(why))));
    let look = move |(planned, why): (Planned, Option<LeftOut>)| {
        let found = look(planned, &for_here);
        match why {
            None => found,
            Some(why) => Found { state: why.into(), ..found },
        }
    };
    let mut found: Vec<_> = in_order(all.collect(), look).collect().await;
    judge(&mut found, &settings.mods);
    let others = found.iter().filter(|found| found.state == State::Disabled && !found.origin.is_project());
    let names = others.filter_map(|found| found.name.as_deref());
    notices.extend(names.filter_map(|name| settings.mods.turned_off_by_project(name)));
    let known = KnownMods::load(places)?;
    for found in found.iter_mut().filter(|found| found.hash == Some(HashState::Unlocked)) {
        if let (Some(library), Some(sha256)) = (&found.library, &found.sha256)
            && known.changed(library, sha256)
        {
            found.warnings.push("it changed since it was loaded last".to_owned());
        }
    }
    let problems = problems.into_iter();
    found.extend(problems.map(|(origin, error)| Found { state: failed(&error), ..unknown(origin) }));
    Ok((found, notices))
}

impl From<LeftOut> for State {
    fn from(why: LeftOut) -> Self {
        match why {
            LeftOut::Filtered => Self::Filtered,
            LeftOut::Untrusted => Self::Untrusted,
            LeftOut::Shadowed => Self::Shadowed("the project names the same package".to_owned()),
        }
    }
}

fn failed(error: &LoadError) -> State {
    State::Failed(format!("{error} [{}]", error.code()))
}

fn unknown(origin: Origin) -> Found {
    Found {
        name: None,
        origin,
        version: None,
        interface: None,
        sha256: None,
        hash: None,
        state: State::Found,
        library: None,
        registered: BTreeMap::new(),
        warnings: Vec::new(),
    }
}

/// What the files of a mod tell.
fn look(planned: Planned, facts: &HostFacts) -> Found {
    let found = unknown(planned.origin);
    let (path, expected) = match planned.code {
        Code::BuiltIn { name, root } => {
            let (version, interface) = (Some(root.version().to_string()), Some(show(facts.interface)));
            return Found { name: Some(name.to_owned()), version, interface, ..found };
        }
        Code::Library { path, expected } => (path, expected),
    };
    let loose = is_loose(&found.origin, &path);
    let looked = library(&path, facts);
    let found = Found {
        name: expected.as_ref().map(|expected| expected.name.clone()),
        version: expected.as_ref().map(|expected| expected.version.clone()),
        library: Some(path.clone()),
        ..found
    };
    match looked {
        Ok((metadata, FileHash { sha256, .. })) => {
            let (hash, state) = match expected.filter(|_| !loose) {
                None => (HashState::Unlocked, State::Found),
                Some(Expected { sha256: expected, .. }) if expected == sha256 => {
                    (HashState::Ok, State::Found)
                }
                Some(Expected { sha256: expected, .. }) => {
                    (HashState::Differs, failed(&LoadError::Hash { path, expected, got: sha256.clone() }))
                }
            };
            Found {
                name: Some(metadata.name),
                version: Some(metadata.version.to_string()),
                interface: Some(show(metadata.interface)),
                sha256: Some(sha256),
                hash: Some(hash),
                state,
                ..found
            }
        }
        Err(reason) => Found { state: State::Failed(reason), ..found },
    }
}

/// Whether nothing but the file itself says what it must be.
fn is_loose(origin: &Origin, library: &Path) -> bool {
    match origin {
        Origin::User { source } | Origin::Project { source } => Path::new(source) == library,
        Origin::BuiltIn | Origin::Session { .. } => false,
    }
}

/// Reads a library and checks it, as a load would before it runs any of it.
fn library(path: &Path, facts: &HostFacts) -> Result<(Metadata, FileHash), String> {
    let bytes = files::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let hash = hash_bytes(&bytes);
    let metadata = object::inspect(&bytes)
        .and_then(|inspection| object::check(&inspection, facts))
        .map_err(|refusal| format!("{refusal} [{}]", refusal.code()))?;
    Ok((metadata, hash))
}

/// Takes out the mods that are turned off, or not the first of their name.
fn judge(found: &mut [Found], settings: &Mods) {
    let mut first = BTreeMap::new();
    for found in found.iter_mut().filter(|found| found.state == State::Found) {
        let Some(name) = found.name.clone() else { continue };
        found.state = if settings.disabled_by(&name).is_some() {
            State::Disabled
        } else if let Some(origin) = first.get(&name) {
            State::Shadowed(format!("a mod of that name comes before it, from {origin}"))
        } else {
            first.insert(name, found.origin.to_string());
            State::Found
        };
    }
}

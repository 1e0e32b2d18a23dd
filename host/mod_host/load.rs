//! From a planned mod to a registered one: the load chain.
//!
//! In order: name, what is [checked](super::checked) without running anything, constructors, header, layout, identity,
//! factory. Nothing of the mod runs before the checks that come before its constructors have passed.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread,
};

use mod_interface::abi::{INTERFACE, ModRootRef, OwnFrame, TARGET};
use registry::HostFacts;
use tokio_util::sync::CancellationToken;

use super::{
    Code, Core, LoadError, LoadSteps, LoadedMod, Origin, Planned, abi_check,
    adapter::{PendingEntry, settle},
    checked::{Checked, check, shown},
    clock::Clock,
    frame::{ModFrame, Question},
    identity::ModIdentity,
    journal::place,
    library,
    steps::timed,
};
/// What this machine and this host are, for the static checks.
pub fn host_facts() -> HostFacts {
    HostFacts {
        interface: (INTERFACE.major, INTERFACE.minor),
        target: TARGET.to_owned(),
        glibc: library::glibc_version(),
    }
}

/// A mod that can be loaded now.
pub(super) struct Ready {
    pub(super) origin: Origin,
    code: ReadyCode,
}

enum ReadyCode {
    BuiltIn { name: &'static str, root: ModRootRef },
    Library(Result<Box<Checked>, LoadError>),
}

impl Ready {
    /// Does for a mod all that needs none of its code.
    pub(super) fn new(planned: Planned) -> Self {
        let code = match planned.code {
            Code::BuiltIn { name, root } => ReadyCode::BuiltIn { name, root },
            Code::Library { path, expected } => {
                ReadyCode::Library(check(&path, expected.as_ref()).map(Box::new))
            }
        };
        Self { origin: planned.origin, code }
    }
}

/// What came of a load that did not fail.
pub(super) enum Outcome {
    Loaded(Arc<ModIdentity>, LoadedMod, LoadSteps),
    /// The mod of that name is turned off.
    Disabled(String),
}

/// Loads a mod as number `index`. A failed one leaves nothing registered.
pub(super) async fn load(
    core: &Arc<Core>,
    ready: Ready,
    index: u16,
    disabled: &impl Fn(&str) -> bool,
) -> Result<Outcome, LoadError> {
    let origin = ready.origin;
    let (identity, version, sha256, steps) = match ready.code {
        ReadyCode::BuiltIn { name, root } => {
            let Some(identity) = identify(core, name, index, &origin, disabled)? else {
                return Ok(Outcome::Disabled(name.to_owned()));
            };
            let steps = run(core, &identity, move |core, identity, progress| {
                let mut steps = LoadSteps::default();
                timed(&mut steps.register, || register(core, identity, progress, root))?;
                Ok(steps)
            });
            let steps = steps.await?;
            (identity, root.version().to_string(), None, steps)
        }
        ReadyCode::Library(checked) => {
            let checked = *checked?;
            let Some(identity) = identify(core, &checked.name, index, &origin, disabled)? else {
                return Ok(Outcome::Disabled(checked.name));
            };
            let (version, sha256) = (checked.version.clone(), checked.sealed.sha256.clone());
            let steps = run(core, &identity, move |core, identity, progress| {
                let mut steps = checked.sealed.steps;
                let root = root_module(core, identity, checked, &mut steps)?;
                timed(&mut steps.register, || register(core, identity, progress, root))?;
                Ok(steps)
            });
            let steps = steps.await?;
            (identity, version, Some(sha256), steps)
        }
    };
    let loaded = LoadedMod { name: identity.name.to_string(), version, origin, sha256 };
    Ok(Outcome::Loaded(identity, loaded, steps))
}

/// Gives the mod its identity, if it is not disabled and the first of its name.
fn identify(
    core: &Core,
    name: &str,
    index: u16,
    origin: &Origin,
    disabled: &impl Fn(&str) -> bool,
) -> Result<Option<Arc<ModIdentity>>, LoadError> {
    if disabled(name) {
        return Ok(None);
    }
    core.take_name(name, origin).map_err(|first| match first {
        Origin::BuiltIn => LoadError::BuiltinName { name: name.to_owned() },
        first => LoadError::Duplicate { name: name.to_owned(), first: first.to_string() },
    })?;
    let identity = ModIdentity::new(index, name);
    // Before anything of it runs: a constructor may be where this process ends.
    core.journal.name(index, &identity.id);
    Ok(Some(Arc::new(identity)))
}

/// Runs the library's constructors, and proves that its root module is one.
fn root_module(
    core: &Core,
    identity: &ModIdentity,
    checked: Checked,
    steps: &mut LoadSteps,
) -> Result<ModRootRef, LoadError> {
    let Checked { sealed, name, version } = checked;
    let library = {
        let _inside = core.journal.enter(identity.index, place::LOAD);
        core.constructing.store(true, Relaxed);
        let loaded = timed(&mut steps.dlopen, || sealed.load());
        core.constructing.store(false, Relaxed);
        loaded?
    };
    let root = timed(&mut steps.layout, || abi_check::root_module(&library, &name));
    // Never unloaded, whatever came of it.
    std::mem::forget(library);
    let root = root?;
    let (got, expected) = (shown(&root.name(), &root.version()), shown(&name, &version));
    if got == expected { Ok(root) } else { Err(LoadError::TwoIdentities { got, expected }) }
}

/// How far the load of a mod is, for who waits for it.
#[derive(Clone, Default)]
struct Progress {
    in_factory: Arc<AtomicBool>,
    clock: Clock,
    given_up: CancellationToken,
}

/// Runs the factory to its end.
fn register(
    core: &Arc<Core>,
    identity: &Arc<ModIdentity>,
    progress: &Progress,
    root: ModRootRef,
) -> Result<(), LoadError> {
    progress.in_factory.store(true, Relaxed);
    let host = ModFrame::new(core, identity, Question::Factory).timed_by(progress.clock.clone());
    let frame = OwnFrame::new(host);
    let future = {
        let _inside = core.journal.enter(identity.index, place::FACTORY);
        root.register()(frame.frame().clone())
    };
    let pending = PendingEntry::new(future, Arc::clone(&core.journal), identity.index, place::FACTORY);
    // Its time is kept by who waits for it: the runtime, and with it its timers, may end before this thread.
    let answer = core.runtime.block_on(async {
        tokio::select! {
            biased;
            () = progress.given_up.cancelled() => None,
            answer = pending => Some(answer),
        }
    });
    let Some(answer) = answer else { return Err(stuck(core, identity, "factory")) };
    let settled = answer.and_then(|completed| settle(&completed).map(drop));
    settled.map_err(|fault| LoadError::Factory { error: fault.to_string() })
}

fn stuck(core: &Core, identity: &ModIdentity, place: &'static str) -> LoadError {
    LoadError::Stuck { name: identity.name.to_string(), place, limit: core.load_timeout }
}

/// Runs a load on a thread of its own: a constructor or a factory that never returns costs that thread,
/// not the start.
async fn run<F>(core: &Arc<Core>, identity: &Arc<ModIdentity>, load: F) -> Result<LoadSteps, LoadError>
where
    F: FnOnce(&Arc<Core>, &Arc<ModIdentity>, &Progress) -> Result<LoadSteps, LoadError> + Send + 'static,
{
    let (send, receive) = tokio::sync::oneshot::channel();
    let progress = Progress::default();
    let _nobody_waits = progress.given_up.clone().drop_guard();
    let (their_core, their_identity, told) = (Arc::clone(core), Arc::clone(identity), progress.clone());
    let spawned = thread::Builder::new().name(format!("load {}", identity.name)).spawn(move || {
        let result = load(&their_core, &their_identity, &told);
        // Nobody waits any more: the start gave this mod up.
        let _late = send.send(result);
    });
    let failed = |error: String| LoadError::Factory { error };
    spawned.map_err(|error| failed(format!("no thread to load it on: {error}")))?;
    let result = tokio::select! {
        biased;
        result = receive => {
            result.unwrap_or_else(|_| Err(failed("the loading thread ended without a word".to_owned())))
        }
        _ = progress.clock.over(Some(core.load_timeout)) => {
            let in_factory = progress.in_factory.load(Relaxed);
            Err(stuck(core, identity, if in_factory { "factory" } else { "constructor" }))
        }
    };
    if result.is_err() {
        core.close(identity);
    }
    result
}

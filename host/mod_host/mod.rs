//! From files to mods, and the host's side of everything that a mod can call.
//!
//! * [`plan`](Lookup) says which mods a session would load, in order, from files alone: `discovery` looks at
//!   folders and packages, `trust` at what of a project may run.
//! * `load` takes one of them through the load chain: `checked` (hash and static checks, several mods at once),
//!   `library` (the bytes that are hashed are the bytes that run), `abi_check` (the layout fits), identity, factory.
//! * `adapter` is the one way into a mod; `frame` and `services` are all that a mod can ask back.
//! * `listener` is told something synchronously: `observers` of events, and `channels` between mods.
//! * `screen` is what they show: entries, status texts, widgets.
//! * `registrations` keeps what mods registered, in registration order.
//! * `live` is what they ask of the session that goes on, and keeps it until there is one; `record` its record.
//! * `journal` and `watchdog` know which mod runs now; `timing` what the hooks took, where that was asked for.
//!
//! One bad mod never stops the others, and never leaves anything registered. No library is unloaded.

mod abi_check;
mod adapter;
mod alone;
mod bench;
mod built;
mod channels;
mod checked;
mod clock;
mod coarse;
mod commands;
mod core;
mod discovery;
mod emit;
mod error;
#[cfg(test)]
mod fixture;
mod flags;
mod frame;
mod hook_adapter;
mod identity;
mod journal;
mod library;
mod listener;
mod live;
mod load;
mod log;
mod observers;
mod options;
mod plan;
mod provider;
mod record;
mod registrations;
mod screen;
mod services;
mod slot;
mod steps;
mod timing;
mod tool;
mod trial;
mod trust;
mod watchdog;

use std::{
    path::{Path, PathBuf},
    pin::pin,
    sync::{Arc, Mutex, Once, PoisonError, atomic::Ordering::Relaxed},
};

use futures::StreamExt;
/// The root module of a mod that is compiled in, as `builtin_mod!` gives it.
pub use mod_interface::abi::ModRootRef as BuiltIn;
use mod_interface::types::{NoticeLevel, Placement};
use serde::Serialize;

pub use self::steps::LoadSteps;
pub use self::{
    bench::{BENCH_TIME, Bench, BenchConfig, Beside, Measured, Opened, Spread},
    commands::{CommandSpec, ModCommand},
    core::ModHostConfig,
    error::LoadError,
    live::Live,
    load::host_facts,
    plan::{Code, Expected, LeftOut, Lookup, Origin, Plan, Planned},
    record::SessionRecord,
    timing::HookTiming,
    trial::{Trial, trials},
    trust::{ProjectMods, project_hashes},
};
pub(crate) use self::{checked::in_order, options::nearest};
use self::{
    core::Core,
    identity::ModIdentity,
    load::{Outcome, Ready},
    observers::ObserverSink,
    registrations::What,
};
use crate::{
    events::Emitter,
    hooks::{Handlers, Mods},
};

/// What a mod is told that calls when there is nobody any more to answer.
const HARNESS_GONE: &str = "the harness of this mod is gone";

/// The mods of a harness. Dropping it undoes every registration.
pub struct ModHost {
    core: Arc<Core>,
    journal_dir: Option<PathBuf>,
    loaded: Mutex<Vec<(Arc<ModIdentity>, LoadedMod)>>,
    watched: Once,
}

/// A mod that was loaded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LoadedMod {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Where it came from.
    #[serde(flatten)]
    pub origin: Origin,
    /// The hash of its library; `None` when it is compiled in.
    pub sha256: Option<String>,
}

impl LoadedMod {
    /// Its library, when nothing but itself says what that must be: a loose file, or one of `--mod`.
    pub fn loose_file(&self) -> Option<&Path> {
        let path = match &self.origin {
            Origin::Session { path } => path,
            Origin::User { source } | Origin::Project { source } => Path::new(source),
            Origin::BuiltIn => return None,
        };
        let is_library =
            path.extension().is_some_and(|extension| extension == std::env::consts::DLL_EXTENSION);
        Some(path).filter(|path| {
            path.is_absolute() && (is_library || matches!(self.origin, Origin::Session { .. }))
        })
    }
}

/// A mod that was not loaded.
#[derive(Debug)]
pub struct LoadWarning {
    /// Where it came from.
    pub origin: Origin,
    /// Why.
    pub error: LoadError,
}

impl std::fmt::Display for LoadWarning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "mod not loaded [{}] from {}: {}", self.error.code(), self.origin, self.error)
    }
}

/// What came of loading a plan.
#[derive(Debug, Default)]
pub struct Loaded {
    /// The mods that are in, in load order.
    pub mods: Vec<LoadedMod>,
    /// Those that are turned off, by name, and where they come from.
    pub disabled: Vec<(String, Origin)>,
    /// The others.
    pub warnings: Vec<LoadWarning>,
    /// How long it took to load those that are in.
    pub steps: LoadSteps,
}

/// What a mod registered, by name.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Registered {
    /// Hooks, in slot order.
    pub hooks: Vec<&'static str>,
    /// Tools.
    pub tools: Vec<String>,
    /// Model providers.
    pub providers: Vec<String>,
    /// Commands.
    pub commands: Vec<String>,
    /// Events that it observes.
    pub events: Vec<&'static str>,
    /// Channels between mods that it listens to.
    pub channels: Vec<String>,
    /// Flags, to be set with `--mod-option`.
    pub flags: Vec<String>,
    /// Types of entries that it draws.
    pub renderers: Vec<String>,
}

impl ModHost {
    /// A host without mods. Must be called on a tokio runtime: the host's services run there.
    pub fn new(config: ModHostConfig) -> Self {
        let journal_dir = config.journal_dir.clone();
        let bus = config.bus.clone();
        let core = Arc::new(Core::new(config, tokio::runtime::Handle::current()));
        bus.add(Arc::new(ObserverSink(Arc::downgrade(&core))));
        Self { core, journal_dir, loaded: Mutex::default(), watched: Once::new() }
    }

    /// Says in a notice which mods earlier runs of this user ended in, if they ended in one.
    pub fn tell_last_places(&self) {
        let Some(dir) = &self.journal_dir else { return };
        for last in journal::sweep(dir) {
            let place = watchdog::name(last.place);
            let text = format!(
                "an earlier run ended inside {}, in {place}; `--no-mods` starts without mods",
                last.mod_id
            );
            self.core.bus.main().notice(NoticeLevel::Warning, text);
        }
    }

    /// Notes that the session ended well: the next start names nobody, also where a thread is still inside a mod.
    pub fn ended_well(&self) {
        self.core.journal.close();
    }

    /// Loads the mods of `plan`, one after the other, in order. The bytes of the next ones are read and checked
    /// meanwhile. Must be polled on a tokio runtime.
    ///
    /// # Errors
    /// A constructor that never returns: no library can be loaded after it in this process. Everything
    /// else is a warning.
    pub async fn load(&self, plan: Plan, disabled: impl Fn(&str) -> bool) -> Result<Loaded, LoadError> {
        let problems = plan.problems.into_iter();
        let mut warnings: Vec<_> = problems.map(|(origin, error)| LoadWarning { origin, error }).collect();
        let (mut mods, mut turned_off, mut steps) = (Vec::new(), Vec::new(), LoadSteps::default());
        // The name of a package's mod is known before its bytes are looked at: a disabled one costs nothing.
        let (off, planned): (Vec<_>, Vec<_>) =
            plan.mods.into_iter().partition(|planned| planned.name().is_some_and(&disabled));
        turned_off.extend(off.into_iter().filter_map(|it| Some((it.name()?.to_owned(), it.origin))));
        if !planned.is_empty() {
            self.watched.call_once(|| watchdog::start(&self.core));
        }
        let mut ready = pin!(in_order(planned, Ready::new));
        while let Some(ready) = ready.next().await {
            let origin = ready.origin.clone();
            match self.load_one(ready, &disabled).await {
                Ok(Outcome::Loaded(_, loaded, took)) => {
                    mods.push(loaded);
                    steps += took;
                }
                Ok(Outcome::Disabled(name)) => turned_off.push((name, origin)),
                Err(error @ LoadError::Stuck { place: "constructor", .. }) => return Err(error),
                Err(error) => warnings.push(LoadWarning { origin, error }),
            }
        }
        Ok(Loaded { mods, disabled: turned_off, warnings, steps })
    }

    /// Loads a mod, which nobody watches unless it is one of [`load`](Self::load).
    async fn load_one(&self, ready: Ready, disabled: &impl Fn(&str) -> bool) -> Result<Outcome, LoadError> {
        let outcome = load::load(&self.core, ready, self.core.next_index(), disabled).await?;
        if let Outcome::Loaded(identity, loaded, _) = &outcome {
            let mut all = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
            all.push((Arc::clone(identity), loaded.clone()));
        }
        Ok(outcome)
    }

    /// Binds the session: does what mods asked of it so far, in that order, and from now on at once.
    pub fn bind(&self, session: &Arc<dyn Live>) {
        self.core.bind(session);
    }

    /// The options that no mod has asked for yet.
    pub fn unasked_options(&self) -> Vec<String> {
        self.core.options().unasked()
    }

    /// The option that may be meant by `typed`, for which no mod has asked.
    pub fn meant_option(&self, typed: &str) -> Option<String> {
        self.core.options().meant(typed)
    }

    /// What is wrong with the values of options, by the flags that mods have declared.
    pub fn option_faults(&self) -> Vec<String> {
        self.core.options().faults()
    }

    /// Raises events of the main agent.
    pub fn events(&self) -> Emitter {
        self.core.bus.main()
    }

    /// The status texts of the mods, in load order; [`Ui::repaint`](crate::ui::Ui::repaint) says when they change.
    pub fn status_line(&self) -> Vec<String> {
        self.core.registrations().statuses()
    }

    /// The lines of the widgets that stand there, in load order, drawn now. This runs code of mods: not for inside of
    /// [`Ui::repaint`](crate::ui::Ui::repaint).
    pub fn widgets(&self, placement: Placement) -> Vec<String> {
        self.core.widget_lines(placement)
    }

    /// The slash commands, in registration order.
    pub fn commands(&self) -> Vec<Arc<ModCommand>> {
        self.core.commands()
    }

    /// The mods that are loaded, with what they have registered now.
    pub fn mods(&self) -> Vec<(LoadedMod, Registered)> {
        let loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner).clone();
        loaded.into_iter().map(|(identity, loaded)| (loaded, self.registered(&identity))).collect()
    }

    /// What the hooks of each mod took so far, in load order; nothing unless
    /// [`ModHostConfig::time_hooks`] is set.
    pub fn hook_timings(&self) -> Vec<HookTiming> {
        self.core.timings.as_ref().map(|timings| timings.rows()).unwrap_or_default()
    }

    fn registered(&self, owner: &ModIdentity) -> Registered {
        let mut all = Registered::default();
        self.core.registrations_of(owner, |what| match what {
            What::Hooks(handler) => all.hooks.extend(handler.hooks().iter().map(|hook| hook.wire_name())),
            What::Observer(observer) => all.events.push(observer.kind().as_str()),
            What::Channel(channel) => all.channels.push(channel.name().to_string()),
            What::Command(command) => all.commands.push(command.spec().name.clone()),
            What::Provider(provider) => all.providers.push(provider.id().to_owned()),
            What::Tool(tool) => all.tools.push(tool.spec().name.clone()),
            What::Flag(flag) => all.flags.push(flag.name.clone()),
            What::Renderer(of, _) => all.renderers.push(of.to_string()),
            What::ActiveTools(_) | What::Widget(..) | What::Status(_) => {}
        });
        all
    }
}

impl Mods for ModHost {
    fn handlers(&self) -> Arc<Handlers> {
        self.core.handlers()
    }

    fn report_repeated_faults(&self, emitter: &Emitter) {
        self.core.listener_faults.report_repeats(emitter);
    }
}

impl Drop for ModHost {
    fn drop(&mut self) {
        // A constructor that does not return holds the system's loader, whether the start gave it up or was
        // interrupted: code of a mod that is dropped could wait for that, for ever.
        if !self.core.constructing.load(Relaxed) {
            self.core.clear();
            self.ended_well();
        }
    }
}

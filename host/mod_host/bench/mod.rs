//! What the hooks of one library take, beside hooks that do nothing. Meant for a child process: whatever the
//! library does, it does there.

mod spread;
mod synthetic;

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use mod_interface::types::Hook;
use serde::{Deserialize, Serialize};

use super::{
    BuiltIn, Code, LoadError, LoadedMod, ModHost, ModHostConfig, Origin, Plan, Planned, host_facts, plan,
};
use crate::hooks::{HookAnswer, HookFault, HookHandler, HookInput, Mods};

pub use spread::Spread;

/// How long one hook is measured at most.
pub const BENCH_TIME: Duration = Duration::from_secs(10);

/// For how many calls there is room from the beginning.
const ROOM: u32 = 1 << 16;

/// What is to be measured, and how.
pub struct BenchConfig {
    /// A library, a mod's folder or a cargo package that was built.
    pub path: PathBuf,
    /// Where cargo puts what it builds, when that is not beside the source.
    pub cargo_target: Option<PathBuf>,
    /// The workspace root.
    pub cwd: PathBuf,
    /// A mod whose hooks do nothing, at once.
    pub empty: BuiltIn,
    /// A mod whose hooks do nothing, and are pending once.
    pub empty_pending: BuiltIn,
    /// Values of the mod's flags.
    pub options: BTreeMap<String, String>,
    /// How much time the mod has to load.
    pub load_timeout: Duration,
    /// How much of its own time a hook has.
    pub hook_timeout: Option<Duration>,
    /// How many messages the conversation has.
    pub messages: usize,
    /// How often a hook is called.
    pub iterations: u32,
}

/// A mod that was loaded to be measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Opened {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The bytes of its library.
    pub size: u64,
    /// How long it took to load, from reading it to the end of its factory.
    pub load_ns: u64,
    /// Its hooks.
    pub hooks: Vec<String>,
}

/// What a hook took.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Measured {
    /// How often it was called.
    pub calls: u32,
    /// How often it failed.
    pub faults: u32,
    /// How it failed first.
    pub fault: Option<String>,
    /// The calls whose answer was there at once.
    pub ready: Option<Beside>,
    /// The calls whose answer was not.
    pub pending: Option<Beside>,
    /// How long it takes to read the clock: it is taken off all others.
    pub clock_ns: u64,
}

/// Calls of a hook that were answered alike, beside those of one that does nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Beside {
    /// How many.
    pub calls: u32,
    /// The time from the call to the answer, whatever the mod waits for.
    pub took: Spread,
    /// The same of the hook that does nothing, and is pending once where these were pending.
    pub empty: Spread,
}

impl Beside {
    /// Of the times of calls and of those beside them, less `clock_ns`; nothing of none.
    fn of((took, empty): (Vec<u64>, Vec<u64>), clock_ns: u64) -> Option<Self> {
        let calls = u32::try_from(took.len()).unwrap_or(u32::MAX);
        let spread = |times| Spread::of(times, clock_ns);
        (calls > 0).then(|| Self { calls, took: spread(took), empty: spread(empty) })
    }
}

/// A mod, and those whose hooks do nothing.
pub struct Bench {
    config: BenchConfig,
    host: ModHost,
    empty: ModHost,
    empty_pending: ModHost,
    opened: Opened,
}

impl Bench {
    /// Loads the mod, as `--mod` would.
    ///
    /// # Errors
    /// Why it does not load.
    pub async fn open(config: BenchConfig) -> Result<Self, LoadError> {
        let (facts, origin) = (host_facts(), Origin::Session { path: config.path.clone() });
        let began = Instant::now();
        let code = plan::named(&config.path, config.cargo_target.as_deref(), &facts)?;
        let size = match &code {
            Code::Library { path, .. } => std::fs::metadata(path).map_or(0, |metadata| metadata.len()),
            Code::BuiltIn { .. } => 0,
        };
        let (host, loaded) = load(&config, Planned { origin, code }).await?;
        let load_ns = nanos(began.elapsed());
        let built_in = |name, root| Planned { origin: Origin::BuiltIn, code: Code::BuiltIn { name, root } };
        let (empty, _) = load(&config, built_in("empty", config.empty)).await?;
        let (empty_pending, _) = load(&config, built_in("empty-pending", config.empty_pending)).await?;
        let handlers = host.handlers();
        let hooks = Hook::ALL.into_iter().filter(|hook| !handlers.of(*hook).is_empty());
        let hooks = hooks.map(|hook| hook.wire_name().to_owned()).collect();
        let opened = Opened { name: loaded.name, version: loaded.version, size, load_ns, hooks };
        Ok(Self { config, host, empty, empty_pending, opened })
    }

    /// What was loaded.
    pub fn opened(&self) -> &Opened {
        &self.opened
    }

    /// Calls `hook` and one that does nothing, in turn, until all is done, the time is up, or a call took
    /// longer than it may. `calls` is 0 until the first begins, and grows with
    /// each that comes back.
    pub async fn measure(&self, hook: Hook, calls: &AtomicU64) -> Measured {
        let [handlers, at_once, later] =
            [&self.host, &self.empty, &self.empty_pending].map(|host| host.handlers());
        let input =
            |host: &ModHost| Arc::new(synthetic::input(hook, self.config.messages, host, &self.config.cwd));
        let (input, at_once_input, later_input) =
            (input(&self.host), input(&self.empty), input(&self.empty_pending));
        // Room for all: that a list grows is no allocation of a call.
        let times = || {
            let room = || Vec::with_capacity(self.config.iterations.min(ROOM) as usize);
            (room(), room())
        };
        let (mut ready, mut pending) = (times(), times());
        calls.store(1, Relaxed);
        let (mut called, mut faults, mut first) = (0, 0, None);
        let began = Instant::now();
        while called < self.config.iterations {
            let asked = ask(handlers.of(hook), &input).await;
            let (times, nothing, same) = match asked.pending {
                false => (&mut ready, at_once.of(hook), &at_once_input),
                true => (&mut pending, later.of(hook), &later_input),
            };
            let beside = ask(nothing, same).await;
            calls.fetch_add(1, Relaxed);
            called += 1;
            times.0.push(nanos(asked.took));
            times.1.push(nanos(beside.took));
            faults += u32::from(asked.fault.is_some());
            let timed_out = matches!(asked.fault, Some(HookFault::Timeout(_)));
            first = first.or(asked.fault);
            if timed_out || began.elapsed() > BENCH_TIME {
                break;
            }
        }
        let clock_ns = spread::clock();
        Measured {
            calls: called,
            faults,
            fault: first.map(|fault| fault.to_string()),
            ready: Beside::of(ready, clock_ns),
            pending: Beside::of(pending, clock_ns),
            clock_ns,
        }
    }
}

async fn load(config: &BenchConfig, planned: Planned) -> Result<(ModHost, LoadedMod), LoadError> {
    let host = ModHost::new(ModHostConfig {
        options: config.options.clone(),
        hook_timeout: config.hook_timeout,
        ..ModHostConfig::alone(&*config.cwd, config.load_timeout)
    });
    let mut loaded = host.load(Plan { mods: vec![planned], ..Plan::default() }, |_| false).await?;
    match loaded.warnings.pop() {
        Some(warning) => Err(warning.error),
        None => Ok((host, loaded.mods.remove(0))),
    }
}

/// One call.
struct Asked {
    took: Duration,
    pending: bool,
    fault: Option<HookFault>,
}

/// Asks the handlers of a hook, one after the other, as a run does.
async fn ask(handlers: &[Arc<dyn HookHandler>], input: &Arc<HookInput>) -> Asked {
    let (mut pending, mut fault) = (false, None);
    let mut shown = Some(Arc::clone(input));
    let began = Instant::now();
    for handler in handlers {
        let (answer, back) = handler.call(shown.take().unwrap_or_else(|| Arc::clone(input)));
        shown = back;
        let result = match answer {
            HookAnswer::Ready(result) => result,
            HookAnswer::Pending(answer) => {
                pending = true;
                answer.await
            }
        };
        fault = fault.or(result.err());
    }
    Asked { took: began.elapsed(), pending, fault }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

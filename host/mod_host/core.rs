//! What all mods of a harness share on the host's side.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU16, Ordering::Relaxed},
    },
    time::Duration,
};

use mod_interface::types::Hook;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use super::{
    Origin,
    channels::Channel,
    commands::ModCommand,
    identity::ModIdentity,
    journal::Journal,
    listener::ListenerFaults,
    live::Orders,
    log::Log,
    observers::Observer,
    options::Options,
    provider::ModProvider,
    registrations::{Channels, Observers, Refusal, Registrations, What},
    timing::Timings,
    tool::ModTool,
};
use crate::{
    events::EventBus,
    hooks::{Handlers, HookHandler},
    providers::{Provider, Providers},
    tools::{Tool, ToolSet},
    ui::{Headless, Ui},
};

/// The number of a registration that was refused: disposing it does nothing.
pub(super) const INERT: u64 = 0;

/// Hooks that finish work get more time.
const LONG_LIMIT: Duration = Duration::from_secs(60);

/// What a [`super::ModHost`] is given.
pub struct ModHostConfig {
    /// Where events go, and where observers hear them.
    pub bus: EventBus,
    /// The person at the keyboard.
    pub ui: Arc<dyn Ui>,
    /// The tools of the harness; mods add theirs.
    pub tools: Arc<ToolSet>,
    /// The models of the harness; mods add theirs.
    pub providers: Providers,
    /// The workspace root.
    pub cwd: Arc<Path>,
    /// The values of `--mod-option`.
    pub options: BTreeMap<String, String>,
    /// How much of its own time a hook has; `None` is as much as it takes.
    pub hook_timeout: Option<Duration>,
    /// How much of its own time a tool has; `None` is as much as it takes.
    pub tool_timeout: Option<Duration>,
    /// How much time a mod has to load: its constructors and its factory together.
    pub load_timeout: Duration,
    /// Where the journal is kept; `None` keeps it in memory.
    pub journal_dir: Option<PathBuf>,
    /// Where the lines go that mods log; `None` drops them.
    pub log_file: Option<PathBuf>,
    /// Whether [`super::ModHost::hook_timings`] knows something.
    pub time_hooks: bool,
}

impl ModHostConfig {
    /// A host in `cwd` without tools, files, options and limits but the one for loading, and with nobody to
    /// ask.
    pub fn alone(cwd: impl Into<Arc<Path>>, load_timeout: Duration) -> Self {
        Self {
            bus: EventBus::new(),
            ui: Arc::new(Headless),
            tools: Arc::default(),
            providers: Providers::new(),
            cwd: cwd.into(),
            options: BTreeMap::new(),
            hook_timeout: None,
            tool_timeout: None,
            load_timeout,
            journal_dir: None,
            log_file: None,
            time_hooks: false,
        }
    }
}

pub(crate) struct Core {
    pub(crate) bus: EventBus,
    pub(crate) ui: Arc<dyn Ui>,
    pub(crate) cwd: Arc<Path>,
    pub(crate) cwd_text: Arc<str>,
    pub(crate) journal: Arc<Journal>,
    pub(crate) runtime: Handle,
    pub(crate) shutdown: CancellationToken,
    pub(crate) load_timeout: Duration,
    pub(crate) tool_timeout: Option<Duration>,
    pub(crate) listener_faults: Arc<ListenerFaults>,
    /// Whether the constructors of a library are running.
    pub(crate) constructing: AtomicBool,
    pub(crate) timings: Option<Arc<Timings>>,
    pub(super) orders: Orders,
    /// Held while what mods allow of the tools is put together: the last to do so knows all of it.
    restricting: Mutex<()>,
    /// Held by the dialog that is on the screen.
    pub(super) dialogs: Arc<tokio::sync::Mutex<()>>,
    registrations: Registrations,
    tools: Arc<ToolSet>,
    providers: Providers,
    options: Options,
    hook_timeout: Option<Duration>,
    log: Log,
    names: Mutex<BTreeMap<String, Origin>>,
    last_index: AtomicU16,
}

impl Core {
    pub(crate) fn new(config: ModHostConfig, runtime: Handle) -> Self {
        let journal = config.journal_dir.map_or_else(Journal::in_memory, |dir| Journal::create(&dir));
        Self {
            bus: config.bus,
            ui: config.ui,
            cwd_text: config.cwd.to_string_lossy().into(),
            cwd: config.cwd,
            journal: Arc::new(journal),
            runtime,
            shutdown: CancellationToken::new(),
            load_timeout: config.load_timeout,
            tool_timeout: config.tool_timeout,
            listener_faults: Arc::default(),
            constructing: AtomicBool::new(false),
            timings: config.time_hooks.then(Arc::default),
            orders: Orders::default(),
            restricting: Mutex::default(),
            dialogs: Arc::default(),
            registrations: Registrations::default(),
            tools: config.tools,
            providers: config.providers,
            options: Options::new(config.options),
            hook_timeout: config.hook_timeout,
            log: Log::new(config.log_file),
            names: Mutex::default(),
            last_index: AtomicU16::new(0),
        }
    }

    /// The number of the next mod, in load order.
    pub(crate) fn next_index(&self) -> u16 {
        self.last_index.fetch_add(1, Relaxed)
    }

    /// How much of its own time `hook` has.
    pub(crate) fn limit(&self, hook: Hook) -> Option<Duration> {
        match hook {
            Hook::OnRunEnd | Hook::OnSessionEnd => self.hook_timeout.map(|limit| limit.max(LONG_LIMIT)),
            _ => self.hook_timeout,
        }
    }

    /// The values of `--mod-option`.
    pub(super) fn options(&self) -> &Options {
        &self.options
    }

    pub(crate) fn log(&self, owner: &ModIdentity, level: &str, message: &str) {
        self.log.line(&owner.id, level, message);
    }

    /// Gives a name to its first taker.
    ///
    /// # Errors
    /// Where the first of that name came from.
    pub(crate) fn take_name(&self, name: &str, origin: &Origin) -> Result<(), Origin> {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        match names.get(name) {
            Some(first) => Err(first.clone()),
            None => {
                names.insert(name.to_owned(), origin.clone());
                Ok(())
            }
        }
    }

    pub(crate) fn add_hooks(
        &self,
        owner: &Arc<ModIdentity>,
        handler: Arc<dyn HookHandler>,
    ) -> Result<u64, String> {
        let handler = match &self.timings {
            Some(timings) => timings.watch(owner, handler),
            None => handler,
        };
        self.register(owner, What::Hooks(handler))
    }

    pub(crate) fn add_observer(&self, owner: &Arc<ModIdentity>, observer: Observer) -> Result<u64, String> {
        self.register(owner, What::Observer(Arc::new(observer)))
    }

    pub(crate) fn add_channel(&self, owner: &Arc<ModIdentity>, channel: Channel) -> Result<u64, String> {
        self.register(owner, What::Channel(Arc::new(channel)))
    }

    /// Adds a command. One that cannot be added is told, and the mod goes on without it.
    pub(crate) fn add_command(&self, owner: &Arc<ModIdentity>, command: ModCommand) -> Result<u64, String> {
        let name = command.spec().name.clone();
        let place = format!("command:{name}");
        if let Err(refused) = command.spec().check() {
            return Ok(self.refuse(owner, &place, &refused));
        }
        self.register_named(owner, &place, &name, What::Command(Arc::new(command)))
    }

    /// Adds a provider. One that cannot be added is told, and the mod goes on without it.
    pub(crate) fn add_provider(
        &self,
        owner: &Arc<ModIdentity>,
        provider: ModProvider,
    ) -> Result<u64, String> {
        let place = format!("provider:{}", provider.id());
        if let Err(refused) = provider.check() {
            return Ok(self.refuse(owner, &place, &refused));
        }
        let provider: Arc<dyn Provider> = Arc::new(provider);
        if let Err(refused) = self.providers.add(Arc::clone(&provider)) {
            return Ok(self.refuse(owner, &place, &refused.to_string()));
        }
        let added = self.register(owner, What::Provider(Arc::clone(&provider)));
        if added.is_err() {
            self.providers.remove(&provider);
        }
        added
    }

    /// Adds a tool. One that cannot be added is told, and the mod goes on without it.
    pub(crate) fn add_tool(&self, owner: &Arc<ModIdentity>, tool: ModTool) -> Result<u64, String> {
        let place = format!("tool:{}", tool.spec().name);
        let tool: Arc<dyn Tool> = Arc::new(tool);
        if let Err(refused) = self.tools.add(Arc::clone(&tool), Arc::clone(&owner.id)) {
            return Ok(self.refuse(owner, &place, &refused.to_string()));
        }
        let added = self.register(owner, What::Tool(Arc::clone(&tool)));
        if added.is_err() {
            self.tools.remove(&tool);
        }
        added
    }

    /// Leaves those tools in force that this mod names, and every other mod too that named some.
    pub(crate) fn set_active_tools(
        &self,
        owner: &Arc<ModIdentity>,
        names: BTreeSet<String>,
    ) -> Result<u64, String> {
        let allowed = What::ActiveTools(Arc::new(names));
        let (id, _before) =
            self.registrations.replace(owner, allowed).map_err(|refusal| refusal.to_string())?;
        self.restrict_tools();
        Ok(id)
    }

    fn restrict_tools(&self) {
        let _one_at_a_time = self.restricting.lock().unwrap_or_else(PoisonError::into_inner);
        self.tools.restrict(self.registrations.active_tools());
    }

    /// The names of all tools, or of those in force.
    pub(crate) fn tool_names(&self, all: bool) -> Vec<String> {
        let tools = if all { self.tools.snapshot() } else { self.tools.split().active };
        tools.iter().map(|entry| entry.tool.spec().name.clone()).collect()
    }

    pub(super) fn register(&self, owner: &Arc<ModIdentity>, what: What) -> Result<u64, String> {
        self.registrations.add(owner, what).map_err(|refusal| refusal.to_string())
    }

    /// Registers what has a name. Where that is taken it is told, and the mod goes on without it.
    pub(super) fn register_named(
        &self,
        owner: &Arc<ModIdentity>,
        place: &str,
        name: &str,
        what: What,
    ) -> Result<u64, String> {
        match self.registrations.add(owner, what) {
            Err(taken @ Refusal::Taken(_)) => Ok(self.refuse(owner, place, &format!("{taken}: {name}"))),
            added => added.map_err(|refusal| refusal.to_string()),
        }
    }

    pub(super) fn refuse(&self, owner: &ModIdentity, place: &str, reason: &str) -> u64 {
        self.bus.main().mod_error(&owner.id, place, reason);
        INERT
    }

    pub(crate) fn dispose(&self, owner: &ModIdentity, id: u64) {
        self.undo(self.registrations.dispose(owner, id));
    }

    /// Undoes all that `owner` registered, and takes no more of it.
    pub(crate) fn close(&self, owner: &ModIdentity) {
        self.undo(self.registrations.close(owner));
    }

    pub(crate) fn clear(&self) {
        self.shutdown.cancel();
        self.orders.unbind();
        self.undo(self.registrations.clear());
    }

    fn undo(&self, removed: Vec<What>) {
        for what in &removed {
            match what {
                What::Tool(tool) => drop(self.tools.remove(tool)),
                What::Provider(provider) => self.providers.remove(provider),
                _ => {}
            }
        }
        let has = |which: fn(&What) -> bool| removed.iter().any(which);
        if has(|what| matches!(what, What::ActiveTools(_))) {
            self.restrict_tools();
        }
        if has(|what| matches!(what, What::Widget(..) | What::Status(_))) {
            self.ui.repaint();
        }
    }

    pub(super) fn registrations(&self) -> &Registrations {
        &self.registrations
    }

    pub(crate) fn handlers(&self) -> Arc<Handlers> {
        self.registrations.handlers()
    }

    pub(crate) fn observers(&self) -> Arc<Observers> {
        self.registrations.observers()
    }

    pub(crate) fn channels(&self) -> Arc<Channels> {
        self.registrations.channels()
    }

    pub(crate) fn commands(&self) -> Vec<Arc<ModCommand>> {
        self.registrations.commands()
    }

    pub(crate) fn registrations_of(&self, owner: &ModIdentity, look: impl FnMut(&What)) {
        self.registrations.of(owner, look);
    }
}

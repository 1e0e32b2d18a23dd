//! A mod host by itself, without an agent: for what mods do when they are loaded and asked.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};

use host::{
    events::EventBus,
    hooks::{HookRunner, Scope},
    mod_host::{Code, Loaded, ModHost, ModHostConfig, Origin, Plan, Planned},
    providers::Providers,
    tools::ToolSet,
};
use mod_interface::{
    abi::ModRootRef,
    types::{AgentEvent, AgentState, CommandOutcome, EventPayload},
};
use tokio_util::sync::CancellationToken;

/// A mod host that records what is told.
pub(crate) struct Host {
    pub(crate) mods: Arc<ModHost>,
    pub(crate) bus: EventBus,
    pub(crate) tools: Arc<ToolSet>,
    pub(crate) providers: Providers,
    pub(crate) cancel: CancellationToken,
    events: Arc<Mutex<Vec<AgentEvent>>>,
}

impl Host {
    pub(crate) fn new() -> Self {
        Self::with(|_| ())
    }

    /// A host whose configuration is changed.
    pub(crate) fn with(change: impl FnOnce(&mut ModHostConfig)) -> Self {
        let (bus, tools, events) =
            (EventBus::new(), Arc::<ToolSet>::default(), Arc::<Mutex<Vec<_>>>::default());
        let (kept, providers) = (Arc::clone(&events), Providers::new());
        bus.add(Arc::new(move |event: &AgentEvent| kept.lock().unwrap().push(event.clone())));
        let mut config = ModHostConfig {
            bus: bus.clone(),
            tools: Arc::clone(&tools),
            providers: providers.clone(),
            ..ModHostConfig::alone(Path::new("/"), Duration::from_secs(30))
        };
        change(&mut config);
        let mods = Arc::new(ModHost::new(config));
        Self { mods, bus, tools, providers, cancel: CancellationToken::new(), events }
    }

    /// Loads these, in order; what did not load is a line each.
    pub(crate) async fn load(&self, codes: impl IntoIterator<Item = Code>) -> (Vec<String>, Vec<String>) {
        let loaded = self.load_planned(codes.into_iter().map(planned)).await;
        let names = loaded.mods.into_iter().map(|loaded| loaded.name).collect();
        (names, loaded.warnings.into_iter().map(|warning| warning.error.to_string()).collect())
    }

    pub(crate) async fn load_planned(&self, mods: impl IntoIterator<Item = Planned>) -> Loaded {
        let plan = Plan { mods: mods.into_iter().collect(), ..Plan::default() };
        self.mods.load(plan, |_| false).await.unwrap()
    }

    /// Runs the command of that name.
    pub(crate) async fn run(&self, name: &str) -> Option<CommandOutcome> {
        let command = self.mods.commands().into_iter().find(|command| command.spec().name == name);
        command.unwrap_or_else(|| panic!("no such command: {name}")).run("").await
    }

    /// What the command of that name says.
    pub(crate) async fn says(&self, name: &str) -> String {
        match self.run(name).await {
            Some(CommandOutcome::Message(text)) => text,
            other => panic!("{name} says: {other:?}"),
        }
    }

    /// Asks the mods on behalf of a run.
    pub(crate) fn runner(&self) -> HookRunner {
        let (emitter, cancel) = (self.bus.main(), self.cancel.clone());
        HookRunner::new(Arc::new(Scope::new(emitter, cancel, Path::new("/"))))
    }

    /// The events so far, from the first one that was not taken yet.
    pub(crate) fn take_events(&self) -> Vec<EventPayload> {
        let events = std::mem::take(&mut *self.events.lock().unwrap());
        events.into_iter().map(|event| event.payload).collect()
    }

    /// What was told of faults since the events were last taken: mod, place, error.
    pub(crate) fn take_errors(&self) -> Vec<[String; 3]> {
        let errors = self.take_events().into_iter().filter_map(|event| match event {
            EventPayload::ModError { mod_id, hook, error } => Some([mod_id, hook, error]),
            _ => None,
        });
        errors.collect()
    }
}

fn planned(code: Code) -> Planned {
    Planned { origin: Origin::Session { path: PathBuf::from("here") }, code }
}

/// A library that is what it says it is.
pub(crate) fn loose(path: impl Into<PathBuf>) -> Code {
    Code::Library { path: path.into(), expected: None }
}

/// A mod that is compiled into the test, by `builtin_mod!`.
pub(crate) fn compiled_in(name: &'static str, root: ModRootRef) -> Code {
    Code::BuiltIn { name, root }
}

/// A state to ask about.
pub(crate) fn state() -> AgentState {
    AgentState::new("session")
}

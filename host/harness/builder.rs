use std::{
    collections::{BTreeMap, BTreeSet},
    num::{NonZeroU32, NonZeroU64},
    path::PathBuf,
    sync::Arc,
};

use mod_interface::types::{NoticeLevel, PermissionMode};
use tokio_util::sync::CancellationToken;

use super::{
    Error, Harness,
    access::{ModelAccess, is_known, note_turned_off},
    agent_tool::AgentTool,
    live::LiveSession,
    loaded,
    model::Models,
    prompt::system_prompt,
    recording::Recording,
    rules,
    store::{Recorded, Store},
    toolbox::Tools,
};
use crate::{
    agent::{
        Agent, AgentConfig, Ask, Compaction, LiveMode, MessageQueue, ModelChoice, NobodyToAsk, Permissions,
        Rule, Subagents, ToolExecution, Workspace,
    },
    builtin,
    events::{EventBus, EventSink},
    mod_host::{
        BuiltIn, LeftOut, Live, Lookup, ModHost, ModHostConfig, Plan, Planned, ProjectMods, host_facts,
    },
    providers::{Provider, Providers, scripted::Scripted},
    settings::{self, Places, Settings},
    tools::{self, Tool, ToolSet},
    ui::{Headless, Ui},
};

/// What is said of a project's mod that does not run.
const UNTRUSTED: &str = "a mod of the project is new, or not what it was when the workspace was trusted; look at it, then \
                         run cmd mods trust";

/// Who made a tool that no mod made.
const OWN_TOOLS: &str = "cmd";

/// Puts a [`Harness`] together.
#[derive(Default)]
pub struct HarnessBuilder {
    places: Option<Places>,
    settings: Settings,
    model: Option<String>,
    access: ModelAccess,
    mods: Vec<PathBuf>,
    built_ins: Vec<(&'static str, BuiltIn)>,
    options: BTreeMap<String, String>,
    no_mods: bool,
    project_mods: ProjectMods,
    mode: Option<PermissionMode>,
    allow: Vec<String>,
    deny: Vec<String>,
    max_turns: Option<NonZeroU32>,
    record: Recording,
    time_hooks: bool,
    sinks: Vec<Arc<dyn EventSink>>,
    tools: Vec<Arc<dyn Tool>>,
    providers: Vec<Arc<dyn Provider>>,
    ui: Option<Arc<dyn Ui>>,
    ask: Option<Arc<dyn Ask>>,
    cancel: CancellationToken,
}

impl HarnessBuilder {
    /// The folders of user, project and workspace. Must be given.
    #[must_use]
    pub fn places(mut self, places: Places) -> Self {
        self.places = Some(places);
        self
    }

    /// The settings that hold.
    #[must_use]
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// The model, `provider/id`, in place of the settings'.
    #[must_use]
    pub fn model(mut self, model: Option<String>) -> Self {
        self.model = model;
        self
    }

    /// How the models outside are reached.
    #[must_use]
    pub fn model_access(mut self, access: ModelAccess) -> Self {
        self.access = access;
        self
    }

    /// Mods to load ahead of the installed ones: libraries, mod directories, built packages.
    #[must_use]
    pub fn mods(mut self, paths: impl IntoIterator<Item = PathBuf>) -> Self {
        self.mods.extend(paths);
        self
    }

    /// Loads a mod that is compiled in, behind the first-party ones and ahead of all others:
    /// `built_in("name", builtin_mod!("name", factory))`. It takes its name like any mod, and can be
    /// disabled by it.
    #[must_use]
    pub fn built_in(mut self, name: &'static str, built_in: BuiltIn) -> Self {
        self.built_ins.push((name, built_in));
        self
    }

    /// Values of mods' flags.
    #[must_use]
    pub fn mod_options(mut self, options: impl IntoIterator<Item = (String, String)>) -> Self {
        self.options.extend(options);
        self
    }

    /// Loads no mods but the built-in ones.
    #[must_use]
    pub fn no_mods(mut self, no_mods: bool) -> Self {
        self.no_mods = no_mods;
        self
    }

    /// Loads these of the project's mods too: none, unless this is given. They are arbitrary code.
    #[must_use]
    pub fn project_mods(mut self, which: ProjectMods) -> Self {
        self.project_mods = which;
        self
    }

    /// The permission mode, in place of the settings'.
    #[must_use]
    pub fn permission_mode(mut self, mode: Option<PermissionMode>) -> Self {
        self.mode = mode;
        self
    }

    /// Permission rules beside those of the settings.
    #[must_use]
    pub fn rules(mut self, allow: Vec<String>, deny: Vec<String>) -> Self {
        self.allow = allow;
        self.deny = deny;
        self
    }

    /// After how many turns a run ends, in place of the settings'.
    #[must_use]
    pub fn max_turns(mut self, max_turns: Option<NonZeroU32>) -> Self {
        self.max_turns = max_turns;
        self
    }

    /// Times the hooks of mods, for [`ModHost::hook_timings`].
    #[must_use]
    pub fn time_hooks(mut self, time_hooks: bool) -> Self {
        self.time_hooks = time_hooks;
        self
    }

    /// Where the session is recorded: in a new file, when not given.
    #[must_use]
    pub fn record(mut self, record: Recording) -> Self {
        self.record = record;
        self
    }

    /// Tells `sink` every event, from the first one on.
    #[must_use]
    pub fn sink(mut self, sink: Arc<dyn EventSink>) -> Self {
        self.sinks.push(sink);
        self
    }

    /// Adds a tool behind the built-in ones.
    #[must_use]
    pub fn tool(mut self, tool: Arc<dyn Tool>) -> Self {
        self.tools.push(tool);
        self
    }

    /// Adds a provider ahead of those of mods, the built-in ones too: a mod whose provider has the same id says that
    /// it cannot add it, unless `mods.disabled` names the mod.
    #[must_use]
    pub fn provider(mut self, provider: Arc<dyn Provider>) -> Self {
        self.providers.push(provider);
        self
    }

    /// The person at the keyboard; nobody, when not given.
    #[must_use]
    pub fn ui(mut self, ui: Arc<dyn Ui>) -> Self {
        self.ui = Some(ui);
        self
    }

    /// Who answers permission questions; everything that would ask is denied, when not given.
    #[must_use]
    pub fn ask(mut self, ask: Arc<dyn Ask>) -> Self {
        self.ask = Some(ask);
        self
    }

    /// Interrupts the start: mods that are loading are given up, `on_session_start` is not waited for. And
    /// hurries the end, see [`Harness::end`].
    #[must_use]
    pub fn cancel(mut self, cancel: CancellationToken) -> Self {
        self.cancel = cancel;
        self
    }

    /// Loads the mods and binds the session. Must be called on a tokio runtime.
    ///
    /// # Errors
    /// There is no model that can be called, a rule cannot be read, the session's file cannot be made,
    /// a mod's constructor never returns, or it was interrupted while mods were loading. A mod that fails
    /// otherwise is a warning of the harness.
    pub async fn start(mut self) -> Result<Harness, Error> {
        let places = self.places.take().ok_or(Error::NoPlaces)?;
        let bus = EventBus::new();
        self.sinks.drain(..).for_each(|sink| bus.add(sink));
        let model = self.model.take().or_else(|| self.settings.model.clone()).ok_or(Error::NoModel)?;
        let providers = self.providers(&places)?;
        let permissions = self.permissions(&places, &bus)?;
        let subagents = Arc::new(Subagents::default());
        let tools = self.tool_set(&subagents)?;
        let mods = Arc::new(self.mod_host(&places, &bus, &tools, &providers));
        mods.tell_last_places();
        let loading = self.cancel.run_until_cancelled(self.load(&mods, &places, &providers, &model));
        let loaded = loading.await.ok_or(Error::Interrupted)??;
        for told in rules::idle(permissions.rules(), &tools, places.user_home.is_some()) {
            bus.main().notice(NoticeLevel::Warning, told);
        }
        let session = self.record.begin(&places)?;
        let (id, state) = (Arc::clone(session.id()), session.state());
        let store = Arc::new(Store::new(session));
        let cwd: Arc<std::path::Path> = places.cwd.as_path().into();
        let prompt_cwd = Arc::clone(&cwd);
        let config = Arc::new(AgentConfig {
            emitter: bus.main(),
            cwd: Arc::clone(&cwd),
            model: Arc::new(Models::new(providers, &self.settings.api)),
            choice: Arc::new(ModelChoice::new(model, None)),
            tools: Arc::new(Tools(tools)),
            mods: Arc::clone(&mods) as _,
            permissions: Arc::new(permissions),
            queue: Arc::new(MessageQueue::default()),
            commit: Arc::new(Recorded(Arc::clone(&store))),
            system_prompt: Arc::new(move |_, mode| system_prompt(&prompt_cwd, mode)),
            max_turns: self.max_turns.or(self.settings.max_turns),
            tool_execution: match self.settings.tool_execution {
                Some(settings::ToolExecution::Parallel) => ToolExecution::Parallel,
                Some(settings::ToolExecution::Sequential) | None => ToolExecution::Sequential,
            },
            compaction: Arc::new(Compaction::new(
                self.settings.compaction.threshold_tokens.and_then(NonZeroU64::new),
            )),
        });
        subagents.bind(&config, &id);
        let live: Arc<dyn Live> = Arc::new(LiveSession::of(&config, Arc::clone(&store)));
        let mode = Arc::clone(config.permissions.mode());
        let harness = Harness {
            compaction: Arc::clone(&config.compaction),
            agent: Agent::new(config),
            state: tokio::sync::Mutex::new(Some(state)),
            store,
            cwd,
            mods,
            warnings: loaded,
            bus,
            mode,
            cancel: self.cancel.clone(),
        };
        harness.mods.bind(&live);
        harness.bind(self.record.source(), self.cancel).await;
        Ok(harness)
    }

    /// The providers that no mod adds: their ids are taken when mods load.
    fn providers(&mut self, places: &Places) -> Result<Providers, Error> {
        let providers = Providers::new();
        providers.add(Arc::new(Scripted::new(places.cwd.as_path())))?;
        self.providers.drain(..).try_for_each(|provider| providers.add(provider))?;
        Ok(providers)
    }

    fn permissions(&mut self, places: &Places, bus: &EventBus) -> Result<Permissions, Error> {
        let rules = |settings: &[String], typed: &[String]| {
            settings.iter().chain(typed).map(|rule| rule.parse::<Rule>()).collect::<Result<Vec<_>, _>>()
        };
        let configured = &self.settings.permissions;
        let (allow, deny) = (rules(&configured.allow, &self.allow)?, rules(&configured.deny, &self.deny)?);
        let mode = self.mode.or(configured.mode).unwrap_or_default();
        let ask = self.ask.take().unwrap_or_else(|| Arc::new(NobodyToAsk));
        let live = Arc::new(LiveMode::new(mode, bus.main()));
        let workspace = Workspace {
            cwd: places.cwd.as_path().into(),
            home: places.user_home.clone(),
            guarded: vec![places.home.clone()],
            follow: tools::real,
        };
        Ok(Permissions::new(allow, deny, live, ask, workspace))
    }

    fn tool_set(&mut self, subagents: &Arc<Subagents>) -> Result<Arc<ToolSet>, Error> {
        let set = ToolSet::default();
        let agent: Arc<dyn Tool> = Arc::new(AgentTool::new(Arc::clone(subagents)));
        for tool in tools::builtin().into_iter().chain([agent]).chain(self.tools.drain(..)) {
            set.add(tool, OWN_TOOLS)?;
        }
        Ok(Arc::new(set))
    }

    fn mod_host(
        &mut self,
        places: &Places,
        bus: &EventBus,
        tools: &Arc<ToolSet>,
        providers: &Providers,
    ) -> ModHost {
        self.access.tell(&mut self.options, &self.settings.mods);
        ModHost::new(ModHostConfig {
            bus: bus.clone(),
            ui: self.ui.take().unwrap_or_else(|| Arc::new(Headless)),
            tools: Arc::clone(tools),
            providers: providers.clone(),
            cwd: places.cwd.as_path().into(),
            options: std::mem::take(&mut self.options),
            hook_timeout: self.settings.mods.hook_timeout(),
            tool_timeout: self.settings.mods.tool_timeout(),
            load_timeout: self.settings.mods.load_timeout(),
            journal_dir: Some(places.home.join("journal")),
            log_file: Some(places.home.join("mods.log")),
            time_hooks: self.time_hooks,
        })
    }

    async fn load(
        &self,
        mods: &ModHost,
        places: &Places,
        providers: &Providers,
        model: &str,
    ) -> Result<Vec<crate::mod_host::LoadWarning>, Error> {
        let disabled = |name: &str| self.settings.mods.disabled_by(name).is_some();
        let roots = || builtin::roots().into_iter().chain(self.built_ins.iter().copied());
        let built_ins = mods.load(Plan::default().with_built_ins(roots()), disabled).await?;
        note_turned_off(providers, &built_ins.disabled);
        let model_is_known = is_known(providers, model)?;
        let lookup = Lookup {
            places,
            settings: &self.settings.mods,
            host: &host_facts(),
            session: &self.mods,
            project: &self.project_mods,
        };
        let mut plan = if self.no_mods { Plan::default() } else { lookup.plan() };
        let notices = std::mem::take(&mut plan.notices);
        let all = plan.mods.iter().chain(plan.left_out.iter().map(|(planned, _)| planned));
        let mut names: BTreeSet<_> = all.filter_map(Planned::name).map(str::to_owned).collect();
        let untrusted: Vec<_> = std::mem::take(&mut plan.left_out)
            .into_iter()
            .filter(|(_, why)| *why == LeftOut::Untrusted)
            .map(|(planned, _)| planned.origin)
            .collect();
        names.extend(roots().map(|(name, _)| name.to_owned()));
        let mut result = mods.load(plan, disabled).await?;
        // First: a factory that read it will have failed for it too.
        if let Some(fault) = mods.option_faults().into_iter().next() {
            return Err(Error::OptionValue(fault));
        }
        result.disabled.splice(0..0, built_ins.disabled);
        result.warnings.splice(0..0, built_ins.warnings);
        names.extend(result.mods.iter().map(|loaded| loaded.name.clone()));
        let emitter = mods.events();
        let others = result.disabled.iter().filter(|(_, origin)| !origin.is_project());
        let turned_off = others.filter_map(|(name, _)| self.settings.mods.turned_off_by_project(name));
        notices.into_iter().chain(turned_off).for_each(|notice| emitter.notice(NoticeLevel::Info, notice));
        for origin in untrusted {
            emitter.notice(NoticeLevel::Warning, format!("{UNTRUSTED}: {origin}"));
        }
        loaded::tell(&emitter, places, &result);
        // The name of a mod that did not load may be unknown; that it did not load was told.
        let is_complete = result.warnings.is_empty() && !self.no_mods;
        if is_complete && let Some(unknown) = loaded::unknown_option(&mods.unasked_options(), &names) {
            return Err(unknown);
        }
        if !model_is_known {
            providers.resolve(model)?;
        }
        Ok(result.warnings)
    }
}

//! Doubles for everything that an agent is given.

use std::{
    collections::VecDeque,
    num::NonZeroU32,
    path::Path,
    sync::{Arc, Mutex},
};

use futures::future::{BoxFuture, ready};
use mod_interface::types::{
    AgentState, ContentBlock, Effort, EventPayload, Message, PermissionMode, ToolOutput, ToolSpec, Usage,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::{
    agent::{
        AGENT_TOOL, Agent, AgentConfig, Answer, Ask, BoxError, Commit, Compaction, LiveMode, MessageQueue,
        Model, ModelCall, ModelChoice, ModelResponse, NobodyToAsk, Permissions, Question, RunOutcome,
        SubagentTask, Subagents, ToolExecution, ToolSource, Toolbox, Workspace,
    },
    events::Emitter,
    tools::{Access, Tool, ToolContext},
};

use crate::hooks::fakes::of;
pub(crate) use crate::hooks::fakes::{FakeMod, FakeMods, Log, handlers, told};

type Work = Box<dyn Fn(Value, ToolContext) -> BoxFuture<'static, ToolOutput> + Send + Sync>;

/// A tool made of a closure.
pub(crate) struct FakeTool {
    spec: ToolSpec,
    access: Access,
    describe: Box<dyn Fn() -> BoxFuture<'static, Option<String>> + Send + Sync>,
    work: Work,
}

impl FakeTool {
    /// Says `<name> ran` and its input.
    pub(crate) fn new(name: &str) -> Self {
        let said = name.to_owned();
        Self::working(name, move |input, _| {
            let output = ToolOutput::text(format!("{said} ran {input}"));
            Box::pin(ready(output))
        })
    }

    pub(crate) fn working(
        name: &str,
        work: impl Fn(Value, ToolContext) -> BoxFuture<'static, ToolOutput> + Send + Sync + 'static,
    ) -> Self {
        let spec = ToolSpec {
            name: name.to_owned(),
            description: String::new(),
            input_schema: json!({"type": "object"}),
            read_only: true,
        };
        Self {
            spec,
            access: Access::Read,
            describe: Box::new(|| Box::pin(ready(None))),
            work: Box::new(work),
        }
    }

    pub(crate) fn access(mut self, access: Access) -> Self {
        self.access = access;
        self
    }

    /// Takes inputs of this schema.
    pub(crate) fn taking(mut self, input_schema: Value) -> Self {
        self.spec.input_schema = input_schema;
        self
    }

    pub(crate) fn described(
        mut self,
        describe: impl Fn() -> BoxFuture<'static, Option<String>> + Send + Sync + 'static,
    ) -> Self {
        self.describe = Box::new(describe);
        self
    }
}

impl Tool for FakeTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn access(&self) -> Access {
        self.access
    }

    // A NUL stands between several subjects.
    fn rule_subjects(&self, input: &Value) -> Vec<String> {
        let about = input.get("about").and_then(Value::as_str);
        about.map(|about| about.split('\0').map(str::to_owned).collect()).unwrap_or_default()
    }

    fn describe(&self, _: &Value) -> BoxFuture<'_, Option<String>> {
        (self.describe)()
    }

    fn run(&self, input: Value, ctx: ToolContext) -> BoxFuture<'_, ToolOutput> {
        (self.work)(input, ctx)
    }
}

/// Tools by name; an input with the field `bad` is invalid.
#[derive(Clone, Default)]
pub(crate) struct FakeTools(Vec<Arc<FakeTool>>);

impl ToolSource for FakeTools {
    fn snapshot(&self) -> Arc<dyn Toolbox> {
        Arc::new(self.clone())
    }
}

impl Toolbox for FakeTools {
    fn specs(&self) -> Arc<[ToolSpec]> {
        self.0.iter().map(|tool| tool.spec.clone()).collect()
    }

    fn find(&self, name: &str) -> Result<Arc<dyn Tool>, String> {
        let tool = self.0.iter().find(|tool| tool.spec.name == name).cloned();
        Ok(tool.ok_or_else(|| format!("no such tool: {name}"))?)
    }

    fn check_input(&self, name: &str, input: &Value) -> Result<(), String> {
        if input.get("bad").is_some() {
            return Err("the input is bad".to_owned());
        }
        let schema = &self.find(name)?.spec().input_schema.clone();
        jsonschema::validate(schema, input).map_err(|error| error.to_string())
    }
}

/// What the model does when it is called.
pub(crate) enum Turn {
    Say(ModelResponse),
    Fail(&'static str),
    /// Does this, then never answers.
    Hang(Box<dyn Fn() + Send + Sync>),
}

/// Says `text`.
pub(crate) fn say(text: &str) -> Turn {
    answer(vec![ContentBlock::text(text)], "end_turn")
}

/// Calls tools: `[(id, tool, input)]`.
pub(crate) fn call<const N: usize>(calls: [(&str, &str, Value); N]) -> Turn {
    let block = |(id, name, input): (&str, &str, Value)| ContentBlock::ToolUse {
        id: id.to_owned(),
        name: name.to_owned(),
        input,
    };
    answer(calls.into_iter().map(block).collect(), "tool_use")
}

pub(crate) fn answer(content: Vec<ContentBlock>, stop_reason: &str) -> Turn {
    let usage = Usage { input_tokens: 10, output_tokens: 5, ..Usage::default() };
    Turn::Say(ModelResponse { content, usage, stop_reason: stop_reason.to_owned() })
}

/// A model that plays its turns, and keeps the calls that it got.
pub(crate) struct ScriptedModel {
    turns: Mutex<VecDeque<Turn>>,
    pub(crate) calls: Mutex<Vec<ModelCall>>,
}

impl ScriptedModel {
    pub(crate) fn new<const N: usize>(turns: [Turn; N]) -> Self {
        Self { turns: Mutex::new(turns.into()), calls: Mutex::default() }
    }
}

impl Model for ScriptedModel {
    fn complete<'a>(
        &'a self,
        call: ModelCall,
        emitter: &'a Emitter,
        _: CancellationToken,
    ) -> BoxFuture<'a, Result<ModelResponse, BoxError>> {
        self.calls.lock().unwrap().push(call);
        let turn = self.turns.lock().unwrap().pop_front();
        Box::pin(async move {
            match turn.expect("the script has a turn for every call") {
                Turn::Say(response) => {
                    for delta in response.content.iter().filter_map(ContentBlock::as_text) {
                        emitter.emit(EventPayload::TextDelta { delta: delta.to_owned() });
                    }
                    Ok(response)
                }
                Turn::Fail(text) => Err(text.into()),
                Turn::Hang(act) => {
                    act();
                    std::future::pending().await
                }
            }
        })
    }

    fn check(&self, model: &str) -> Result<(), String> {
        if model.contains('/') { Ok(()) } else { Err(format!("no such model: {model}")) }
    }
}

/// Keeps what was committed, and writes `commit` into the log.
#[derive(Default)]
pub(crate) struct Commits {
    log: Log,
    pub(crate) states: Mutex<Vec<AgentState>>,
    failing: bool,
}

impl Commit for Commits {
    fn commit<'a>(&'a self, state: &'a AgentState) -> BoxFuture<'a, Result<(), BoxError>> {
        self.log.add("commit");
        self.states.lock().unwrap().push(state.clone());
        Box::pin(ready(if self.failing { Err("the disk is full".into()) } else { Ok(()) }))
    }
}

type Answers = Box<dyn Fn(&Question) -> Result<Answer, BoxError> + Send + Sync>;

/// Answers every question alike, and writes it into the log.
pub(crate) struct FakeAsk {
    pub(crate) log: Log,
    pub(crate) answer: Answers,
}

impl Ask for FakeAsk {
    fn ask(&self, question: Question) -> BoxFuture<'_, Result<Answer, BoxError>> {
        let agent = of(&question.agent_id);
        self.log.add(format!("{agent}ask {} {:?}", question.tool_name, question.description));
        Box::pin(async move { (self.answer)(&question) })
    }
}

/// A run about to be made: fields to set, then [`Scene::run`].
pub(crate) struct Scene {
    pub(crate) log: Log,
    pub(crate) model: Arc<ScriptedModel>,
    pub(crate) choice: Arc<ModelChoice>,
    pub(crate) tools: Vec<FakeTool>,
    pub(crate) mods: Arc<FakeMods>,
    pub(crate) ask: Arc<dyn Ask>,
    pub(crate) allow: Vec<&'static str>,
    pub(crate) deny: Vec<&'static str>,
    pub(crate) mode: Arc<LiveMode>,
    pub(crate) queue: Arc<MessageQueue>,
    pub(crate) commit_fails: bool,
    pub(crate) max_turns: u32,
    pub(crate) parallel: bool,
    pub(crate) cancel: CancellationToken,
    pub(crate) state: AgentState,
    pub(crate) compaction: Arc<Compaction>,
    subagents: Arc<Subagents>,
}

/// A run that is over.
pub(crate) struct Ran {
    pub(crate) log: Vec<String>,
    pub(crate) outcome: RunOutcome,
    pub(crate) calls: Vec<ModelCall>,
    pub(crate) commits: Vec<AgentState>,
}

impl Scene {
    pub(crate) fn new<const N: usize>(turns: [Turn; N]) -> Self {
        let log = Log::default();
        let mode = LiveMode::new(PermissionMode::Default, log.bus().main());
        Self {
            model: Arc::new(ScriptedModel::new(turns)),
            choice: Arc::new(ModelChoice::new("p/one", None)),
            tools: vec![FakeTool::new("echo")],
            mods: Arc::default(),
            ask: Arc::new(NobodyToAsk),
            allow: vec![],
            deny: vec![],
            mode: Arc::new(mode),
            queue: Arc::default(),
            commit_fails: false,
            max_turns: 0,
            parallel: false,
            cancel: CancellationToken::new(),
            state: AgentState::new("s1"),
            compaction: Arc::default(),
            subagents: Arc::default(),
            log,
        }
    }

    pub(crate) fn fake_mod(&self, id: &str) -> FakeMod {
        FakeMod::new(&self.log, id)
    }

    pub(crate) fn with<const N: usize>(self, mods: [FakeMod; N]) -> Self {
        *self.mods.now.lock().unwrap() = handlers(mods);
        self
    }

    /// Adds the tool `agent`, and binds it to the agent of `config`.
    pub(crate) fn with_subagents(mut self) -> Self {
        let subagents = Arc::clone(&self.subagents);
        self.tools.push(FakeTool::working(AGENT_TOOL, move |input, ctx| {
            let subagents = Arc::clone(&subagents);
            Box::pin(async move {
                let task = SubagentTask {
                    tool_call_id: ctx.tool_call_id,
                    parent_id: ctx.agent_id,
                    subagent_type: "general".to_owned(),
                    prompt: input["prompt"].as_str().unwrap().to_owned(),
                    cancel: ctx.cancel,
                };
                subagents.run(task).await.map_or_else(ToolOutput::error, ToolOutput::text)
            })
        }));
        self
    }

    pub(crate) fn agent(&mut self) -> (Agent, Arc<Commits>) {
        let commits = Commits { log: self.log.clone(), failing: self.commit_fails, ..Commits::default() };
        let commits = Arc::new(commits);
        let rules = |rules: &[&str]| rules.iter().map(|rule| rule.parse().unwrap()).collect();
        let cwd: Arc<Path> = Path::new("/project").into();
        let permissions = Permissions::new(
            rules(&self.allow),
            rules(&self.deny),
            Arc::clone(&self.mode),
            Arc::clone(&self.ask),
            Workspace { cwd: Arc::clone(&cwd), home: None, guarded: vec![], follow: Path::to_path_buf },
        );
        let config = Arc::new(AgentConfig {
            emitter: self.log.bus().main(),
            cwd,
            model: Arc::clone(&self.model) as _,
            choice: Arc::clone(&self.choice),
            tools: Arc::new(FakeTools(std::mem::take(&mut self.tools).into_iter().map(Arc::new).collect())),
            mods: Arc::clone(&self.mods) as _,
            permissions: Arc::new(permissions),
            queue: Arc::clone(&self.queue),
            commit: Arc::clone(&commits) as _,
            system_prompt: Arc::new(|_, mode: PermissionMode| format!("base {}", mode.as_str()).into()),
            max_turns: NonZeroU32::new(self.max_turns),
            tool_execution: if self.parallel { ToolExecution::Parallel } else { ToolExecution::Sequential },
            compaction: Arc::clone(&self.compaction),
        });
        self.subagents.bind(&config, &self.state.session_id);
        (Agent::new(config), commits)
    }

    /// Runs the agent once; what it tells follows the diagrams.
    pub(crate) async fn run(mut self) -> Ran {
        let (agent, commits) = self.agent();
        let state = std::mem::replace(&mut self.state, AgentState::new(""));
        let outcome = agent.run(state, Some(Message::user("go")), &self.cancel).await;
        self.follows_the_diagrams();
        let calls = std::mem::take(&mut *self.model.calls.lock().unwrap());
        let commits = std::mem::take(&mut *commits.states.lock().unwrap());
        Ran { log: self.log.lines(), outcome, calls, commits }
    }
}

impl Ran {
    /// The lines that begin with one of `kinds`.
    pub(crate) fn only<const N: usize>(&self, kinds: [&str; N]) -> Vec<&str> {
        let lines = self.log.iter().map(String::as_str);
        lines.filter(|line| kinds.iter().any(|kind| line.starts_with(kind))).collect()
    }

    /// All lines from the first tool call to the end of its turn.
    pub(crate) fn batch(&self) -> &[String] {
        let lines = self.since_batch();
        &lines[..lines.iter().position(|line| line.starts_with("turn_end")).unwrap()]
    }

    /// All lines from the first tool call on.
    pub(crate) fn since_batch(&self) -> &[String] {
        &self.log[self.log.iter().position(|line| line.starts_with("tool_queued")).unwrap()..]
    }

    pub(crate) fn told(&self) -> Vec<String> {
        told(&self.outcome.state.messages)
    }
}

/// The effort of each call.
pub(crate) fn choices(calls: &[ModelCall]) -> Vec<(&str, Option<Effort>)> {
    calls.iter().map(|call| (&*call.model, call.effort)).collect()
}

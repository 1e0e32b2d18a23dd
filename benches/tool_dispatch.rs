//! What the way of a tool call costs: a batch of 1, 8 and 64 calls of a tool that does nothing, through a whole run
//! with a model that says what it says at once. Checks, permissions, hooks, events and results are in it, disk and
//! network are not. Beside it, the same calls without any harness, and the run without any call.
//!
//! `cargo bench --bench tool_dispatch` prints times.

use std::{hint::black_box, path::Path, sync::Arc, time::Duration};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use futures::future::{BoxFuture, ready};
use host::{
    agent::{
        Agent, AgentConfig, BoxError, Commit, LiveMode, Model, ModelCall, ModelChoice, ModelResponse,
        NobodyToAsk, Permissions, ToolExecution, ToolSource, Toolbox, Workspace,
    },
    events::{Emitter, EventBus},
    mod_host::{Code, ModHost, ModHostConfig, Origin, Plan, Planned},
    tools::{Tool, ToolContext, ToolSet},
};
use mod_interface::{
    builtin_mod,
    types::{
        AgentEvent, AgentState, ContentBlock, Message, PermissionMode, StopReason, ToolOutput, ToolSpec,
        Usage,
    },
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

const BATCHES: [usize; 3] = [1, 8, 64];
/// Each has the hook `before_tool_call`, as a plain closure that looks at the tool's name.
const MODS: [&str; 10] = ["m0", "m1", "m2", "m3", "m4", "m5", "m6", "m7", "m8", "m9"];
const TOOL: &str = "nothing";

struct Nothing(ToolSpec);

impl Tool for Nothing {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn run(&self, _: Value, _: ToolContext) -> BoxFuture<'_, ToolOutput> {
        Box::pin(ready(ToolOutput::text("done")))
    }
}

fn nothing() -> Nothing {
    let input_schema = json!({ "type": "object", "properties": { "command": { "type": "string" } } });
    Nothing(ToolSpec { name: TOOL.to_owned(), description: String::new(), input_schema, read_only: true })
}

/// The tools, as a harness has them.
struct Tools(Arc<ToolSet>);

impl ToolSource for Tools {
    fn snapshot(&self) -> Arc<dyn Toolbox> {
        Arc::new(Snapshot(Arc::clone(&self.0)))
    }
}

struct Snapshot(Arc<ToolSet>);

impl Toolbox for Snapshot {
    fn specs(&self) -> Arc<[ToolSpec]> {
        self.0.specs().into()
    }

    fn find(&self, name: &str) -> Result<Arc<dyn Tool>, String> {
        self.0.get(name).map(|entry| Arc::clone(&entry.tool)).ok_or_else(|| name.to_owned())
    }

    fn check_input(&self, name: &str, input: &Value) -> Result<(), String> {
        let entry = self.0.get(name).ok_or_else(|| name.to_owned())?;
        entry.check_input(input).map_err(|error| error.to_string())
    }
}

/// Calls the tool so many times, and then is done.
struct Batch(Vec<ContentBlock>);

impl Batch {
    fn new(calls: usize) -> Self {
        let call = |number| ContentBlock::ToolUse {
            id: format!("call_{number}"),
            name: TOOL.to_owned(),
            input: json!({ "command": "ls" }),
        };
        Self((0..calls).map(call).collect())
    }
}

impl Model for Batch {
    fn complete<'a>(
        &'a self,
        call: ModelCall,
        _: &'a Emitter,
        _: CancellationToken,
    ) -> BoxFuture<'a, Result<ModelResponse, BoxError>> {
        let is_result = |block: &ContentBlock| matches!(block, ContentBlock::ToolResult { .. });
        let answered = call.messages.last().is_some_and(|last| last.content.iter().any(is_result));
        let (content, stop_reason) = if answered || self.0.is_empty() {
            (vec![ContentBlock::text("done")], "end_turn")
        } else {
            (self.0.clone(), "tool_use")
        };
        let response =
            ModelResponse { content, usage: Usage::default(), stop_reason: stop_reason.to_owned() };
        Box::pin(ready(Ok(response)))
    }

    fn check(&self, _: &str) -> Result<(), String> {
        Ok(())
    }
}

struct NoDisk;

impl Commit for NoDisk {
    fn commit<'a>(&'a self, _: &'a AgentState) -> BoxFuture<'a, Result<(), BoxError>> {
        Box::pin(ready(Ok(())))
    }
}

/// An agent with so many mods, whose model makes so many calls.
async fn agent(calls: usize, mods: &[&'static str]) -> Result<Agent, BoxError> {
    let (bus, tools, cwd) = (EventBus::new(), Arc::<ToolSet>::default(), Arc::from(Path::new("/")));
    // Somebody listens, as always.
    bus.add(Arc::new(|event: &AgentEvent| {
        black_box(event);
    }));
    tools.add(Arc::new(nothing()), "cmd")?;
    let host = ModHost::new(ModHostConfig {
        bus: bus.clone(),
        tools: Arc::clone(&tools),
        options: [("form".to_owned(), "sync".to_owned())].into(),
        hook_timeout: Some(Duration::from_secs(10)),
        ..ModHostConfig::alone(Arc::clone(&cwd), Duration::from_secs(10))
    });
    let root = || builtin_mod!("overhead", overhead::overhead);
    let planned = |name| Planned { origin: Origin::BuiltIn, code: Code::BuiltIn { name, root: root() } };
    let plan = Plan { mods: mods.iter().copied().map(planned).collect(), ..Plan::default() };
    let loaded = host.load(plan, |_| false).await?;
    if loaded.mods.len() != mods.len() {
        return Err(format!("a mod did not load: {:?}", loaded.warnings).into());
    }
    let mode = Arc::new(LiveMode::new(PermissionMode::Default, bus.main()));
    let workspace =
        Workspace { cwd: Arc::clone(&cwd), home: None, guarded: Vec::new(), follow: Path::to_path_buf };
    Ok(Agent::new(AgentConfig {
        emitter: bus.main(),
        cwd,
        model: Arc::new(Batch::new(calls)),
        choice: Arc::new(ModelChoice::new("bench/batch", None)),
        tools: Arc::new(Tools(tools)),
        mods: Arc::new(host),
        permissions: Arc::new(Permissions::new(
            Vec::new(),
            Vec::new(),
            mode,
            Arc::new(NobodyToAsk),
            workspace,
        )),
        queue: Arc::default(),
        commit: Arc::new(NoDisk),
        system_prompt: Arc::new(|_, _| "bench".into()),
        max_turns: None,
        tool_execution: ToolExecution::Sequential,
        compaction: Arc::default(),
    }))
}

/// Runs a prompt to its end.
async fn run(agent: &Agent) -> StopReason {
    let (state, cancel) = (AgentState::new("bench"), CancellationToken::new());
    agent.run(state, Some(Message::user("go")), &cancel).await.result.stop_reason
}

/// The calls without a harness.
async fn bare(tool: &dyn Tool, batch: &Batch) {
    for call in &batch.0 {
        let ContentBlock::ToolUse { id, input, .. } = call else { continue };
        let context = ToolContext {
            tool_call_id: id.as_str().into(),
            agent_id: "main".into(),
            cwd: Path::new("/").into(),
            cancel: CancellationToken::new(),
            progress: Arc::new(|_| ()),
            hidden: Arc::new(|_: &Path| false),
        };
        black_box(tool.run(input.clone(), context).await);
    }
}

#[expect(clippy::print_stderr, reason = "a benchmark has nobody else to tell")]
fn tool_dispatch(criterion: &mut Criterion) {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return eprintln!("no runtime: {error}"),
    };
    let mut group = criterion.benchmark_group("tool_dispatch");
    for calls in [0].into_iter().chain(BATCHES) {
        group.throughput(Throughput::Elements(calls.max(1) as u64));
        if calls > 0 {
            let (tool, batch) = (nothing(), Batch::new(calls));
            group.bench_function(BenchmarkId::new("bare calls", calls), |bench| {
                bench.iter(|| runtime.block_on(bare(black_box(&tool), &batch)));
            });
        }
        for mods in [&MODS[..0], &MODS] {
            let agent = match runtime.block_on(agent(calls, mods)) {
                Ok(agent) => agent,
                Err(error) => return eprintln!("no agent: {error}"),
            };
            assert_eq!(runtime.block_on(run(&agent)), StopReason::EndTurn);
            let name = BenchmarkId::new(format!("a run with {} mods", mods.len()), calls);
            group.bench_function(name, |bench| bench.iter(|| runtime.block_on(run(black_box(&agent)))));
        }
    }
    group.finish();
}

criterion_group!(benches, tool_dispatch);
criterion_main!(benches);

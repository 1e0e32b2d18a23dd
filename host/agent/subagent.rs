//! A run inside of a tool call.
//!
//! A sub-agent has a conversation, a queue and `mod_state` of its own, all empty when it begins; what comes
//! back to its parent is its last text alone, and its turns are committed to no record. Everything else is
//! its parent's: model and effort as configured (what a `prepare_next_turn` hook made of them holds for the
//! parent's run only), hooks, tools but `agent` itself, permission rules, the live mode, the way of
//! dispatch. So a guard that holds for the parent holds for it.
//!
//! Every event and every hook of it carries its id, `agent:` and the id of the call that began it. Its
//! parent tells `subagent_start`, one `subagent_progress` for each call that it queues, and `subagent_stop`,
//! which comes whatever happens. Interrupting the parent interrupts it.

use std::{
    num::NonZeroU32,
    sync::{
        Arc, OnceLock, Weak,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use futures::future::{BoxFuture, ready};
use mod_interface::types::{
    AgentEvent, AgentState, EventPayload, Message, PermissionMode, RunResult, StopReason, ToolSpec,
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{Agent, AgentConfig, BoxError, Commit, MessageQueue, SystemPrompt, ToolSource, Toolbox};
use crate::{
    events::{Emitter, EventBus, EventSink},
    tools::Tool,
};

/// The tool that begins a sub-agent, and that no sub-agent has.
pub const AGENT_TOOL: &str = "agent";

/// After how many turns a sub-agent ends, where its parent has not fewer.
const MAX_TURNS: NonZeroU32 = NonZeroU32::new(50).unwrap();

const TASK: &str = "You are a sub-agent: another agent gave you the task below, and sees of all that you say \
    your last message alone. Do the task with your tools, ask nothing back, and end with the result.";

/// Begins sub-agents. It is made before its agent, whose tools it is part of, and bound to it then.
#[derive(Default)]
pub struct Subagents {
    // Weak: the tools of the agent lead back here.
    parent: OnceLock<(Weak<AgentConfig>, Arc<str>)>,
}

/// What a sub-agent shall do.
pub struct SubagentTask {
    /// The call that begins it.
    pub tool_call_id: Arc<str>,
    /// The agent that calls.
    pub parent_id: Arc<str>,
    /// What kind of sub-agent it is, for people.
    pub subagent_type: String,
    /// What it is told.
    pub prompt: String,
    /// Interrupts it.
    pub cancel: CancellationToken,
}

impl Subagents {
    /// Binds it to the agent of `config`, which works in the session `session_id`. Once.
    pub fn bind(&self, config: &Arc<AgentConfig>, session_id: &Arc<str>) {
        // A second agent is none of ours.
        let _bound = self.parent.set((Arc::downgrade(config), Arc::clone(session_id)));
    }

    /// Runs a sub-agent to its end.
    ///
    /// # Errors
    /// Says, for the model, why the task is not done, and what the sub-agent said last.
    pub async fn run(&self, task: SubagentTask) -> Result<String, String> {
        let parent = self.parent.get().and_then(|(config, id)| Some((config.upgrade()?, id)));
        let (parent, session_id) = parent.ok_or("the agent of this session is gone")?;
        let teller = Arc::new(Teller::start(&parent.emitter, &task));
        let agent = Agent::new(child(&parent, &task, &teller));
        let state = AgentState::new(Arc::clone(session_id));
        let outcome = agent.run(state, Some(Message::user(task.prompt)), &task.cancel).await;
        match outcome.error {
            Some(error) => Err(format!("the sub-agent failed: {error}")),
            None => said(outcome.result),
        }
    }
}

fn said(RunResult { final_text, stop_reason, .. }: RunResult) -> Result<String, String> {
    let silent = final_text.trim().is_empty();
    match stop_reason {
        StopReason::EndTurn | StopReason::StopHook if silent => Err("the sub-agent said nothing".to_owned()),
        StopReason::EndTurn | StopReason::StopHook => Ok(final_text),
        early => {
            let last = if silent { "nothing" } else { &final_text };
            Err(format!("the sub-agent ended early ({}); it said last: {last}", early.as_str()))
        }
    }
}

fn child(parent: &AgentConfig, task: &SubagentTask, teller: &Arc<Teller>) -> AgentConfig {
    let max_turns = parent.max_turns.map_or(MAX_TURNS, |max| max.min(MAX_TURNS));
    AgentConfig {
        emitter: teller.listen(&parent.emitter).emitter(format!("agent:{}", task.tool_call_id)),
        tools: Arc::new(WithoutAgent(Arc::clone(&parent.tools))),
        queue: Arc::new(MessageQueue::default()),
        commit: Arc::new(Unrecorded),
        system_prompt: system_prompt(Arc::clone(&parent.system_prompt)),
        max_turns: Some(max_turns),
        compaction: Arc::new(parent.compaction.another()),
        ..parent.clone()
    }
}

fn system_prompt(base: Arc<SystemPrompt>) -> Arc<SystemPrompt> {
    Arc::new(move |state: &AgentState, mode: PermissionMode| {
        format!("{}\n\n{TASK}", base(state, mode)).trim_start().into()
    })
}

/// Passes a sub-agent's events on.
struct Relay {
    everybody: EventBus,
    teller: Weak<Teller>,
}

impl EventSink for Relay {
    fn emit(&self, event: &AgentEvent) {
        self.emit_shared(&Arc::new(event.clone()));
    }

    fn emit_shared(&self, event: &Arc<AgentEvent>) {
        self.everybody.emit(event);
        if let Some(teller) = self.teller.upgrade() {
            teller.hear(&event.payload);
        }
    }
}

/// Tells of a sub-agent on behalf of its parent: that it ended when this is dropped.
struct Teller {
    emitter: Emitter,
    tool_call_id: Arc<str>,
    subagent_type: String,
    tokens_used: AtomicU64,
}

impl Teller {
    fn start(parent: &Emitter, task: &SubagentTask) -> Self {
        let teller = Self {
            emitter: parent.bus().emitter(Arc::clone(&task.parent_id)),
            tool_call_id: Arc::clone(&task.tool_call_id),
            subagent_type: task.subagent_type.clone(),
            tokens_used: AtomicU64::new(0),
        };
        let (tool_call_id, subagent_type) = teller.names();
        teller.emitter.emit(EventPayload::SubagentStart { tool_call_id, subagent_type });
        teller
    }

    /// A bus for the events of the sub-agent: everybody hears them, then this does.
    fn listen(self: &Arc<Self>, parent: &Emitter) -> EventBus {
        let bus = EventBus::new();
        bus.add(Arc::new(Relay { everybody: parent.bus().clone(), teller: Arc::downgrade(self) }));
        bus
    }

    fn hear(&self, event: &EventPayload) {
        match event {
            EventPayload::ModelRequestEnd { usage, .. } => {
                self.tokens_used.fetch_add(usage.total(), Relaxed);
            }
            EventPayload::ToolQueued { tool_name, input, .. } => {
                let (tool_call_id, subagent_type) = self.names();
                self.emitter.emit(EventPayload::SubagentProgress {
                    tool_call_id,
                    subagent_type,
                    tool_name: tool_name.clone(),
                    tool_input: input.clone(),
                    tokens_used: self.tokens_used.load(Relaxed),
                });
            }
            _ => {}
        }
    }

    fn names(&self) -> (String, String) {
        (self.tool_call_id.to_string(), self.subagent_type.clone())
    }
}

impl Drop for Teller {
    fn drop(&mut self) {
        let (tool_call_id, subagent_type) = self.names();
        let tokens_used = self.tokens_used.load(Relaxed);
        self.emitter.emit(EventPayload::SubagentStop { tool_call_id, subagent_type, tokens_used });
    }
}

/// Keeps nothing.
struct Unrecorded;

impl Commit for Unrecorded {
    fn commit<'a>(&'a self, _: &'a AgentState) -> BoxFuture<'a, Result<(), BoxError>> {
        Box::pin(ready(Ok(())))
    }
}

/// The tools of the parent, without the one that would begin another sub-agent.
struct WithoutAgent<T: ?Sized>(Arc<T>);

impl ToolSource for WithoutAgent<dyn ToolSource> {
    fn snapshot(&self) -> Arc<dyn Toolbox> {
        Arc::new(WithoutAgent(self.0.snapshot()))
    }
}

impl Toolbox for WithoutAgent<dyn Toolbox> {
    fn specs(&self) -> Arc<[ToolSpec]> {
        self.0.specs().iter().filter(|spec| spec.name != AGENT_TOOL).cloned().collect()
    }

    fn find(&self, name: &str) -> Result<Arc<dyn Tool>, String> {
        match name {
            AGENT_TOOL => Err("a sub-agent cannot begin another one; do it yourself".to_owned()),
            _ => self.0.find(name),
        }
    }

    fn check_input(&self, name: &str, input: &Value) -> Result<(), String> {
        self.0.check_input(name, input)
    }
}

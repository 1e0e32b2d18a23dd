//! The one way that every tool call takes once it is received: admitted, prepared, executed, finished.
//!
//! A call that a step settles passes the later ones untouched, so every call comes out at the end, and in
//! order.

use std::{
    panic::AssertUnwindSafe,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

use futures::{FutureExt, future::join_all};
use mod_interface::types::{AgentState, ContentBlock, EventPayload, PermissionMode, ToolOutput};
use serde_json::Value;
use tokio::time::timeout;

use super::{AgentConfig, ToolExecution, Toolbox, intake::Received};
use crate::{
    hooks::{HookRunner, Round, ToolCallInput, tool_content},
    tools::{Tool, ToolContext},
};

/// How long a tool may take to describe a call.
const DESCRIBE: Duration = Duration::from_secs(5);
const NOT_RUN: &str = "This call did not run, because another call of the same batch was denied.";
const INTERRUPTED: &str = "This call did not run, because the user interrupted.";
const CUT_SHORT: &str = "The user interrupted this call before it was done; what it did until then stands.";

/// One batch of tool calls, on its way.
pub(super) struct Dispatch<'a> {
    config: &'a AgentConfig,
    hooks: &'a HookRunner,
    round: &'a Round<'a>,
    toolbox: &'a dyn Toolbox,
    /// The mode of the round.
    mode: PermissionMode,
    /// The state as it stands, the calling message included.
    state: &'a AgentState,
    batch: Batch,
}

/// What came of a batch.
#[derive(Debug, Default)]
pub(super) struct Batch {
    /// One result per call, in the order of the calls.
    pub(super) results: Vec<ContentBlock>,
    /// New values of mods' slots, in the order in which they apply.
    pub(super) mod_state: Vec<(String, Value)>,
    /// Whether a call was denied.
    pub(super) denied: bool,
    /// Whether a hook asked to end the run.
    pub(super) terminate: bool,
}

/// A call that is on its way to run.
struct Going {
    call: ToolCallInput,
    tool: Arc<dyn Tool>,
    description: Option<String>,
    /// What hooks before the call append to its result.
    contexts: Vec<String>,
}

/// A call that will not run, and why.
struct Settled {
    call: ToolCallInput,
    reason: String,
    end: End,
}

/// The event that tells why a call did not run.
enum End {
    Errored,
    Blocked,
    Denied,
    /// None: what ended the run tells of it.
    Untold,
}

/// A call after one step: what the step made of it, or the end of its way.
type Step<T> = Result<T, Settled>;

/// Why a batch ends before any of it runs.
enum Abort {
    Denied { index: usize, reason: String },
    Interrupted,
}

impl<'a> Dispatch<'a> {
    pub(super) fn new(
        config: &'a AgentConfig,
        hooks: &'a HookRunner,
        round: &'a Round<'a>,
        toolbox: &'a dyn Toolbox,
        mode: PermissionMode,
        state: &'a AgentState,
    ) -> Self {
        Self { config, hooks, round, toolbox, mode, state, batch: Batch::default() }
    }

    /// Takes `calls` all the way.
    pub(super) async fn run(mut self, calls: Vec<Received>) -> Batch {
        match (self.admit(&calls).await, self.config.tool_execution) {
            (Ok(admitted), ToolExecution::Sequential) => self.one_by_one(admitted).await,
            (Ok(admitted), ToolExecution::Parallel) => self.at_once(admitted).await,
            (Err(abort), _) => self.abort(calls, abort),
        }
        if self.batch.denied {
            self.batch.mod_state.clear();
        }
        self.batch
    }

    async fn one_by_one(&mut self, admitted: Vec<Step<Going>>) {
        for call in admitted {
            let prepared = self.prepare(call).await;
            let executed = self.execute(prepared).await;
            self.finish(executed).await;
        }
    }

    /// Only the tools run at once: hooks, results and end events stay in the order of the calls.
    async fn at_once(&mut self, admitted: Vec<Step<Going>>) {
        let mut prepared = Vec::with_capacity(admitted.len());
        for call in admitted {
            prepared.push(self.prepare(call).await);
        }
        for executed in join_all(prepared.into_iter().map(|call| self.execute(call))).await {
            self.finish(executed).await;
        }
    }

    /// Describes and judges every call, in order, before any of them runs.
    async fn admit(&self, calls: &[Received]) -> Result<Vec<Step<Going>>, Abort> {
        let mut admitted = Vec::with_capacity(calls.len());
        for (index, Received { call, tool, .. }) in calls.iter().enumerate() {
            admitted.push(match tool {
                Ok(tool) => Ok(self.judge(index, call, Arc::clone(tool)).await?),
                Err(reason) => Err(Settled { call: call.clone(), reason: reason.clone(), end: End::Errored }),
            });
        }
        Ok(admitted)
    }

    /// Describes one call and checks whether it may run. Whatever goes wrong in the check denies.
    async fn judge(&self, index: usize, call: &ToolCallInput, tool: Arc<dyn Tool>) -> Result<Going, Abort> {
        let interrupt = self.hooks.interrupt();
        let judged = interrupt.limit(async {
            let describe = caught(async { tool.describe(&call.input).await });
            let description = timeout(DESCRIBE, describe).await.ok().and_then(Result::ok).flatten();
            let agent_id = self.config.emitter.agent_id();
            let check = self.config.permissions.check(self.mode, agent_id, &*tool, call, description.clone());
            (description, caught(check).await)
        });
        match judged.await.filter(|_| !interrupt.happened()) {
            None => Err(Abort::Interrupted),
            Some((description, Ok(Ok(())))) => {
                Ok(Going { call: call.clone(), tool, description, contexts: Vec::new() })
            }
            Some((_, Ok(Err(reason)))) => Err(Abort::Denied { index, reason }),
            Some((_, Err(panic))) => {
                Err(Abort::Denied { index, reason: format!("the permission check panicked: {panic}") })
            }
        }
    }

    fn abort(&mut self, calls: Vec<Received>, abort: Abort) {
        for (index, Received { call, .. }) in calls.into_iter().enumerate() {
            let (reason, end) = match &abort {
                Abort::Denied { index: denied, reason } if *denied == index => (reason.as_str(), End::Denied),
                Abort::Denied { .. } => (NOT_RUN, End::Untold),
                Abort::Interrupted => (INTERRUPTED, End::Untold),
            };
            self.settle(Settled { call, reason: reason.to_owned(), end });
        }
    }

    /// Asks the hooks before the call, and looks once more at what they made of its input.
    async fn prepare(&mut self, call: Step<Going>) -> Step<Going> {
        let going = self.unless_over(call?)?;
        let verdict = self.round.before_tool_call(self.state, &going.call).await;
        self.batch.terminate |= verdict.terminate;
        if let Some(reason) = verdict.blocked {
            return Err(Settled { call: going.call, reason, end: End::Blocked });
        }
        let call = ToolCallInput { input: verdict.input, ..going.call };
        let going = Going { call, contexts: verdict.contexts, ..going };
        match verdict.rewritten_by {
            Some(mod_id) => self.recheck(going, &mod_id),
            None => Ok(going),
        }
    }

    fn recheck(&mut self, going: Going, mod_id: &str) -> Step<Going> {
        let Going { call, tool, .. } = &going;
        if let Some(reason) = self.config.permissions.recheck(&**tool, &call.input) {
            self.batch.denied = true;
            let reason = format!("{reason} (after a rewrite by {mod_id})");
            return Err(Settled { call: going.call, reason, end: End::Denied });
        }
        match self.toolbox.check_input(&call.name, &call.input) {
            Ok(()) => Ok(going),
            Err(reason) => {
                let reason = format!("This call did not run: {mod_id} rewrote its input, and now {reason}");
                Err(Settled { call: going.call, reason, end: End::Errored })
            }
        }
    }

    /// Runs the tool. A panic is an error result; an interruption ends the tool, or else the waiting.
    async fn execute(&self, call: Step<Going>) -> Step<(Going, ToolOutput)> {
        let going = self.unless_over(call?)?;
        let call = &going.call;
        self.emit(EventPayload::ToolRunning {
            tool_call_id: call.id.to_string(),
            tool_name: call.name.to_string(),
            description: going.description.clone(),
        });
        let running = Arc::new(AtomicBool::new(true));
        let context = self.context(call, &*going.tool, &running);
        let work = caught(async { going.tool.run(Value::clone(&call.input), context).await });
        let ended = self.hooks.interrupt().limit(work).await;
        running.store(false, Relaxed);
        let output = match ended {
            None => ToolOutput::error(CUT_SHORT),
            Some(Err(panic)) => ToolOutput::error(format!("the tool {} panicked: {panic}", call.name)),
            Some(Ok(output)) => match tool_content(&output.content) {
                Ok(()) => output,
                Err(fault) => ToolOutput::error(format!("the tool {} {fault}", call.name)),
            },
        };
        Ok((going, output))
    }

    fn context(&self, call: &ToolCallInput, tool: &dyn Tool, running: &Arc<AtomicBool>) -> ToolContext {
        let (emitter, running) = (self.config.emitter.clone(), Arc::clone(running));
        let (id, name) = (Arc::clone(&call.id), Arc::clone(&call.name));
        let progress = move |partial: &str| {
            // Nothing is told of a call behind its end.
            if running.load(Relaxed) {
                emitter.emit(EventPayload::ToolUpdate {
                    tool_call_id: id.to_string(),
                    tool_name: name.to_string(),
                    partial: partial.to_owned(),
                });
            }
        };
        ToolContext {
            cwd: Arc::clone(&self.config.cwd),
            cancel: self.hooks.scope().cancel.clone(),
            tool_call_id: Arc::clone(&call.id),
            agent_id: Arc::clone(self.config.emitter.agent_id()),
            hidden: self.config.permissions.hidden(tool),
            progress: Arc::new(progress),
        }
    }

    /// Asks the hooks after the call, puts the result together, and tells it.
    async fn finish(&mut self, call: Step<(Going, ToolOutput)>) {
        let (Going { call, contexts, .. }, ToolOutput { content, is_error }) = match call {
            Ok(executed) => executed,
            Err(settled) => return self.settle(settled),
        };
        let verdict = self.round.after_tool_call(self.state, &call, content, is_error).await;
        self.batch.terminate |= verdict.terminate;
        self.batch.mod_state.extend(verdict.mod_state);
        let mut content = Arc::unwrap_or_clone(verdict.content);
        content.extend(contexts.into_iter().chain(verdict.contexts).map(ContentBlock::text));
        let (tool_call_id, tool_name) = (call.id.to_string(), call.name.to_string());
        self.emit(if verdict.is_error {
            let error: Vec<_> = content.iter().filter_map(ContentBlock::as_text).collect();
            EventPayload::ToolErrored { tool_call_id, tool_name, error: error.join("\n") }
        } else {
            EventPayload::ToolCompleted { tool_call_id, tool_name, result: content.clone() }
        });
        self.answer(&call, content, verdict.is_error);
    }

    fn settle(&mut self, Settled { call, reason, end }: Settled) {
        let (tool_call_id, tool_name) = (call.id.to_string(), call.name.to_string());
        let mut text = reason.clone();
        match end {
            End::Errored => {
                self.emit(EventPayload::ToolErrored { tool_call_id, tool_name, error: reason });
            }
            End::Blocked => {
                self.emit(EventPayload::ToolHookBlocked { tool_call_id, tool_name, hook_output: reason });
            }
            End::Denied => {
                text = format!("Permission denied: {reason}");
                self.batch.denied = true;
                self.emit(EventPayload::ToolDenied { tool_call_id, tool_name, reason });
            }
            End::Untold => {}
        }
        self.answer(&call, vec![ContentBlock::text(text)], true);
    }

    fn answer(&mut self, call: &ToolCallInput, content: Vec<ContentBlock>, is_error: bool) {
        let tool_use_id = call.id.to_string();
        self.batch.results.push(ContentBlock::ToolResult { tool_use_id, content, is_error });
    }

    /// Settles a call of a batch of which nothing more may begin.
    fn unless_over(&self, going: Going) -> Step<Going> {
        let reason = match (self.hooks.interrupt().happened(), self.batch.denied) {
            (true, _) => INTERRUPTED,
            (false, true) => NOT_RUN,
            (false, false) => return Ok(going),
        };
        Err(Settled { call: going.call, reason: reason.to_owned(), end: End::Untold })
    }

    fn emit(&self, event: EventPayload) {
        self.config.emitter.emit(event);
    }
}

/// Awaits `work`; a panic is its message.
async fn caught<T>(work: impl Future<Output = T>) -> Result<T, String> {
    AssertUnwindSafe(work).catch_unwind().await.map_err(|panic| {
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        text.unwrap_or("without a message").to_owned()
    })
}

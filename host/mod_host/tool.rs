use std::{convert::Infallible, future::pending, sync::Arc, time::Duration};

use futures::future::BoxFuture;
use mod_interface::{
    abi::{Callable, Completed, OwnFrame, decode_tool},
    types::{NoticeLevel, ToolOutput, ToolSpec},
};
use serde_json::Value;
use tokio::time::sleep;

use super::{
    Core,
    adapter::settle,
    alone,
    clock::Clock,
    frame::{ModFrame, Question, ToolQuestion},
    identity::ModIdentity,
    journal::place,
};
use crate::{
    events::Emitter,
    hooks::{HookFault, tool_content},
    tools::{Tool, ToolContext},
};

/// A tool that takes longer is named, so that nobody wonders what a run is waiting for.
const LONG: Duration = Duration::from_secs(30);

/// A tool of a mod, as the run sees it: like any other.
pub(crate) struct ModTool {
    core: Arc<Core>,
    owner: Arc<ModIdentity>,
    spec: ToolSpec,
    callable: Callable,
}

impl ModTool {
    pub(crate) fn new(
        core: &Arc<Core>,
        owner: &Arc<ModIdentity>,
        spec: ToolSpec,
        callable: Callable,
    ) -> Self {
        Self { core: Arc::clone(core), owner: Arc::clone(owner), spec, callable }
    }

    /// The answer of one call, unless an interruption comes first, or the end of the tool's own time.
    async fn answer(
        &self,
        input: &Value,
        ctx: ToolContext,
        emitter: &Emitter,
    ) -> Result<Completed, HookFault> {
        let cancel = ctx.cancel.clone();
        let (name, input) = (self.spec.name.clone(), input.to_string());
        let question = Question::Tool(Arc::new(ToolQuestion { name, input, ctx }));
        let clock = Clock::default();
        let frame = ModFrame::new(&self.core, &self.owner, question).timed_by(clock.clone());
        let place = (place::TOOL, self.spec.name.as_str());
        let answer = alone::begin(&self.core, &self.owner, place, &self.callable, OwnFrame::new(frame))?;
        tokio::select! {
            biased;
            answer = answer => answer.unwrap_or_else(|_| Err(alone::no_answer())),
            () = cancel.cancelled() => Err(HookFault::Error("interrupted".to_owned())),
            fault = clock.over(self.core.tool_timeout) => Err(fault),
            never = self.tell_of_a_long_call(emitter) => match never {},
        }
    }

    async fn tell_of_a_long_call(&self, emitter: &Emitter) -> Infallible {
        sleep(LONG).await;
        let (id, name, seconds) = (&self.owner.id, &self.spec.name, LONG.as_secs());
        let text =
            format!("the tool {name} of {id} has been running for {seconds} s; an interruption ends it");
        emitter.notice(NoticeLevel::Warning, text);
        pending().await
    }
}

impl Tool for ModTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run(&self, input: Value, ctx: ToolContext) -> BoxFuture<'_, ToolOutput> {
        Box::pin(async move {
            let emitter = self.core.bus.emitter(Arc::clone(&ctx.agent_id));
            let cancel = ctx.cancel.clone();
            let answer = self.answer(&input, ctx, &emitter).await;
            let output = answer.and_then(|completed| {
                let output = decode_tool(settle(&completed)?).map_err(HookFault::Invalid)?;
                tool_content(&output.content).map(|()| output)
            });
            output.unwrap_or_else(|fault| {
                if !cancel.is_cancelled() {
                    emitter.mod_error(&self.owner.id, &format!("tool:{}", self.spec.name), fault.to_string());
                }
                ToolOutput::error(format!("The tool failed: {fault}"))
            })
        })
    }
}

#[cfg(test)]
#[path = "tool_tests.rs"]
mod tests;

use std::sync::Arc;

use futures::future::BoxFuture;
use mod_interface::{
    abi::{Answer, Callable, OwnFrame, decode_tool},
    types::{ToolOutput, ToolSpec},
};
use serde_json::Value;

use super::{
    Core,
    adapter::{Entry, enter},
    frame::{ModFrame, Question},
    identity::ModIdentity,
    journal::place,
};
use crate::{
    hooks::{HookFault, tool_content},
    tools::{Tool, ToolContext},
};

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

    async fn answer(&self, input: &Value, ctx: ToolContext) -> Result<Answer, HookFault> {
        let cancel = ctx.cancel.clone();
        let (name, input) = (self.spec.name.as_str().into(), input.to_string().into());
        let question = Question::Tool { name, input, ctx };
        let frame = OwnFrame::new(ModFrame::new(&self.core, &self.owner, question));
        let entry = enter(&self.core.journal, &self.owner, place::TOOL, |reply| {
            self.callable.call(frame.frame(), reply)
        });
        match entry {
            Entry::Ready(answer) => answer,
            // A tool has all the time that it takes; an interruption ends it.
            Entry::Pending(pending) => tokio::select! {
                answer = pending.bounded(frame.host().clock(), None) => answer,
                () = cancel.cancelled() => Err(HookFault::Error("interrupted".to_owned())),
            },
        }
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
            let answer = self.answer(&input, ctx).await;
            let output = answer.and_then(|answer| {
                let output = decode_tool(&answer).map_err(HookFault::Invalid)?;
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

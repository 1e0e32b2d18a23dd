use std::sync::Arc;

use futures::future::{BoxFuture, ready};
use mod_interface::types::{ToolOutput, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    agent::{AGENT_TOOL, SubagentTask, Subagents},
    tools::{Tool, ToolContext},
};

const DESCRIPTION: &str = "Gives a task to a sub-agent, which works on it with the same tools in a \
    conversation of its own, and answers with its result. It knows nothing of this conversation: the prompt \
    must say all that it needs, and what to answer. Good for wide searches, and for work that would fill \
    this conversation with what is not needed later.";
const GENERAL: &str = "general";

/// The tool that begins a sub-agent.
pub(super) struct AgentTool {
    spec: ToolSpec,
    subagents: Arc<Subagents>,
}

#[derive(Deserialize)]
struct Input {
    prompt: String,
    subagent_type: Option<String>,
}

impl AgentTool {
    pub(super) fn new(subagents: Arc<Subagents>) -> Self {
        let text = |description: &str| json!({ "type": "string", "description": description });
        let spec = ToolSpec {
            name: AGENT_TOOL.to_owned(),
            description: DESCRIPTION.to_owned(),
            input_schema: json!({
                "type": "object",
                "properties": {
                    "description": text("The task in a few words, for the user."),
                    "prompt": text("The task, with all that the sub-agent needs to know."),
                    "subagent_type": text("A word for the kind of worker, for the user; general when not given."),
                },
                "required": ["description", "prompt"],
                "additionalProperties": false,
            }),
            // It changes nothing itself: each call of the sub-agent is judged for what it is.
            read_only: true,
        };
        Self { spec, subagents }
    }
}

impl Tool for AgentTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn describe(&self, input: &Value) -> BoxFuture<'_, Option<String>> {
        let description = input.get("description").and_then(Value::as_str).map(str::to_owned);
        Box::pin(ready(description))
    }

    fn run(&self, input: Value, ctx: ToolContext) -> BoxFuture<'_, ToolOutput> {
        Box::pin(async move {
            let Input { prompt, subagent_type, .. } = match serde_json::from_value(input) {
                Ok(input) => input,
                Err(error) => return ToolOutput::error(format!("bad input for {AGENT_TOOL}: {error}")),
            };
            let task = SubagentTask {
                tool_call_id: ctx.tool_call_id,
                parent_id: ctx.agent_id,
                subagent_type: subagent_type.unwrap_or_else(|| GENERAL.to_owned()),
                prompt,
                cancel: ctx.cancel,
            };
            self.subagents.run(task).await.map_or_else(ToolOutput::error, ToolOutput::text)
        })
    }
}

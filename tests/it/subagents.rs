//! The built-in tool `agent`, with a real mod that guards it.

use host::harness::Recording;
use mod_interface::types::{EventPayload, PermissionMode};
use serde_json::json;

use crate::support::session::{Folders, library, play};

#[tokio::test]
async fn a_mod_guards_the_calls_of_a_sub_agent() {
    let folders = Folders::new();
    let scenario = json!({ "turns": [
        { "tool_calls": [{ "id": "c1", "name": "agent", "input": {
            "description": "tidy up", "prompt": "Tidy up.", "subagent_type": "cleaner",
        } }], "expect": { "tools_include": ["agent"] } },
        { "tool_calls": [{ "id": "d1", "name": "shell_command", "input": { "command": "rm -rf ." } }],
          "expect": { "last_user_contains": "Tidy up.", "messages_count": 1, "tools_exclude": ["agent"],
                      "system_contains": "You are a sub-agent" },
          "usage": { "input_tokens": 7 } },
        { "text": "It was blocked." },
        { "text": "done", "expect": { "tool_result_contains": { "id": "c1", "text": "It was blocked." } } },
    ] });
    let record = play(&folders, &scenario, |builder| {
        builder
            .mods([library("block-dangerous-commands")])
            .permission_mode(Some(PermissionMode::Bypass))
            .record(Recording::InMemory)
    })
    .await;
    assert_eq!(record.warnings, Vec::<String>::new());
    let told = record.events.iter().filter_map(|event| {
        let what = match &event.payload {
            EventPayload::SubagentStart { tool_call_id, subagent_type } => {
                format!("{tool_call_id} {subagent_type}")
            }
            EventPayload::SubagentProgress { tool_name, tokens_used, .. } => {
                format!("{tool_name} {tokens_used}")
            }
            EventPayload::SubagentStop { tokens_used, .. } => tokens_used.to_string(),
            EventPayload::ToolRunning { tool_name, description, .. } => {
                format!("{tool_name} {description:?}")
            }
            EventPayload::ToolHookBlocked { tool_name, .. } => tool_name.clone(),
            EventPayload::RunStart { .. } | EventPayload::RunEnd { .. } => String::new(),
            _ => return None,
        };
        Some(format!("{} {} {what}", event.agent_id, event.payload.kind().as_str()).trim_end().to_owned())
    });
    assert_eq!(
        told.collect::<Vec<_>>(),
        [
            "main run_start",
            "main tool_running agent Some(\"tidy up\")",
            "main subagent_start c1 cleaner",
            "agent:c1 run_start",
            "main subagent_progress shell_command 7",
            "agent:c1 tool_hook_blocked shell_command",
            "agent:c1 run_end",
            "main subagent_stop 7",
            "main run_end",
        ]
    );
    assert_eq!(record.result.unwrap().final_text, "done");
}

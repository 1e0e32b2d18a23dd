//! A conversation that looks like one, and what each hook is asked about it.

use std::{path::Path, sync::Arc};

use mod_interface::types::{
    AgentState, ContentBlock, Hook, Message, MessageSource, Role, RunResult, SessionChange, SessionEndReason,
    SessionStartSource, StopReason, Usage,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{
    hooks::{HookInput, Scope, Subject, ToolCallInput},
    mod_host::ModHost,
};

/// What the model says at its end.
const ANSWER: &str = "There are two files in this folder: Cargo.toml and README.md.";
const LISTING: &str = "Cargo.toml\nREADME.md\n";

/// What `hook` is asked in a conversation of so many messages, in its last round.
pub(super) fn input(hook: Hook, messages: usize, host: &ModHost, cwd: &Path) -> HookInput {
    let state = conversation(messages);
    HookInput {
        hook,
        scope: Arc::new(Scope::new(host.events(), CancellationToken::new(), cwd)),
        turn_number: 1,
        subject: subject(hook, &state),
        state,
    }
}

fn subject(hook: Hook, state: &AgentState) -> Subject {
    let usage = Usage { input_tokens: 1200, output_tokens: 80, ..Usage::default() };
    match hook {
        Hook::TransformContext => Subject::Context(Arc::clone(&state.messages)),
        Hook::BeforeToolCall => Subject::ToolCall(call()),
        Hook::AfterToolCall => Subject::ToolResult {
            call: call(),
            content: Arc::new(vec![ContentBlock::text(LISTING)]),
            is_error: false,
        },
        Hook::OnTurnEnd => Subject::TurnEnd { had_tool_calls: true, usage },
        Hook::OnRunEnd => Subject::RunEnd(Arc::new(RunResult {
            final_text: ANSWER.to_owned(),
            stop_reason: StopReason::EndTurn,
            turn_count: 2,
            usage,
        })),
        Hook::OnStop => {
            Subject::Stop { stop_reason: StopReason::EndTurn, last_assistant_text: ANSWER.into() }
        }
        Hook::TransformInput => Subject::Prompt("What is in this folder?".into()),
        Hook::OnSessionStart => Subject::Session(SessionChange::Start(SessionStartSource::Startup)),
        Hook::OnSessionEnd => Subject::Session(SessionChange::End(SessionEndReason::Shutdown)),
        Hook::AppendSystemPrompt | Hook::OnTurnStart | Hook::ShouldStopAfterTurn | Hook::PrepareNextTurn => {
            Subject::None
        }
    }
}

fn call() -> ToolCallInput {
    ToolCallInput {
        id: "call_1".into(),
        name: "shell_command".into(),
        input: Arc::new(json!({ "command": "ls" })),
    }
}

/// A question, a call, its result, an answer; and so on.
fn conversation(messages: usize) -> AgentState {
    let mut state = AgentState::new("bench");
    for number in 0..messages {
        let id = format!("call_{}", number / 4);
        state.push(match number % 4 {
            0 => Message::user("What is in this folder?"),
            1 => Message::assistant(vec![ContentBlock::ToolUse {
                id,
                name: "shell_command".to_owned(),
                input: json!({ "command": "ls" }),
            }]),
            2 => Message {
                role: Role::User,
                content: vec![ContentBlock::ToolResult {
                    tool_use_id: id,
                    content: vec![ContentBlock::text(LISTING)],
                    is_error: false,
                }],
                source: MessageSource::ToolResults,
            },
            _ => Message::assistant(vec![ContentBlock::text(ANSWER)]),
        });
    }
    state
}

//! Each hook as a run asks it, with all that belongs to a round.

use std::{hint::black_box, path::Path, sync::Arc};

use host::{
    events::EventBus,
    hooks::{HookRunner, Mods, Round, Scope, ToolCallInput},
    mod_host::ModHost,
};
use mod_interface::types::{
    AgentState, ContentBlock, Hook, NextTurn, RunResult, SessionChange, SessionEndReason, SessionStartSource,
    StopReason, Usage,
};
use tokio_util::sync::CancellationToken;

use super::{
    jobs::{conversation, shell_command},
    ways::{finish, look_at},
};

/// What the hooks are asked about.
struct Asked {
    state: AgentState,
    call: ToolCallInput,
    content: Vec<ContentBlock>,
    result: Arc<RunResult>,
    text: Arc<str>,
}

/// Asks the mods of `host` at `hook`, in a conversation of so many messages.
pub(crate) fn in_a_run(host: &ModHost, hook: Hook, messages: usize) -> impl FnMut() + use<> {
    let scope = Scope::new(EventBus::new().main(), CancellationToken::new(), Path::new("/"));
    let (runner, handlers) = (HookRunner::new(Arc::new(scope)), host.handlers());
    let result = RunResult {
        final_text: String::new(),
        stop_reason: StopReason::EndTurn,
        turn_count: 1,
        usage: Usage::default(),
    };
    let mut asked = Asked {
        state: conversation(messages),
        call: shell_command(),
        content: vec![ContentBlock::text("what the tool said")],
        result: result.into(),
        text: "what the model said last".into(),
    };
    move || {
        let round = runner.round(Arc::clone(&handlers), 1);
        finish(ask(&round, hook, black_box(&mut asked)));
    }
}

async fn ask(round: &Round<'_>, hook: Hook, asked: &mut Asked) {
    let Asked { state, call, content, result, text } = asked;
    match hook {
        Hook::TransformContext => {
            look_at(&round.transform_context(state, state.messages.clone()).await);
        }
        Hook::AppendSystemPrompt => look_at(&round.append_system_prompt(state).await),
        Hook::BeforeToolCall => look_at(&round.before_tool_call(state, call).await),
        Hook::AfterToolCall => look_at(&round.after_tool_call(state, call, content.clone(), false).await),
        Hook::OnTurnStart => round.on_turn_start(state).await,
        Hook::OnTurnEnd => round.on_turn_end(state, true, Usage::default()).await,
        Hook::ShouldStopAfterTurn => look_at(&round.should_stop_after_turn(state).await),
        Hook::PrepareNextTurn => {
            look_at(&round.prepare_next_turn(state, NextTurn::default(), |_| Ok(())).await);
        }
        Hook::OnRunEnd => round.on_run_end(state, Arc::clone(result)).await,
        Hook::OnStop => look_at(&round.on_stop(state, StopReason::EndTurn, Arc::clone(text)).await),
        Hook::TransformInput => look_at(&round.transform_input(state, Arc::clone(text)).await),
        Hook::OnSessionStart => {
            round.on_session(state, SessionChange::Start(SessionStartSource::Startup)).await;
        }
        Hook::OnSessionEnd => round.on_session(state, SessionChange::End(SessionEndReason::Shutdown)).await,
    }
}

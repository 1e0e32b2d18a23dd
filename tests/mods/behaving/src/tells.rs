//! Tells by an event of its own when it is asked, and which agent it is about.

use mod_interface::prelude::*;

macro_rules! telling {
    ($me:ident, $($hook:literal => $name:ident($answer:expr),)*) => {
        Hooks::new()$(.$name({
            let me = $me.clone();
            move |_, ctx| {
                ctx.emit("asked", &json!([format!("{me} {}", $hook), ctx.agent_id()]))?;
                Ok($answer)
            }
        }))*
    };
}

/// The hooks that do `what`.
pub(crate) fn hooks(me: &str, what: &str) -> Option<Hooks> {
    let me = me.to_owned();
    (what == "tell").then(|| {
        telling!(me,
            "transformContext" => transform_context_sync(Vec::new()),
            "appendSystemPrompt" => append_system_prompt_sync(None),
            "beforeToolCall" => before_tool_call_sync(None),
            "afterToolCall" => after_tool_call_sync(None),
            "onTurnStart" => on_turn_start_sync(StatePatch::default()),
            "onTurnEnd" => on_turn_end_sync(StatePatch::default()),
            "shouldStopAfterTurn" => should_stop_after_turn_sync(false),
            "prepareNextTurn" => prepare_next_turn_sync(None),
            "onRunEnd" => on_run_end_sync(()),
            "onStop" => on_stop_sync(StopDecision::Stop),
            "transformInput" => transform_input_sync(TransformInput::Continue),
            "onSessionStart" => on_session_start_sync(()),
            "onSessionEnd" => on_session_end_sync(()),
        )
    })
}

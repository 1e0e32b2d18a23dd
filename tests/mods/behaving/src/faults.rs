//! Fails at a hook, every time: `fail-<how>:<hook>`.

use mod_interface::prelude::*;

use crate::later::later;

macro_rules! failing {
    ($how:ident at $at:ident, $($hook:literal => $name:ident -> $answer:ty,)*) => {
        match $at {
            $($hook => Hooks::new().$name(move |_, _| {
                let how = $how.clone();
                async move { Err::<$answer, _>(fail(&how).await) }
            }),)*
            _ => return None,
        }
    };
}

/// The hooks that do `what`.
pub(crate) fn hooks(what: &str) -> Option<Hooks> {
    let (how, at) = what.strip_prefix("fail-")?.split_once(':')?;
    let how = how.to_owned();
    Some(failing!(how at at,
        "transformContext" => transform_context -> Vec<MessageEdit>,
        "appendSystemPrompt" => append_system_prompt -> Option<String>,
        "beforeToolCall" => before_tool_call -> Option<BeforeToolCall>,
        "afterToolCall" => after_tool_call -> Option<AfterToolCall>,
        "onTurnStart" => on_turn_start -> StatePatch,
        "onTurnEnd" => on_turn_end -> StatePatch,
        "shouldStopAfterTurn" => should_stop_after_turn -> bool,
        "prepareNextTurn" => prepare_next_turn -> Option<NextTurn>,
        "onRunEnd" => on_run_end -> (),
        "onStop" => on_stop -> StopDecision,
        "transformInput" => transform_input -> TransformInput,
        "onSessionStart" => on_session_start -> (),
        "onSessionEnd" => on_session_end -> (),
    ))
}

#[expect(clippy::panic, reason = "one of the ways to fail")]
async fn fail(how: &str) -> Error {
    if how == "later" {
        later().await;
    }
    match how {
        "panic" => panic!("failed"),
        "hang" => std::future::pending().await,
        _ => Error::msg("failed"),
    }
}

use mod_interface::{abi::ModRootRef, builtin_mod, prelude::*};
use tokio::task::yield_now;

/// Mods that have every hook, and no opinion: what a hook costs at least.
pub(crate) struct Empty {
    /// Its answers are there at once.
    pub(crate) ready: ModRootRef,
    /// Its answers are pending once.
    pub(crate) pending: ModRootRef,
}

/// Both of them.
pub(crate) fn empty() -> Empty {
    Empty { ready: builtin_mod!("empty", no_opinion), pending: builtin_mod!("empty-pending", later) }
}

async fn no_opinion(cmd: ModApi) -> Result<()> {
    let hooks = Hooks::new()
        .transform_context_sync(|_, _| Ok(Vec::new()))
        .append_system_prompt_sync(|_, _| Ok(None))
        .before_tool_call_sync(|_, _| Ok(None))
        .after_tool_call_sync(|_, _| Ok(None))
        .on_turn_start_sync(|_, _| Ok(StatePatch::default()))
        .on_turn_end_sync(|_, _| Ok(StatePatch::default()))
        .should_stop_after_turn_sync(|_, _| Ok(false))
        .prepare_next_turn_sync(|_, _| Ok(None))
        .on_run_end_sync(|_, _| Ok(()))
        .on_stop_sync(|_, _| Ok(StopDecision::Stop))
        .transform_input_sync(|_, _| Ok(TransformInput::Continue))
        .on_session_start_sync(|_, _| Ok(()))
        .on_session_end_sync(|_, _| Ok(()));
    cmd.hooks(hooks)?;
    Ok(())
}

async fn later(cmd: ModApi) -> Result<()> {
    let hooks = Hooks::new()
        .transform_context(|_, _| yielded(Vec::new()))
        .append_system_prompt(|_, _| yielded(None))
        .before_tool_call(|_, _| yielded(None))
        .after_tool_call(|_, _| yielded(None))
        .on_turn_start(|_, _| yielded(StatePatch::default()))
        .on_turn_end(|_, _| yielded(StatePatch::default()))
        .should_stop_after_turn(|_, _| yielded(false))
        .prepare_next_turn(|_, _| yielded(None))
        .on_run_end(|_, _| yielded(()))
        .on_stop(|_, _| yielded(StopDecision::Stop))
        .transform_input(|_, _| yielded(TransformInput::Continue))
        .on_session_start(|_, _| yielded(()))
        .on_session_end(|_, _| yielded(()));
    cmd.hooks(hooks)?;
    Ok(())
}

async fn yielded<T>(answer: T) -> Result<T> {
    yield_now().await;
    Ok(answer)
}

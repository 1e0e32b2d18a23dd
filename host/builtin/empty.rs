use mod_interface::{abi::ModRootRef, builtin_mod, prelude::*};

/// A mod that has every hook, and no opinion: what a hook costs at least.
pub(crate) fn empty() -> ModRootRef {
    builtin_mod!("empty", no_opinion)
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

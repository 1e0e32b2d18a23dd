//! Follows a session from its start to its end: says how it began, comments on tools that fail, asks once for a
//! summary where a run would end, and says at the end what it saw.
#![forbid(unsafe_code)]

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU32, Ordering::Relaxed},
};

use mod_interface::prelude::*;

export_mod!(lifecycle_hooks);

#[derive(Default)]
struct Seen {
    failures: AtomicU32,
    subagents: AtomicU32,
    asked: AtomicBool,
}

async fn lifecycle_hooks(cmd: ModApi) -> Result<()> {
    let seen = Arc::new(Seen::default());
    let counting = Arc::clone(&seen);
    // What the hooks share comes first in each; a closure can also capture clones of its own.
    let hooks = Hooks::sharing(&seen)
        .on_session_start(|_, session, ctx| async move {
            ctx.ui().notify(&format!("lifecycle-hooks: session {}", session.reason()));
            Ok(())
        })
        // Behind every call, also one that failed: what it returns is added for the model to read.
        .after_tool_call_sync(|seen, result, _| {
            if !result.is_error() {
                return Ok(None);
            }
            seen.failures.fetch_add(1, Relaxed);
            Ok(Some(AfterToolCall::context("Look at the error before you try the same again.")))
        })
        // Where a run would end by itself. A hook that always goes on is stopped after some rounds.
        .on_stop_sync(|seen, _, _| {
            if seen.failures.load(Relaxed) == 0 || seen.asked.swap(true, Relaxed) {
                return Ok(StopDecision::Stop);
            }
            Ok(StopDecision::go_on("Say in one line what failed, and why."))
        })
        .on_session_end_sync(|seen, session, ctx| {
            let (failures, subagents) = (seen.failures.load(Relaxed), seen.subagents.load(Relaxed));
            let text = format!("{}, {failures} failed calls, {subagents} sub-agents", session.reason());
            ctx.ui().notify(&format!("lifecycle-hooks: {text}"));
            Ok(())
        });
    cmd.hooks(hooks)?;
    cmd.on(EventKind::SubagentStart, move |_| {
        counting.subagents.fetch_add(1, Relaxed);
    })?;
    Ok(())
}

//! The job that `benches/hook_overhead` measures: looks at a tool's name, and has no opinion. By option
//! `overhead.form` as a plain closure (`sync`), as one that is ready at once (`ready`), or as one that is
//! pending at its first poll (`pending`).
#![forbid(unsafe_code)]

use std::{
    future::poll_fn,
    task::{Context, Poll},
};

use mod_interface::prelude::*;

export_mod!(overhead);

/// The name that the hook looks for.
pub const NEVER: &str = "a_tool_that_is_never_called";

/// The factory; public for the benchmark's compiled-in form.
pub async fn overhead(cmd: ModApi) -> Result<()> {
    let form = cmd.get_flag("form")?.unwrap_or_default();
    let hooks = Hooks::new();
    let hooks = match form.as_str() {
        "sync" => hooks.before_tool_call_sync(|call, _ctx| Ok(judge(call))),
        "pending" => hooks.before_tool_call(|call, _ctx| async move {
            pending_once().await;
            Ok(judge(&call))
        }),
        _ => hooks.before_tool_call(|call, _ctx| async move { Ok(judge(&call)) }),
    };
    cmd.hooks(hooks)?;
    Ok(())
}

fn judge(call: &ToolCall) -> Option<BeforeToolCall> {
    (call.tool_name() == NEVER).then(|| BeforeToolCall::block("never"))
}

async fn pending_once() {
    let mut polled = false;
    poll_fn(move |cx: &mut Context<'_>| {
        if std::mem::replace(&mut polled, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

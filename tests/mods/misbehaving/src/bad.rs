//! The bad things. Tests compile this file in too: what holds of a shared library holds of a mod that is compiled in.

#[path = "odd.rs"]
mod odd;

use std::{
    future::poll_fn,
    pin::Pin,
    sync::{Arc, OnceLock},
    task::{Context, Poll},
    time::Duration,
};

use mod_interface::prelude::*;

/// The registration of the hooks, for the hook that disposes itself.
type Own = Arc<OnceLock<Registration>>;

/// The factory.
pub(crate) async fn misbehaving(cmd: ModApi) -> Result<()> {
    let at: String = cmd.get_flag("at")?.unwrap_or_default();
    let how: String = cmd.get_flag("how")?.unwrap_or_default();
    if at == "factory" {
        cmd.add_command(Command::new("left-behind", "").run(|_| async { Ok(CommandOutcome::Done) }))?;
        now(&how);
        later(&how).await?;
    }
    if at == "observer" {
        let how = how.clone();
        cmd.on(EventKind::TurnStart, move |_| now(&how))?;
    }
    add_tool(&cmd, &at, &how)?;
    if how == "flood-bus" {
        let api = cmd.clone();
        cmd.events().on("flood", move |message| api.ui().notify(&format!("heard {}", message.json())))?;
    }
    let own = Own::default();
    let registration = cmd.hooks(hooks(&cmd, &own, &at, &how))?;
    own.set(registration).map_err(|_| Error::msg("set twice"))
}

fn add_tool(cmd: &ModApi, at: &str, how: &str) -> Result<()> {
    let how = if at == "tool" { how.to_owned() } else { String::new() };
    let tool = Tool::new("misbehave", "Does the bad thing").read_only().run(move |_| {
        now(&how);
        let how = how.clone();
        async move {
            later(&how).await?;
            Ok("behaved")
        }
    });
    cmd.add_tool(tool)?;
    Ok(())
}

macro_rules! hooks_at {
    ($cmd:expr, $own:expr, $at:expr, $how:expr, $($hook:literal => $name:ident($answer:expr),)*) => {{
        let mut hooks = Hooks::new();
        $(if $at == $hook {
            let how: String = $how.to_owned();
            let (api, own) = ($cmd.clone(), Arc::clone($own));
            hooks = hooks.$name(move |_, ctx| {
                now(&how);
                let (how, api, own) = (how.clone(), api.clone(), Arc::clone(&own));
                async move {
                    odd::call(&how, &api, &ctx, own.get()).await?;
                    later(&how).await?;
                    Ok($answer)
                }
            });
        })*
        hooks
    }};
}

fn hooks(cmd: &ModApi, own: &Own, at: &str, how: &str) -> Hooks {
    let hooks = hooks_at!(cmd, own, at, how,
        "transformContext" => transform_context(Vec::new()),
        "appendSystemPrompt" => append_system_prompt(None),
        "beforeToolCall" => before_tool_call(None),
        "afterToolCall" => after_tool_call(None),
        "onTurnStart" => on_turn_start(StatePatch::default()),
        "onTurnEnd" => on_turn_end(StatePatch::default()),
        "shouldStopAfterTurn" => should_stop_after_turn(false),
        "prepareNextTurn" => prepare_next_turn(None),
        "onRunEnd" => on_run_end(()),
        "onStop" => on_stop(StopDecision::Stop),
        "transformInput" => transform_input(TransformInput::Continue),
        "onSessionStart" => on_session_start(()),
        "onSessionEnd" => on_session_end(()),
    );
    if how == "fail-closed" { hooks.fail_closed() } else { hooks }
}

/// Never returns.
pub(crate) fn block() -> ! {
    loop {
        std::thread::sleep(Duration::from_secs(1));
    }
}

/// What goes wrong when the code is called. `block:PATH` leaves a mark there and never returns.
fn now(how: &str) {
    match how {
        "panic-called" | "fail-closed" => panic!("called"),
        "panic-payload" => std::panic::panic_any(Bomb),
        "spin" => std::thread::sleep(Duration::from_secs(3)),
        _ => {
            if let Some(mark) = how.strip_prefix("block:") {
                drop(std::fs::write(mark, "inside"));
                block();
            }
        }
    }
}

/// What goes wrong when its future is polled or dropped.
async fn later(how: &str) -> Result<()> {
    match how {
        "error" => Err(Error::msg("went wrong")),
        "panic-polled" => panic!("polled"),
        "panic-polled-later" => {
            pending_once().await;
            panic!("polled again");
        }
        "panic-dropped" => {
            let _bomb = Bomb;
            Ok(())
        }
        "panic-dropped-later" => {
            let _bomb = Bomb;
            pending_once().await;
            Ok(())
        }
        "hang" => std::future::pending().await,
        "hang-and-panic-dropped" => {
            let _bomb = Bomb;
            std::future::pending().await
        }
        _ => Ok(()),
    }
}

/// Is pending at its first poll, and ready at the next.
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

/// Panics when dropped, with a payload that does the same.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            std::panic::panic_any(Pin::new(Box::new(Self)));
        }
    }
}

//! Registers, and undoes it.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use mod_interface::prelude::*;

/// Does `what` with registrations, if it is of them.
pub(crate) fn add(cmd: &ModApi, me: &str, what: &str) -> Result<bool> {
    let (api, me) = (cmd.clone(), me.to_owned());
    match what {
        "prompt-until-called" => {
            let prompt = cmd.hooks(prompt(&me))?;
            at_call(cmd, move || undo(&prompt))?;
        }
        "watch-until-called" => {
            let watch =
                cmd.on(EventKind::TurnEnd, move |_| api.ui().notify(&format!("{me} sees a turn end")))?;
            at_call(cmd, move || undo(&watch))?;
        }
        "forge-watching" => {
            cmd.on(EventKind::TurnStart, |event| {
                // Refused, and told by the host.
                let _forged = event.ctx().emit("run_end", &json!({ "result": "forged" }));
            })?;
        }
        "hear-until-called" => {
            let hear = cmd.events().on("greetings", move |_| api.ui().notify(&format!("{me} hears")))?;
            at_call(cmd, move || undo(&hear))?;
        }
        "tool-until-called" => {
            let tool = cmd.add_tool(tool("early"))?;
            at_call(cmd, move || undo(&tool))?;
        }
        "block-until-called" => {
            let itself: Arc<OnceLock<Registration>> = Arc::default();
            let known = Arc::clone(&itself);
            let hooks = Hooks::new().before_tool_call_sync(move |_, _| {
                known.get().into_iter().for_each(undo);
                Ok(Some(BeforeToolCall::block(format!("blocked by {me}"))))
            });
            // It is set once, here.
            let _set = itself.set(cmd.hooks(hooks)?);
        }
        "tool-at-call" => at_call(cmd, move || drop(api.add_tool(tool("late"))))?,
        "command-until-called" => {
            let command = cmd.add_command(
                Command::new("wave", "Waves").run(|_| async { Ok(CommandOutcome::message("waved")) }),
            )?;
            at_call(cmd, move || undo(&command))?;
        }
        "prompt-again-at-call" => {
            let first = cmd.hooks(prompt(&me))?;
            cmd.hooks(prompt(&format!("{me}2")))?;
            at_call(cmd, move || {
                undo(&first);
                drop(api.hooks(prompt(&format!("{me}3"))));
            })?;
        }
        _ => return until_told(cmd, me, what),
    }
    Ok(true)
}

/// What disposes itself, and one that stands behind it, while it is told something.
fn until_told(cmd: &ModApi, me: String, what: &str) -> Result<bool> {
    let both: Arc<OnceLock<[Registration; 2]>> = Arc::default();
    let (known, first, second) = (Arc::clone(&both), cmd.clone(), cmd.clone());
    let also = format!("{me} is told too");
    let forget = move || {
        known.get().into_iter().flatten().for_each(undo);
        first.ui().notify(&format!("{me} is told, and forgets it"));
    };
    let registrations = match what {
        "watch-until-told" => [
            cmd.on(EventKind::TurnStart, move |_| forget())?,
            cmd.on(EventKind::TurnStart, move |_| second.ui().notify(&also))?,
        ],
        "hear-until-told" => [
            cmd.events().on("greetings", move |_| forget())?,
            cmd.events().on("greetings", move |_| second.ui().notify(&also))?,
        ],
        _ => return Ok(false),
    };
    // It is set once, here.
    let _set = both.set(registrations);
    Ok(true)
}

fn prompt(me: &str) -> Hooks {
    let text = format!("prompt of {me}");
    Hooks::new().append_system_prompt_sync(move |_, _| Ok(Some(text.clone())))
}

fn tool(name: &str) -> Tool {
    let said = format!("{name} ran");
    Tool::new(name, "Says that it ran").read_only().run(move |_| {
        let said = said.clone();
        async move { Ok(said) }
    })
}

/// Twice is once.
pub(crate) fn undo(registration: &Registration) {
    registration.dispose();
    registration.dispose();
}

/// Does it in the first tool call of a session, in the middle of a round.
pub(crate) fn at_call(cmd: &ModApi, act: impl FnOnce() + Send + 'static) -> Result<()> {
    let act = Arc::new(Mutex::new(Some(act)));
    cmd.hooks(Hooks::new().before_tool_call_sync(move |_, _| {
        let act = act.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(act) = act {
            act();
        }
        Ok(None)
    }))?;
    Ok(())
}

//! On the bus between mods.

use mod_interface::prelude::*;

const GREETINGS: &str = "greetings";

/// Does `what` on the bus, if it is of it.
#[expect(clippy::panic, reason = "one of the things that it does")]
pub(crate) fn add(cmd: &ModApi, me: &str, what: &str) -> Result<bool> {
    let (api, me) = (cmd.clone(), me.to_owned());
    match what {
        "speak" => {
            cmd.hooks(Hooks::new().on_turn_start_sync(move |turn, ctx| {
                let greeting = json!({ "from": me, "turn": turn.turn_number() });
                let spoken = api.events().emit(GREETINGS, &greeting);
                ctx.emit("spoken", &json!(spoken.map_err(|error| error.to_string())))?;
                Ok(StatePatch::default())
            }))?;
        }
        "speak-at-start" => cmd.events().emit(GREETINGS, &json!({ "from": me, "turn": 0 }))?,
        "hear" => {
            cmd.events().on(GREETINGS, move |message| {
                api.ui().notify(&format!("{me} hears on {}: {}", message.channel(), message.json()));
            })?;
        }
        "hear-and-panic" => {
            cmd.events().on(GREETINGS, |_| -> Result<()> { panic!("cannot hear") })?;
        }
        "echo" => {
            cmd.events().on(GREETINGS, move |message| {
                let said: Value = message.data().unwrap_or_default();
                // A refusal is told by the host.
                let _refused = api.events().emit(GREETINGS, &said);
            })?;
        }
        "answer" => {
            cmd.events().on(GREETINGS, move |_| {
                // A refusal is told by the host.
                let _refused = api.events().emit("answers", &json!(me));
            })?;
        }
        "hear-answers" => {
            cmd.events().on("answers", move |message| {
                api.ui().notify(&format!("{me} hears the answer {}", message.json()));
            })?;
        }
        _ => return Ok(false),
    }
    Ok(true)
}

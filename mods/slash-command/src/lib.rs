//! Two slash commands: `/todos` asks the model, `/roll` answers itself.
#![forbid(unsafe_code)]

use std::time::{SystemTime, UNIX_EPOCH};

use mod_interface::prelude::*;

export_mod!(slash_command);

async fn slash_command(cmd: ModApi) -> Result<()> {
    // What it returns as a prompt is run as if it had been typed.
    let todos = Command::new("todos", "Summarizes open TODOs").argument_hint("[folder]").run_sync(|call| {
        let folder = if call.args().is_empty() { "this project" } else { call.args() };
        Ok(CommandOutcome::prompt(format!("List the TODO comments of {folder}, the most urgent first.")))
    });
    cmd.add_command(todos)?;

    // What it returns as a message is shown, and the model hears nothing of it.
    let roll = Command::new("roll", "Rolls a die").argument_hint("[sides]").run_sync(|call| {
        let sides = match call.args() {
            "" => 6,
            sides => sides.parse().ok().filter(|sides| *sides > 0).ok_or_else(|| {
                Error::msg(format!("a die has a number of sides, as in /roll 20, got: {sides}"))
            })?,
        };
        let chance = SystemTime::now().duration_since(UNIX_EPOCH)?.subsec_nanos();
        Ok(CommandOutcome::message(format!("{} of {sides}", chance % sides + 1)))
    });
    cmd.add_command(roll)?;
    Ok(())
}

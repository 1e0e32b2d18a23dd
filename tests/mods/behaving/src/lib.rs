//! Does each good thing that a mod can do: `--mod-option <name>.does=<what>,<what>`. What it says ends in
//! the last letter of its name: tests make several mods of its library by writing another letter there, and
//! compile it in under several names.
#![forbid(unsafe_code)]

mod bus;
mod faults;
mod later;
mod registering;
mod screen;
mod tells;
mod tools;
mod turns;
mod verbs;

use mod_interface::prelude::*;

export_mod!(behaving);

/// The factory.
pub async fn behaving(cmd: ModApi) -> Result<()> {
    let does: String = cmd.get_flag("does")?.unwrap_or_default();
    for what in does.split(',').filter(|what| !what.is_empty()) {
        let me = cmd.name().chars().last().map(String::from).unwrap_or_default();
        let hooks = tools::hooks(&me, what).or_else(|| turns::hooks(&me, what));
        let hooks = hooks.or_else(|| tells::hooks(&me, what)).or_else(|| faults::hooks(what));
        match hooks {
            Some(hooks) => drop(cmd.hooks(hooks)?),
            None if bus::add(&cmd, &me, what)? || registering::add(&cmd, &me, what)? => {}
            None if verbs::add(&cmd, &me, what)? || screen::add(&cmd, &me, what)? => {}
            None => return Err(Error::msg(format!("does not know how to do this: {what}"))),
        }
    }
    Ok(())
}

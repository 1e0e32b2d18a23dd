//! What `tests/mods/behaving` does by hooks, from the same source, built against the released interface 1.0.0.
#![forbid(unsafe_code)]

#[path = "../../behaving/src/faults.rs"]
mod faults;
#[path = "../../behaving/src/later.rs"]
mod later;
#[path = "../../behaving/src/tells.rs"]
mod tells;
#[path = "../../behaving/src/tools.rs"]
mod tools;
#[path = "../../behaving/src/turns.rs"]
mod turns;

use mod_interface::prelude::*;

mod_interface::export_mod!(behaving);

async fn behaving(cmd: ModApi) -> Result<()> {
    let does: String = cmd.get_flag("does")?.unwrap_or_default();
    for what in does.split(',').filter(|what| !what.is_empty()) {
        let me = cmd.name().chars().last().map(String::from).unwrap_or_default();
        let hooks = tools::hooks(&me, what).or_else(|| turns::hooks(&me, what));
        let hooks = hooks.or_else(|| tells::hooks(&me, what)).or_else(|| faults::hooks(what));
        cmd.hooks(hooks.ok_or_else(|| Error::msg(format!("does not know how to do this: {what}")))?)?;
    }
    Ok(())
}

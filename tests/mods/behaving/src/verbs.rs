//! The verbs and live methods, one after the other.

use mod_interface::prelude::*;

/// Does `what`, if it is of them.
pub(crate) fn add(cmd: &ModApi, me: &str, what: &str) -> Result<bool> {
    match what {
        "flags" => flags(cmd, me)?,
        "flags-taken" => {
            cmd.add_flag(Flag::string("color").default("red"))?;
            let again = cmd.add_flag(Flag::boolean("color"))?;
            let nameless = cmd.add_flag(Flag::boolean("no name"))?;
            say(cmd, me, &format!("{:?}", [again.is_active(), nameless.is_active()]));
            [again, nameless].iter().for_each(undo);
            say(cmd, me, &format!("{:?}", cmd.get_flag::<String>("color")?));
        }
        _ => return Ok(false),
    }
    Ok(true)
}

fn flags(cmd: &ModApi, me: &str) -> Result<()> {
    let raw: Option<String> = cmd.get_flag("color")?;
    let loud = cmd.add_flag(Flag::boolean("loud").default(true).description("in capitals"))?;
    cmd.add_flag(Flag::string("color").default("red"))?;
    let declared: Option<String> = cmd.get_flag("color")?;
    let read = || cmd.get_flag::<bool>("loud").unwrap_or_default();
    let before = read();
    undo(&loud);
    say(cmd, me, &format!("color {raw:?} {declared:?}, loud {before:?} {:?}", read()));
    Ok(())
}

fn say(cmd: &ModApi, me: &str, text: &str) {
    cmd.ui().notify(&format!("{me}: {text}"));
}

/// Twice is once.
fn undo(registration: &Registration) {
    registration.dispose();
    registration.dispose();
}

//! Flags, which are set with `--mod-option`: `/greet NAME` greets as it is told to.
//!
//! `--mod-option flags-and-options.greeting=Moin` is for this mod. `--mod-option greeting=Moin` is as well, unless
//! another mod has a flag of that name and comes first.
#![forbid(unsafe_code)]

use mod_interface::prelude::*;

export_mod!(flags_and_options);

async fn flags_and_options(cmd: ModApi) -> Result<()> {
    // A flag that has a default always has a value. One without has none until it is given one.
    let greeting =
        cmd.flag(Flag::string("greeting").default("Hello").description("What is said to somebody"))?;
    let shout = cmd.flag(Flag::boolean("shout").default(false).description("Says it in capitals"))?;
    let name = cmd.flag(Flag::string("name").description("Who is greeted where nobody is named"))?;

    let greet = Command::new("greet", "Greets somebody").argument_hint("[name]").run_sync(move |call| {
        let name = match (call.args(), &name) {
            ("", Some(name)) => name.clone(),
            ("", None) => "you".to_owned(),
            (name, _) => name.to_owned(),
        };
        let text = format!("{greeting}, {name}!");
        Ok(CommandOutcome::message(if shout { text.to_uppercase() } else { text }))
    });
    cmd.add_command(greet)?;
    Ok(())
}

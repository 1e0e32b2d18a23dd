//! Flags, which are set with `--mod-option`: `/greet NAME` greets as it is told to.
//!
//! `--mod-option flags-and-options.greeting=Moin` is for this mod. `--mod-option greeting=Moin` is as well, unless
//! another mod has a flag of that name and comes first.
#![forbid(unsafe_code)]

use mod_interface::prelude::*;

export_mod!(flags_and_options);

async fn flags_and_options(cmd: ModApi) -> Result<()> {
    cmd.add_flag(Flag::string("greeting").default("Hello").description("What is said to somebody"))?;
    cmd.add_flag(Flag::boolean("shout").description("Says it in capitals"))?;
    cmd.add_flag(Flag::string("name").description("Who is greeted where nobody is named"))?;

    // A flag is read as the type that is asked for. One without a default has no value until it is given one.
    let greeting: String = cmd.get_flag("greeting")?.unwrap_or_default();
    let shout: bool = cmd.get_flag("shout")?.unwrap_or_default();
    let name: Option<String> = cmd.get_flag("name")?;

    let greet = Command::new("greet", "Greets somebody").argument_hint("[name]").run(move |call| {
        let name = match (call.args(), &name) {
            ("", Some(name)) => name.clone(),
            ("", None) => "you".to_owned(),
            (name, _) => name.to_owned(),
        };
        let text = format!("{greeting}, {name}!");
        async move { Ok(CommandOutcome::message(if shout { text.to_uppercase() } else { text })) }
    });
    cmd.add_command(greet)?;
    Ok(())
}

//! `/tools NAME…` turns tools off, or on again, and `/tools` says which are off. What is chosen is kept with the
//! session: it holds after a resume, and going back in the session takes it back.
#![forbid(unsafe_code)]

use std::collections::BTreeSet;

use mod_interface::prelude::*;

export_mod!(tools);

/// The tools that are off, as the last entry of the branch has it.
const CHOICE: &str = "tools/off";

async fn tools(cmd: ModApi) -> Result<()> {
    let api = cmd.clone();
    let command = Command::new("tools", "Turns tools off or on").argument_hint("[name…]");
    cmd.add_command(command.run(move |call| {
        let said = toggle(&api, call.args());
        async move { said.map(CommandOutcome::message) }
    }))?;
    // A session moves between runs alone.
    let api = cmd.clone();
    cmd.on(EventKind::RunStart, move |_| {
        if let Err(error) = chosen(&api).and_then(|off| apply(&api, &off)) {
            api.log(LogLevel::Warn, &format!("the tools are as they were: {error}"));
        }
    })?;
    Ok(())
}

fn toggle(cmd: &ModApi, names: &str) -> Result<String> {
    let (known, mut off) = (cmd.get_all_tools()?, chosen(cmd)?);
    for name in names.split_whitespace() {
        if !known.iter().any(|tool| tool == name) {
            return Err(Error::msg(format!("there is no such tool: {name}")));
        }
        if !off.remove(name) {
            off.insert(name.to_owned());
        }
    }
    if let (false, Some(session)) = (names.is_empty(), cmd.session()) {
        session.append_custom_entry(CHOICE, &off)?;
        apply(cmd, &off)?;
    }
    let off: Vec<_> = off.into_iter().filter(|name| known.contains(name)).collect();
    Ok(if off.is_empty() { "all tools are on".to_owned() } else { format!("off: {}", off.join(", ")) })
}

fn chosen(cmd: &ModApi) -> Result<BTreeSet<String>> {
    let Some(session) = cmd.session() else { return Ok(BTreeSet::new()) };
    let last = session.get_custom_entries(CHOICE)?.pop();
    Ok(last.map(|entry| entry.data).unwrap_or_default())
}

/// Allows all that is not off. What is off and not there any more is none of the tools.
fn apply(cmd: &ModApi, off: &BTreeSet<String>) -> Result<()> {
    let on = cmd.get_all_tools()?.into_iter().filter(|name| !off.contains(name));
    cmd.set_active_tools(on).map(drop)
}

#[cfg(test)]
mod tests {
    use mod_interface::testing::{Script, TestHost, block_on};

    use super::*;

    #[test]
    fn what_was_chosen_in_an_earlier_run_holds_from_the_first_call_on() {
        block_on(async {
            let tools = TestHost::new().kept(CHOICE, json!(["grep"])).load(tools).await.unwrap();
            tools.run(Script::new("go").says("done")).await.unwrap();
            assert_eq!(tools.asked_of("tools.set_active"), [json!({ "names": [] })]);
            assert_eq!(
                tools.run_command("tools", "").await.unwrap(),
                CommandOutcome::message("all tools are on")
            );
            let unknown = tools.run_command("tools", "grep").await.unwrap_err().to_string();
            assert!(unknown.ends_with("there is no such tool: grep"), "{unknown}");
            assert_eq!(tools.kept(CHOICE), [json!(["grep"])]);
        });
    }
}

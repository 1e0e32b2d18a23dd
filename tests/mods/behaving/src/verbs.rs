//! The verbs and live methods, one after the other.

use mod_interface::prelude::*;

use crate::registering::{at_call, undo};

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
        "queue" => queue(cmd, &format!("the factory of {me}"))?,
        "queue-at-call" => {
            let (api, me) = (cmd.clone(), me.to_owned());
            at_call(cmd, move || {
                // A queue that is gone is seen in the conversation.
                let _told = queue(&api, &me);
            })?;
        }
        "queue-once-at-the-end" => queue_once_at_the_end(cmd, me)?,
        "queue-nothing" => {
            let refused = cmd.queue_message(" ", DeliverAs::Steer).err();
            say(cmd, me, &format!("{:?}", refused.map(|refused| refused.to_string())));
        }
        "model" => choose(cmd)?,
        "model-at-call" => {
            let api = cmd.clone();
            at_call(cmd, move || {
                let _told = choose(&api);
            })?;
        }
        "model-none" => cmd.set_model("nobody/x")?,
        "model-none-at-call" => {
            let api = cmd.clone();
            at_call(cmd, move || {
                let _told = api.set_model("nobody/x");
            })?;
        }
        "only-echo" => {
            cmd.set_active_tools(["grep"])?.dispose();
            let before = cmd.set_active_tools(["read_file"])?;
            cmd.set_active_tools(["echo", "glob", "vanished"])?;
            // It was replaced already.
            undo(&before);
            let (all, active) = (cmd.get_all_tools()?, cmd.get_active_tools()?);
            say(cmd, me, &format!("{active:?}, all: {}", active.iter().all(|name| all.contains(name))));
        }
        "only-glob" => drop(cmd.set_active_tools(["glob", "read_file"])?),
        "only-echo-at-call" => {
            let api = cmd.clone();
            at_call(cmd, move || drop(api.set_active_tools(["echo"])))?;
        }
        "only-echo-until-called" => {
            let only = cmd.set_active_tools(["echo"])?;
            at_call(cmd, move || undo(&only))?;
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

fn queue(cmd: &ModApi, from: &str) -> Result<()> {
    cmd.queue_message(&format!("follow-up of {from}"), DeliverAs::FollowUp)?;
    cmd.queue_message(&format!("steered by {from}"), DeliverAs::Steer)
}

fn queue_once_at_the_end(cmd: &ModApi, me: &str) -> Result<()> {
    let (api, me, once) = (cmd.clone(), me.to_owned(), std::sync::Once::new());
    let hooks = Hooks::new().on_run_end_sync(move |_, _| {
        once.call_once(|| {
            // A queue that is gone is seen in the conversation.
            let _told = queue(&api, &me);
        });
        Ok(())
    });
    cmd.hooks(hooks).map(drop)
}

fn choose(cmd: &ModApi) -> Result<()> {
    cmd.set_effort(Some(Effort::Low))?;
    cmd.set_model(&cmd.get_flag::<String>("model")?.unwrap_or_default())
}

fn say(cmd: &ModApi, me: &str, text: &str) {
    cmd.ui().notify(&format!("{me}: {text}"));
}

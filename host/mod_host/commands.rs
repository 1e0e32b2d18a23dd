use std::sync::Arc;

use mod_interface::{
    abi::{Callable, OwnFrame, Reply, decode_command},
    types::CommandOutcome,
};
use serde::Deserialize;

use super::{
    Core,
    adapter::{enter, settle},
    frame::{ModFrame, Question},
    identity::ModIdentity,
    journal::place,
};
use crate::hooks::HookFault;

/// Names that the host answers to itself.
const RESERVED: &[&str] =
    &["clear", "compact", "exit", "help", "init", "model", "mods", "plan", "quit", "reload", "resume"];

/// What people are told of a command.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CommandSpec {
    /// Its name, without the slash.
    pub name: String,
    /// What it does.
    pub description: String,
    /// What may stand behind the name.
    pub argument_hint: Option<String>,
}

impl CommandSpec {
    pub(crate) fn check(&self) -> Result<(), String> {
        let named = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if self.name.is_empty() || !self.name.bytes().all(named) {
            return Err(format!("a command's name is of a-z, 0-9 and -, got: {}", self.name));
        }
        if RESERVED.contains(&self.name.as_str()) {
            return Err(format!(
                "the host answers to this command itself; choose another name: {}",
                self.name
            ));
        }
        Ok(())
    }
}

/// A slash command of a mod.
pub struct ModCommand {
    core: Arc<Core>,
    owner: Arc<ModIdentity>,
    spec: CommandSpec,
    callable: Callable,
}

impl ModCommand {
    pub(crate) fn new(
        core: &Arc<Core>,
        owner: &Arc<ModIdentity>,
        spec: CommandSpec,
        callable: Callable,
    ) -> Self {
        Self { core: Arc::clone(core), owner: Arc::clone(owner), spec, callable }
    }

    /// What people are told of it.
    pub fn spec(&self) -> &CommandSpec {
        &self.spec
    }

    /// Runs it with what was typed behind its name; it may take as long as a tool. A failure is a `mod_error`,
    /// and no outcome.
    pub async fn run(&self, args: &str) -> Option<CommandOutcome> {
        let frame =
            OwnFrame::new(ModFrame::new(&self.core, &self.owner, Question::Command(Arc::new(args.into()))));
        let mut reply = Reply::default();
        let pending = enter(&self.core.journal, &self.owner, place::COMMAND, &mut reply, |reply| {
            self.callable.call(frame.frame(), reply)
        });
        let completed = match pending {
            None => Ok(reply.completed),
            Some(pending) => pending.bounded(frame.host().over(self.core.tool_timeout)).await,
        };
        let read = |completed| decode_command(settle(&completed)?).map_err(HookFault::Invalid);
        let outcome = completed.and_then(read);
        outcome
            .map_err(|fault| {
                let place = format!("command:{}", self.spec.name);
                self.core.bus.main().mod_error(&self.owner.id, &place, fault.to_string());
            })
            .ok()
    }
}

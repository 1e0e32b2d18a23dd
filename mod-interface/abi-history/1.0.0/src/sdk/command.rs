use serde_json::{Value, json};

use super::{Result, entry::AsyncEntry, entry::SyncEntry, runtime::RuntimeHandle};
use crate::{
    abi::{Callable, CommandCall, Entry, Frame},
    types::CommandOutcome,
};

type MakeEntry = Box<dyn FnOnce(RuntimeHandle) -> Box<dyn Entry> + Send>;

/// A slash command, registered with [`super::ModApi::add_command`]. The first of a name wins.
///
/// ```
/// use mod_interface::prelude::*;
///
/// let standup = Command::new("standup", "Summarizes what changed today").run(|call| async move {
///     let since = if call.args().is_empty() { "midnight" } else { call.args() };
///     Ok(CommandOutcome::prompt(format!("Summarize the commits since {since}.")))
/// });
/// assert_eq!(standup.name(), "standup");
/// ```
#[must_use = "a command does nothing until it is given to `ModApi::add_command`"]
pub struct Command {
    description: CommandBuilder,
    make: MakeEntry,
}

/// A command whose code is still to be given.
#[must_use = "a command needs its code: call `run`"]
pub struct CommandBuilder {
    name: String,
    description: String,
    argument_hint: Option<String>,
}

impl Command {
    /// Starts a command, `/name`.
    #[expect(clippy::new_ret_no_self, reason = "a command without code cannot exist")]
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> CommandBuilder {
        CommandBuilder { name: name.into(), description: description.into(), argument_hint: None }
    }

    /// Its name, without the slash.
    pub fn name(&self) -> &str {
        &self.description.name
    }

    pub(crate) fn into_parts(self, runtime: &RuntimeHandle) -> (Value, Callable) {
        let CommandBuilder { name, description, argument_hint } = self.description;
        let spec = json!({ "name": name, "description": description, "argumentHint": argument_hint });
        (spec, Callable::new((self.make)(runtime.clone())))
    }
}

impl CommandBuilder {
    /// What people are shown behind the name.
    pub fn argument_hint(mut self, hint: impl Into<String>) -> Self {
        self.argument_hint = Some(hint.into());
        self
    }

    /// Gives its code.
    pub fn run<F, Fut>(self, run: F) -> Command
    where
        F: Fn(CommandCall) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<CommandOutcome>> + Send + 'static,
    {
        let make = move |frame: &Frame| run(CommandCall::of(frame).clone());
        Command { description: self, make: Box::new(move |runtime| Box::new(AsyncEntry::new(make, runtime))) }
    }

    /// As [`Self::run`], for code that never waits.
    ///
    /// ```
    /// use mod_interface::prelude::*;
    ///
    /// let shout = Command::new("shout", "Says it in capitals")
    ///     .run_sync(|call| Ok(CommandOutcome::message(call.args().to_uppercase())));
    /// assert_eq!(shout.name(), "shout");
    /// ```
    pub fn run_sync<F>(self, run: F) -> Command
    where
        F: Fn(&CommandCall) -> Result<CommandOutcome> + Send + Sync + 'static,
    {
        let call = move |frame: &Frame| run(CommandCall::of(frame));
        Command { description: self, make: Box::new(move |runtime| Box::new(SyncEntry::new(call, runtime))) }
    }
}

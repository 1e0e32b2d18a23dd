use serde_json::{Value, json};

use super::{Exec, LogLevel, Result, RuntimeHandle, Ui, services};
use crate::abi::{Ctx, NumberField, TextField};

impl Ctx {
    /// The agent that asks: `main`, or a sub-agent's id.
    pub fn agent_id(&self) -> &str {
        self.frame().text(TextField::AgentId)
    }

    /// The workspace root.
    pub fn cwd(&self) -> &str {
        self.frame().text(TextField::Cwd)
    }

    /// Whether the run was interrupted.
    pub fn cancelled(&self) -> bool {
        self.frame().number(NumberField::Cancelled) != 0
    }

    /// The person at the keyboard.
    pub fn ui(&self) -> Ui<'_> {
        Ui::new(self.frame(), RuntimeHandle::none())
    }

    /// Runs a process.
    pub fn exec(&self, command: &str) -> Exec {
        Exec::new(self.frame(), command)
    }

    /// Writes a line to the host's log.
    pub fn log(&self, level: LogLevel, message: &str) {
        services::log(self.frame(), level, message);
    }

    /// Raises an event of the mod's own: `mod_event`, named `mod:<name>/<kind>`. It is told to everybody who
    /// listens before this returns.
    ///
    /// With the kind `notice` it is a notice, for people to see, and `data` says how much it matters (`info` or
    /// `warning`) and what it says. All other kinds of [`EventKind`](crate::types::EventKind) are the host's own.
    ///
    /// ```
    /// # use mod_interface::prelude::*;
    /// # drop(
    /// Hooks::new().on_turn_end_sync(|turn, ctx| {
    ///     ctx.emit("tokens", &json!(turn.usage().total()))?;
    ///     if turn.usage().total() > 100_000 {
    ///         ctx.emit("notice", &json!({ "level": "warning", "message": "That was a long turn." }))?;
    ///     }
    ///     Ok(StatePatch::default())
    /// })
    /// # );
    /// ```
    ///
    /// # Errors
    /// The kind is the host's own, is empty or has a character that is not of `a-z0-9_-`, or a notice is none. Nothing
    /// is raised then but a `mod_error`, also where the mod ignores the error.
    pub fn emit(&self, kind: &str, data: &Value) -> Result<()> {
        services::now(self.frame(), "emit", &json!({ "kind": kind, "data": data })).map(drop)
    }
}

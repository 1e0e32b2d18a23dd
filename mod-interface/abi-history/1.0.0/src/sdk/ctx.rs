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

    /// Whether the run was interrupted; [`Self::interrupted`] waits for it.
    pub fn cancelled(&self) -> bool {
        self.frame().number(NumberField::Cancelled) != 0
    }

    /// Waits until the run is interrupted. It stays pending where that never happens, also in hooks that are waited
    /// for after an interruption (`on_run_end`, `on_session_end`), and in observers and listeners.
    ///
    /// To wait for it is the mod's own time, which is bounded: race it against the work that it shall cut short. After
    /// an interruption all pending hooks have two seconds in all to end well.
    ///
    /// ```
    /// # use std::{future::{Future, poll_fn}, pin::pin, task::Poll};
    /// # use mod_interface::prelude::*;
    /// # async fn upload() -> Result<()> { Ok(()) }
    /// # async fn withdraw() {}
    /// # async fn either<A: Future, B: Future>(first: A, second: B) -> std::result::Result<A::Output, B::Output> {
    /// #     let (mut first, mut second) = (pin!(first), pin!(second));
    /// #     poll_fn(|cx| match first.as_mut().poll(cx) {
    /// #         Poll::Ready(first) => Poll::Ready(Ok(first)),
    /// #         Poll::Pending => second.as_mut().poll(cx).map(Err),
    /// #     })
    /// #     .await
    /// # }
    /// # drop(
    /// Hooks::new().on_turn_end(|_, ctx| async move {
    ///     // As `tokio::select!` would.
    ///     match either(upload(), ctx.interrupted()).await {
    ///         Ok(uploaded) => uploaded?,
    ///         Err(_interrupted) => withdraw().await,
    ///     }
    ///     Ok(StatePatch::default())
    /// })
    /// # );
    /// ```
    ///
    /// # Errors
    /// The harness is gone, or is too old to know this.
    pub fn interrupted(&self) -> impl Future<Output = Result<()>> + Send + 'static + use<> {
        let asked = services::later(self.frame(), "interrupted", &Value::Null);
        async move { asked.await.map(drop) }
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

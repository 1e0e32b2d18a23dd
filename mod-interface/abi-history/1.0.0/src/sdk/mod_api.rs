use serde_json::{Value, json};

use super::{
    Bus, Command, Error, Exec, Hooks, LogLevel, Result, Tool, Ui, entry::SyncEntry, runtime::RuntimeHandle,
    services,
};
use crate::{
    abi::{Callable, Event, Frame, TextField},
    types::EventKind,
};

/// What a mod's factory is given: registration verbs, and the host's services.
///
/// A clone is the same thing; keep one in a closure to use it later. Once the harness is gone, every
/// call fails with a message that says so.
#[derive(Clone)]
pub struct ModApi {
    frame: Frame,
    runtime: RuntimeHandle,
}

/// One registration, to be undone.
///
/// Dropping it undoes nothing: most mods never need it.
#[derive(Clone)]
pub struct Registration {
    frame: Frame,
    id: u64,
}

/// What code returns that only listens: nothing, or a [`Result`] of anything.
pub trait Heard {
    /// What is told of it.
    #[doc(hidden)]
    fn heard(self) -> Result<()>;
}

impl Heard for () {
    fn heard(self) -> Result<()> {
        Ok(())
    }
}

impl<T> Heard for Result<T> {
    fn heard(self) -> Result<()> {
        self.map(drop)
    }
}

impl Registration {
    /// From the answer of a host that was given something.
    pub(super) fn added(frame: &Frame, added: std::result::Result<u64, String>) -> Result<Self> {
        Ok(Self { frame: frame.clone(), id: added.map_err(Error::msg)? })
    }

    /// Registers something that has no code.
    pub(super) fn asked(frame: &Frame, service: &str, spec: &Value) -> Result<Self> {
        let id = serde_json::from_value(services::now(frame, service, spec)?)?;
        Ok(Self { frame: frame.clone(), id })
    }

    /// Whether it was accepted. Only what has a name or a schema can be refused.
    pub fn is_active(&self) -> bool {
        self.id != 0
    }

    /// Undoes just this registration. A second call does nothing. Hooks and tools of a round that goes on hold to its
    /// end; all else is gone at once, but who is being told of an event or a message, and who stands behind it, is
    /// told to the end.
    pub fn dispose(&self) {
        // The host is gone: so is the registration.
        let _gone = services::now(&self.frame, "dispose", &json!({ "id": self.id }));
    }
}

impl ModApi {
    pub(crate) fn new(frame: Frame, runtime: RuntimeHandle) -> Self {
        Self { frame, runtime }
    }

    /// The mod's name.
    pub fn name(&self) -> &str {
        self.frame.text(TextField::ModName)
    }

    /// The mod's id, `mod:<name>`: its slot of `mod_state`.
    pub fn id(&self) -> &str {
        self.frame.text(TextField::ModId)
    }

    /// The workspace root.
    pub fn cwd(&self) -> &str {
        self.frame.text(TextField::Cwd)
    }

    /// Registers hooks, behind those that are there. Several calls compose in order.
    ///
    /// # Errors
    /// A hook was given twice in one [`Hooks`].
    pub fn hooks(&self, hooks: impl Into<Hooks>) -> Result<Registration> {
        let hooks = hooks.into();
        if let Some(hook) = hooks.repeated() {
            return Err(Error::msg(format!(
                "a hook set twice in one Hooks; call hooks() once for each: {hook}"
            )));
        }
        let spec = hooks.spec();
        Registration::added(&self.frame, self.frame.add_hooks(&spec, hooks.into_object(&self.runtime)))
    }

    /// Adds a tool, for the model to call from its next call on.
    ///
    /// One that cannot be added, because its name is taken or its schema is none, is told as a
    /// `mod_error`; the mod goes on without it, and the registration [is not active](Registration::is_active).
    ///
    /// # Errors
    /// The harness is gone.
    pub fn add_tool(&self, tool: Tool) -> Result<Registration> {
        let (spec, callable) = tool.into_parts(&self.runtime);
        self.add("tool", &serde_json::to_value(spec)?, callable)
    }

    /// Adds a slash command. One that cannot be added is told as for [`Self::add_tool`].
    ///
    /// # Errors
    /// The harness is gone.
    pub fn add_command(&self, command: Command) -> Result<Registration> {
        let (spec, callable) = command.into_parts(&self.runtime);
        self.add("command", &spec, callable)
    }

    /// Observes an event: inline, in order, after the host's own listeners. It cannot change anything,
    /// and should be quick, for the run waits. What it returns is nothing, or a [`Result`]: an error is told as a
    /// `mod_error`, as a panic is.
    ///
    /// ```
    /// # use mod_interface::prelude::*;
    /// async fn count_tools(cmd: ModApi) -> Result<()> {
    ///     cmd.on(EventKind::ToolCompleted, |event| event.ctx().log(LogLevel::Info, event.tool_name()))?;
    ///     cmd.on(EventKind::RunEnd, |event| {
    ///         if let EventPayload::RunEnd { result } = event.parse()?.payload {
    ///             event.ctx().ui().set_status(&format!("{} tokens", result.usage.total()))?;
    ///         }
    ///         Ok(())
    ///     })?;
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    /// The harness is gone.
    pub fn on<F, T>(&self, kind: EventKind, observe: F) -> Result<Registration>
    where
        F: Fn(&Event) -> T + Send + Sync + 'static,
        T: Heard,
    {
        self.listen("event", &json!({ "kind": kind.as_str() }), move |frame| observe(Event::of(frame)))
    }

    /// The bus between mods: channels on which they say things to each other.
    pub fn events(&self) -> Bus<'_> {
        Bus(self)
    }

    /// The person at the keyboard.
    pub fn ui(&self) -> Ui<'_> {
        Ui::new(&self.frame, self.runtime.clone())
    }

    /// Runs a process.
    ///
    /// ```
    /// # use mod_interface::prelude::*;
    /// async fn branch(cmd: &ModApi) -> Result<String> {
    ///     let git = cmd.exec("git").args(["branch", "--show-current"]).await?;
    ///     Ok(git.stdout.trim().to_owned())
    /// }
    /// ```
    pub fn exec(&self, command: &str) -> Exec {
        Exec::new(&self.frame, command)
    }

    /// Writes a line to the host's log, `mods.log` in the user's folder (`~/.commandcode`). What people shall
    /// see at once is for [`Ui::notify`](super::Ui::notify).
    pub fn log(&self, level: LogLevel, message: &str) {
        services::log(&self.frame, level, message);
    }

    pub(super) fn runtime(&self) -> &RuntimeHandle {
        &self.runtime
    }

    pub(super) fn frame(&self) -> &Frame {
        &self.frame
    }

    /// Registers something that is told synchronously.
    pub(super) fn listen<T: Heard>(
        &self,
        kind: &str,
        spec: &Value,
        hear: impl Fn(&Frame) -> T + Send + Sync + 'static,
    ) -> Result<Registration> {
        let call = move |frame: &Frame| hear(frame).heard();
        self.add(kind, spec, Callable::new(Box::new(SyncEntry::new(call, self.runtime.clone()))))
    }

    pub(super) fn add(&self, kind: &str, spec: &Value, callable: Callable) -> Result<Registration> {
        Registration::added(&self.frame, self.frame.add(kind, &spec.to_string(), callable))
    }
}

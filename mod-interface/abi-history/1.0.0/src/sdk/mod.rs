//! What authors write against: the mirror of the specification's `cmd` object, in Rust.
//!
//! Rules that hold everywhere:
//! * Registration order is load order. Every `add_*`, `on` and `hooks` gives a [`Registration`].
//! * An `Err`, a panic and a timeout all become a `mod_error` event that names the mod and the place;
//!   the run goes on as if the mod had had no opinion.
//! * Everything that a hook is given is owned and cheap to clone; nothing of the conversation is
//!   copied until it is asked for.

mod active_tools;
mod bus;
mod command;
mod ctx;
mod entry;
mod error;
mod event;
mod exec;
mod export;
mod flag;
mod hooks;
mod live;
mod mod_api;
mod paths;
mod provider;
mod runtime;
mod screen;
mod services;
mod session;
mod session_tree;
mod sessions;
mod tool;
mod ui;
mod views;

pub use serde_json::{Value, json};

pub use crate::abi::{
    BusMessage, CommandCall, Context, Ctx, Event, Invocation, Prompt, RunEnd, SessionEvent, State, Stop,
    ToolCall, ToolResult, Turn, TurnEnd,
};
pub use bus::Bus;
pub use command::{Command, CommandBuilder};
pub use error::{Error, Result};
pub use exec::{Exec, ExecOutput};
#[doc(hidden)]
pub use export::start;
pub use flag::{Flag, FlagType, FlagValue};
pub use hooks::{Hooks, SharingHooks};
pub use mod_api::{Heard, ModApi, Registration};
pub use provider::{ModelError, ModelRequest, ModelSink, Provider, ProviderBuilder};
#[doc(hidden)]
pub use runtime::RuntimeHandle;
pub use services::LogLevel;
pub use session::{CustomEntry, CustomMessageEntry, Session};
pub use session_tree::{SessionNode, SessionTree};
pub use sessions::Sessions;
pub use tool::{Tool, ToolBuilder};
pub use ui::{Confirm, Input, Ui};
pub use views::{BlockView, MessageView};

//! What crosses the line between host and mod.
//!
//! Four shapes, all frozen for the major version:
//! * [`Shared`]: a counted pointer to an object of one side, called through a table by the other.
//! * [`Frame`]: what the host lends for one entry into a mod. Reading it copies nothing.
//! * [`HookObject`] and [`Callable`]: what a mod hands over to be called, with a frame, for a [`Reply`]; the rest of
//!   a call that is not over is [`Pending`].
//! * [`ModRoot`]: the root module that a mod exports.
//!
//! What is asked for by number or name (fields of a frame, services, kinds of registrations) grows
//! without a change of layout: an unknown one has no value, or fails with a clear message.
//!
//! Everything here that is `unsafe` is so for one of two reasons: an object's table and its payload
//! were made together by `Shared::new`, or a `#[repr(transparent)]` wrapper is looked through.
#![allow(unsafe_code)]

mod answer;
mod callable;
mod fields;
mod frame;
mod frame_host;
mod guard;
mod metadata;
mod pending;
mod reply;
mod root;
mod shared;
mod spare;
mod views;

pub use answer::{Encode, MAX_TEXT, decode_command, decode_lines, decode_model, decode_outcome, decode_tool};
pub use callable::{
    Callable, CallableVtable, CallableVtableRef, Entry, HookObject, HookVtable, HookVtableRef,
};
pub use fields::{JsonField, NumberField, TextField};
pub use frame::{Frame, FrameVtable, FrameVtableRef, OwnFrame, RawBlock, RawMessage};
pub use frame_host::FrameHost;
pub(crate) use guard::guard_again;
pub use guard::{Panic, guard, silence_panics};
pub use metadata::{dashed, join, joined_len, metadata_parts, text};
pub use pending::{Pending, Rest};
pub use reply::{Answer, Completed, Flags, Reply, Status, Texts};
pub use root::{
    Exported, INTERFACE, InterfaceVersion, ModRoot, ModRootFields, ModRootRef, TARGET, header, mod_root,
};
pub use shared::{Header, Shared, This};
pub use spare::Spare;
pub use views::{
    BusMessage, CommandCall, Context, Ctx, Event, Invocation, Prompt, RunEnd, SessionEvent, State, Stop,
    ToolCall, ToolResult, Turn, TurnEnd,
};

//! Testing a mod in plain `cargo test`: without `cmd`, without building the library, without a network.
//!
//! Add the feature to what the tests see:
//!
//! ```toml
//! [dev-dependencies]
//! mod-interface = { …, features = ["testing"] }
//! ```
//!
//! A test loads the factory into a [`TestHost`], asks the [`TestMod`] what `cmd` would ask, and compares
//! values. The tests stand in the crate itself (`#[cfg(test)] mod tests`), for a `cdylib` has no other:
//!
//! ```
//! use mod_interface::{prelude::*, testing::{Script, TestHost, block_on}};
//!
//! async fn no_force_push(cmd: ModApi) -> Result<()> {
//!     cmd.hooks(Hooks::new().before_tool_call(|call, ctx| async move {
//!         if !call.input_json().contains("push --force") || ctx.ui().confirm("Really?").await? {
//!             return Ok(None);
//!         }
//!         Ok(Some(BeforeToolCall::block("No force pushes, please.")))
//!     }))?;
//!     Ok(())
//! }
//!
//! fn force() -> Value {
//!     json!({ "command": "git push --force" })
//! }
//!
//! # /*
//! #[test]
//! # */
//! fn a_force_push_is_blocked_unless_the_person_says_yes() -> Result<()> {
//!     block_on(async {
//!         let guard = TestHost::new().confirm(false).confirm(true).load(no_force_push).await?;
//!         let blocked = Some(BeforeToolCall::block("No force pushes, please."));
//!         assert_eq!(guard.before_tool_call("shell_command", force()).await?, blocked);
//!         assert_eq!(guard.before_tool_call("shell_command", force()).await?, None);
//!         assert_eq!(guard.questions(), ["Really?", "Really?"]);
//!         Ok(())
//!     })
//! }
//!
//! # /*
//! #[test]
//! # */
//! fn the_model_sees_why() -> Result<()> {
//!     block_on(async {
//!         let guard = TestHost::new().load(no_force_push).await?;
//!         let script = Script::new("Publish it").calls("shell_command", force()).says("I may not.");
//!         let ran = guard.run(script).await?;
//!         assert_eq!(ran.results(), ["No force pushes, please."]);
//!         assert_eq!(ran.text(), "I may not.");
//!         Ok(())
//!     })
//! }
//! # a_force_push_is_blocked_unless_the_person_says_yes().unwrap();
//! # the_model_sees_why().unwrap();
//! ```
//!
//! The mod goes through what it goes through in `cmd`: the same frames, the same encoding of answers, the same
//! guard. A panic is a [`Fault`] that the test sees, and not the test's own.
//!
//! **Why [`block_on`].** All of this is plain `async` and needs no runtime, so a mod without one is tested
//! without one. With the feature `runtime` the clock is tokio's and paused, see there; the time that a hook
//! may take is then counted too.

mod answers;
mod block_on;
mod core;
mod entry;
mod fault;
mod frame;
mod hooks;
mod host;
mod interruption;
mod live;
mod loaded;
mod record;
#[cfg(test)]
mod record_tests;
mod registrations;
mod round;
mod run;
mod screen;
mod script;
#[cfg(test)]
mod sdk_tests;
mod services;
#[cfg(test)]
mod tests;

use serde_json::Value;

pub use block_on::block_on;
pub use fault::Fault;
pub use host::TestHost;
pub use loaded::TestMod;
pub use registrations::Registered;
pub use script::{ModelCall, Ran, Script};

/// One call of a service of the host.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    /// The service's name on the wire.
    pub service: String,
    /// What was asked of it.
    pub args: Value,
}

//! The contract between `cmd` and its native mods, and the SDK that mods are written with.
//!
//! A mod is a `cdylib` that calls [`export_mod!`] with an `async fn` that gets a [`ModApi`]:
//!
//! ```
//! #![forbid(unsafe_code)]
//! use mod_interface::prelude::*;
//!
//! async fn no_force_push(cmd: ModApi) -> Result<()> {
//!     cmd.hooks(Hooks::new().before_tool_call(|call, _ctx| async move {
//!         let forced = call.tool_name() == "shell_command" && call.input_json().contains("push --force");
//!         Ok(forced.then(|| BeforeToolCall::block("No force pushes, please.")))
//!     }))?;
//!     Ok(())
//! }
//! export_mod!(no_force_push);
//! # fn main() {}
//! ```
//!
//! # The guide
//! 1. [The first mod](guide::first_mod)
//! 2. [Hooks](guide::hooks): block, rewrite, add, keep going
//! 3. [Tools and commands](guide::tools_and_commands)
//! 4. [Events, and the bus between mods](guide::events)
//! 5. [The host](guide::host): the person, processes, options, the log
//! 6. [What a failure looks like](guide::failure)
//! 7. [Testing](guide::testing)
//! 8. [Versions, packing, signing](guide::shipping)
//! 9. [Performance](guide::performance)
//! 10. [What the built-in tools are called with](guide::tool_inputs)
//!
//! # Layers
//! * [`types`]: plain data, shared by everybody.
//! * [`abi`]: what crosses the line between host and mod. The host's `mod_host` and the SDK use it; a
//!   mod never names it.
//! * [`sdk`]: what authors write against, re-exported by [`prelude`].
//! * [`testing`]: a host for tests of mods, with the feature `testing`.
#![deny(missing_docs)]
// abi_stable's derives trip these two.
#![allow(non_local_definitions, unused_braces)]

pub mod abi;
pub mod guide;
pub mod sdk;
#[cfg(any(feature = "testing", all(doc, not(doctest))))]
pub mod testing;
pub mod types;

pub use sdk::{Error, ModApi, Result};

/// All that a mod needs: `use mod_interface::prelude::*;`.
pub mod prelude {
    pub use crate::{export_mod, sdk::*, types::*};
}

/// For the expansion of this crate's macros only.
#[doc(hidden)]
pub mod __private {
    pub use abi_stable::{library::LibHeader, prefix_type::WithMetadata};
    pub use async_ffi::FfiFuture;

    pub use crate::{
        abi::{
            Completed, Exported, Frame, ModRoot, ModRootRef, dashed, header, join, joined_len,
            metadata_parts, mod_root, text,
        },
        sdk::{RuntimeHandle, start},
    };
}

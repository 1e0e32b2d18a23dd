//! How to write a mod, surface by surface. Every example is compiled, and run where it can be.
//!
//! [`first_mod`] comes first, [`tool_inputs`] is for looking up, and the rest can be read in any order.

#[doc = include_str!("first_mod.md")]
pub mod first_mod {}

#[doc = include_str!("hooks.md")]
pub mod hooks {}

#[doc = include_str!("tools_and_commands.md")]
pub mod tools_and_commands {}

#[doc = include_str!("events.md")]
pub mod events {}

#[doc = include_str!("host.md")]
pub mod host {}

#[doc = include_str!("failure.md")]
pub mod failure {}

// Its examples need the feature.
#[cfg_attr(any(feature = "testing", not(doctest)), doc = include_str!("testing.md"))]
pub mod testing {}

#[doc = include_str!("shipping.md")]
pub mod shipping {}

#[doc = include_str!("performance.md")]
pub mod performance {}

#[doc = include_str!("tool_inputs.md")]
pub mod tool_inputs {}

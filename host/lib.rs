//! The harness: everything that `cmd` does, as a library.
#![allow(missing_docs)]

pub mod agent;
pub mod builtin;
pub mod cli;
pub mod events;
mod files;
pub mod harness;
pub mod hooks;
pub mod mod_host;
pub mod process;
pub mod providers;
pub mod session;
pub mod settings;
pub mod tools;
pub mod ui;

/// What the README shows compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

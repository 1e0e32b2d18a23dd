//! The integration tests, one binary.

// The lint knows test functions, but not the functions that they share.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[cfg(target_os = "linux")]
mod bad_files;
#[cfg(target_os = "linux")]
mod bad_input;
#[cfg(target_os = "linux")]
mod behaving;
#[cfg(target_os = "linux")]
mod channels;
mod interrupt;
mod mods;
mod mods_commands;
mod openai;
mod openai_cmd;
mod print_mode;
mod print_permissions;
#[cfg(target_os = "linux")]
mod registration;
mod subagents;
#[path = "../support/mod.rs"]
mod support;

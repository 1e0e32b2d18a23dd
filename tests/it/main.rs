//! The integration tests, one binary.

// The lint knows test functions, but not the functions that they share.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[cfg(target_os = "linux")]
mod bad_files;
#[cfg(target_os = "linux")]
mod bad_input;
#[cfg(target_os = "linux")]
mod isolation;
mod journal;
#[cfg(target_os = "linux")]
mod load_chain;
mod mod_calls;
mod mods;
#[cfg(target_os = "linux")]
mod no_session;
mod openai;
#[path = "../support/mod.rs"]
mod support;

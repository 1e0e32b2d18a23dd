//! The integration tests, one binary.

// The lint knows test functions, but not the functions that they share.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod architecture;
mod mods;
mod openai;
#[path = "../support/mod.rs"]
mod support;

//! What the integration tests share.

pub(crate) mod aimock;
#[cfg(target_os = "linux")]
pub(crate) mod asked;
#[cfg(target_os = "linux")]
pub(crate) mod behaving;
pub(crate) mod cmd;
#[cfg(target_os = "linux")]
pub(crate) mod fixtures;
#[cfg(target_os = "linux")]
pub(crate) mod foreign;
#[cfg(target_os = "linux")]
pub(crate) mod git_server;
#[cfg(target_os = "linux")]
pub(crate) mod merge_model;
pub(crate) mod mods;
pub(crate) mod npm;
#[cfg(target_os = "linux")]
pub(crate) mod packages;
pub(crate) mod run;
pub(crate) mod session;
#[cfg(target_os = "linux")]
pub(crate) mod told;
#[cfg(target_os = "linux")]
pub(crate) mod verdaccio;
#[cfg(target_os = "linux")]
pub(crate) mod watch;

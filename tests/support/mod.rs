//! What the integration tests share.

pub(crate) mod aimock;
pub(crate) mod cmd;
#[cfg(target_os = "linux")]
pub(crate) mod fixtures;
pub(crate) mod mods;
pub(crate) mod session;
#[cfg(target_os = "linux")]
pub(crate) mod watch;

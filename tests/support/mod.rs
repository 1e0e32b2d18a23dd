//! What the integration tests share.

pub(crate) mod aimock;
#[cfg(target_os = "linux")]
pub(crate) mod behaving;
pub(crate) mod cmd;
#[cfg(target_os = "linux")]
pub(crate) mod fixtures;
pub(crate) mod run;
pub(crate) mod session;

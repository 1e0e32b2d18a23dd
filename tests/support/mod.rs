//! What the integration tests share.

pub(crate) mod aimock;
pub(crate) mod session;

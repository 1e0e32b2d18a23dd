//! The first-party mods: compiled in, and written on the same SDK as any other.
//!
//! There are none yet: the providers, titling and the update notice become mods when the interface has
//! the verbs for them.

use mod_interface::abi::ModRootRef;

/// The built-in mods by name, in load order.
pub(crate) fn roots() -> Vec<(&'static str, ModRootRef)> {
    Vec::new()
}

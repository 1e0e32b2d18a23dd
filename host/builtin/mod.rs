//! The first-party mods: compiled in, and written on the same SDK as any other.
//!
//! A session has none yet: the providers, titling and the update notice become mods when the interface has
//! the verbs for them. `empty` is what `cmd mods bench` measures others beside.

mod empty;

use mod_interface::abi::ModRootRef;

pub(crate) use empty::empty;

/// The built-in mods by name, in load order.
pub(crate) fn roots() -> Vec<(&'static str, ModRootRef)> {
    Vec::new()
}

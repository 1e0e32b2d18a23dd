//! Static checks of a shared library: what it says about itself, read without running any of it.
//!
//! A library's constructors run inside `dlopen`, before any symbol can be asked for. So everything that can be known
//! from the bytes is decided here, on the bytes: [`inspect`] reads, [`check`] judges. It keeps mistakes out, not
//! attackers: native code is trusted once it is loaded.
//!
//! The metadata is JSON in a link section, `.cmdmod` in ELF and PE, `__DATA,__cmdmod` in Mach-O; see [`Metadata`].

mod check;
mod elf;
mod inspect;
mod metadata;
mod refusal;

pub use check::{HostFacts, check, check_declared};
pub(crate) use check::{check_glibc, check_interface, metadata};
pub use inspect::{Format, Inspection, inspect};
pub use metadata::{MAX_METADATA, Metadata};
pub use refusal::Refusal;

#[cfg(test)]
mod tests;

//! Packages of native mods on disk.
//!
//! A mod comes as a directory with a [`manifest`] and one library for each target. A package holds such directories; it
//! is made by [`mod@pack`], installed into the [`store`] of a scope by [`install`], pinned by the [`lock`], and found again
//! by [`verify`] when a program starts. [`object`] looks into a library without running any of it.
//!
//! A scope is a folder, `~/.commandcode` or `<project>/.commandcode`. This crate reads and writes files below it, and
//! knows nothing of what mods do: it loads none. Every failure is an [`Error`] with a stable code.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod archive;
mod disk;
mod error;
pub mod fetch;
pub mod filter;
#[cfg(test)]
mod fixtures;
mod hash;
pub mod install;
pub mod lock;
pub mod manifest;
pub mod object;
pub mod pack;
pub mod package;
pub mod portable;
pub mod settings;
pub mod signature;
pub mod source;
pub mod store;
pub mod update;
pub mod verify;
pub mod version;

pub use error::Error;
pub use hash::{FileHash, hash_bytes, hash_file};
pub use install::{Installed, Installer, install_archive, remove};
pub use object::{HostFacts, Metadata, Refusal};
pub use pack::{PackArtifact, PackInput, pack, pack_signed};
pub use package::{ROOT, contents};
pub use source::Source;
pub use verify::{Candidate, State, installed, verify_tree};

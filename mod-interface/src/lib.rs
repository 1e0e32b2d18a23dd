//! The contract between `cmd` and its native mods, and the SDK that mods are written with.
#![deny(missing_docs)]
#![allow(non_local_definitions)]

pub mod types;

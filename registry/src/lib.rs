//! Packages of native mods on disk.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

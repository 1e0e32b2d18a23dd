//! `.tgz` archives: read with suspicion, written the same bytes every time.
//!
//! An archive is read twice. The first time every entry is judged and nothing is written; the second time it is
//! unpacked. Only files and folders are taken; modes, owners and times of the archive are ignored.

mod paths;
mod read;
mod write;

pub(crate) use paths::PathSet;
pub(crate) use read::{MAX_ARCHIVE, MAX_UNPACKED, unpack, write_file};
pub(crate) use write::pack;

#[cfg(test)]
mod tests;

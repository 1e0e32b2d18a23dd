//! The rules of ARCHITECTURE.md, read off the code: who imports whom, where `unsafe` stands, how long files
//! are, and that what the documents name is there.
//!
//! A rule is a function from sources to the lines that break it. Each has a test on the sources as they are,
//! and one on a source that breaks it.

mod contract;
mod documents;
mod layers;
mod manifests;
mod source;
mod style;

use std::path::{Path, PathBuf};

/// The folder of the workspace.
fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The text of a file of the workspace.
fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Fails with all that breaks a rule.
fn assert_none(broken: &[String], rule: &str) {
    assert!(broken.is_empty(), "{rule}:\n  {}", broken.join("\n  "));
}

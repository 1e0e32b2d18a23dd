use std::{io, path::PathBuf};

/// What is wrong with settings, the trust store, or their places.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Nobody said where the user's folder is.
    #[error("no home folder is known: set HOME, or COMMANDCODE_HOME to the folder for settings and sessions")]
    NoHome,
    /// The workspace root is relative.
    #[error("the workspace must be an absolute path, got: {}", .0.display())]
    RelativeCwd(PathBuf),
    /// A file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file is no JSON.
    #[error("{} is not valid JSON: {reason}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// What is wrong, and in which line.
        reason: String,
    },
    /// A key stands there twice.
    #[error("{}: `{key}` is there twice, the second time on line {line}; make one of both", path.display())]
    Twice {
        /// The file.
        path: PathBuf,
        /// The key, with its parents.
        key: String,
        /// The line of the second one.
        line: usize,
    },
    /// A value is of the wrong kind.
    #[error("{}: `{key}` must be {expected}, got: {got}", path.display())]
    Value {
        /// The file.
        path: PathBuf,
        /// The key, with its parents.
        key: String,
        /// What stands there.
        got: String,
        /// What must stand there.
        expected: String,
    },
    /// A value cannot be used, for another reason.
    #[error("{}: `{key}`: {reason}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The key, with its parents.
        key: String,
        /// Why.
        reason: String,
    },
    /// The trust store was written by another version, or by hand.
    #[error(
        "{} is no trust store that this version reads; remove it to trust workspaces anew: {reason}",
        path.display()
    )]
    TrustStore {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// Trust cannot be recorded.
    #[error("the trust in {} cannot be recorded, so its mods stay off: {source}", workspace.display())]
    TrustNotRecorded {
        /// The workspace.
        workspace: PathBuf,
        /// Why.
        source: Box<Error>,
    },
    /// A workspace's path is no text.
    #[error("a workspace whose path is not valid UTF-8 cannot be trusted: {}", .0.display())]
    WorkspaceName(PathBuf),
}

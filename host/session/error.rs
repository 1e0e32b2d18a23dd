use std::{io, path::PathBuf};

/// Why a session cannot be recorded, or read back.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file cannot be made.
    #[error(
        "cannot make the session file {} (--no-session runs without one): {source}",
        path.display()
    )]
    Create {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file cannot be read.
    #[error("cannot read the session file {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Something cannot be written.
    #[error("cannot write to the session file {}; what is new is not saved: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The workspace has none yet.
    #[error("there is no session to continue in {} yet; run without --continue", .0.display())]
    NoneYet(PathBuf),
    /// No session of the workspace has that id.
    #[error("there is no such session in {}; --continue takes the last one, got: {id}", cwd.display())]
    NoSuch {
        /// What was asked for.
        id: String,
        /// The workspace.
        cwd: PathBuf,
    },
    /// No session was named.
    #[error("which session shall go on? --resume takes the id of one, or --continue: {0}")]
    Which(String),
    /// More than one session of the workspace is meant.
    #[error("several sessions have that at an end of their id: {ids}, got: {id}")]
    Several {
        /// What was asked for.
        id: String,
        /// The ids.
        ids: String,
    },
    /// The tree has no such node.
    #[error("the session has no such node, its tree lists those that there are, got: {0}")]
    NoSuchNode(String),
    /// A session's name that is none.
    #[error("a session's name may not be blank")]
    NoName,
    /// A name or a label that is too long.
    #[error("a name is too long, expected at most {expected} bytes, got: {got}")]
    LongName {
        /// The most that it may have.
        expected: usize,
        /// What it has.
        got: usize,
    },
    /// It is not where it was.
    #[error("the session went on meanwhile, and stays where it is; ask again")]
    WentOn,
    /// Mods say more to the model than it could be sent.
    #[error("too many messages of mods wait for the next turn, this one is dropped; at most: {0}")]
    ManyUnsaid(usize),
    /// Somebody else writes to it.
    #[error("the session is open in another process; end that one first: {}", .0.display())]
    InUse(PathBuf),
    /// The file is something else, or holds nothing.
    #[error("{} is not a session file: {reason}", path.display())]
    NotASession {
        /// The file.
        path: PathBuf,
        /// What is wrong with its first line.
        reason: String,
    },
    /// The file was written by a newer program.
    #[error(
        "the session file {} needs a newer version of cmd: expected format {expected} or older, got: {got}",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// The newest format that is known.
        expected: u32,
        /// The file's.
        got: u32,
    },
    /// The file is damaged in its middle, where no crash explains it.
    #[error("the session file {} is damaged at line {line}: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
}

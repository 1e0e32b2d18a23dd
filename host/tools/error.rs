use std::io;

/// Why a tool was not added, or why a call failed. The text of the latter is for the model.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A tool's name is not one that models accept.
    #[error("a tool's name must be 1 to 64 letters, digits, _ or -, got: {0:?}")]
    Name(String),
    /// Another tool has the name.
    #[error("the name is taken, {holder} already has a tool of this name: {name}")]
    Taken {
        /// The name.
        name: String,
        /// Who holds it.
        holder: String,
    },
    /// A tool's schema is none, or not one of an object.
    #[error("the input_schema of {tool} cannot be used: {reason}")]
    Schema {
        /// The tool.
        tool: String,
        /// What is wrong with it.
        reason: String,
    },
    /// An input is not what the tool takes.
    #[error("bad input for {tool}: {problem}")]
    Input {
        /// The tool.
        tool: String,
        /// Where, what was got and what was expected.
        problem: String,
    },
    /// There is nothing at a path.
    #[error("no such file or folder: {0}")]
    Missing(String),
    /// What is at a path is not what the tool works on.
    #[error("{path} is {kind}: {hint}")]
    Kind {
        /// The path.
        path: String,
        /// What is there.
        kind: String,
        /// What to do.
        hint: &'static str,
    },
    /// The operating system refused.
    #[error("cannot {action} {path}: {source}")]
    Io {
        /// What was tried.
        action: &'static str,
        /// With which file.
        path: String,
        /// Why not.
        source: io::Error,
    },
    /// The call could not do what it was asked to.
    #[error("{0}")]
    Failed(String),
    /// The run was interrupted.
    #[error("interrupted before it was done")]
    Interrupted,
    /// A process could not be run.
    #[error(transparent)]
    Process(#[from] crate::process::Error),
}

/// How long a text may be that repeats what a model or a mod sent.
const LONGEST: usize = 300;

/// Tells what is wrong at a place in a JSON value; no place is the whole of it.
pub(super) fn fault(place: &str, problem: &str) -> String {
    let (problem, rest) = match problem.char_indices().nth(LONGEST) {
        Some((end, _)) => (&problem[..end], "…"),
        None => (problem, ""),
    };
    match place.trim_start_matches('/') {
        "" => format!("{problem}{rest}"),
        place => format!("at {place}: {problem}{rest}"),
    }
}

impl Error {
    /// Tells what is wrong with a field of an input.
    pub(super) fn input(tool: &str, field: &str, problem: &str) -> Self {
        Self::Input { tool: tool.to_owned(), problem: fault(field, problem) }
    }

    /// Tells an error of the operating system about the file that the model knows as `path`.
    pub(super) fn io(action: &'static str, path: &str, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::NotFound => Self::Missing(path.to_owned()),
            _ => Self::Io { action, path: path.to_owned(), source },
        }
    }
}

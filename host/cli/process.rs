use std::{
    env,
    ffi::OsString,
    io::{self, IsTerminal},
    path::PathBuf,
};

use crate::{harness::ModelAccess, providers::Access};

/// The variable of [`Process::sign_password`], which no child process gets.
pub(super) const SIGN_PASSWORD: &str = "COMMANDCODE_SIGN_PASSWORD";

/// What nobody but the user can set, and what a look at installed mods should tell of.
const LOADER_VARIABLES: [&str; 3] = ["LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT"];

/// A text that is never shown.
#[derive(Clone)]
pub struct Hidden(pub String);

impl std::fmt::Debug for Hidden {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("***")
    }
}

/// What the process was given: nothing below reads it from anywhere else.
#[derive(Debug, Clone)]
pub struct Process {
    /// The arguments, the program's name first.
    pub args: Vec<OsString>,
    /// The current folder.
    pub cwd: PathBuf,
    /// The program's own file, for child processes.
    pub exe: PathBuf,
    /// The value of `COMMANDCODE_HOME`.
    pub home_override: Option<PathBuf>,
    /// The user's home folder.
    pub user_home: Option<PathBuf>,
    /// The cargo to build mods with.
    pub cargo: PathBuf,
    /// Where cargo puts what it builds, when that is not beside the source.
    pub cargo_target: Option<PathBuf>,
    /// Whether somebody can be asked: standard input and standard error are terminals.
    pub terminal: bool,
    /// The variables that make the system load other libraries, of those that are set.
    pub loader_variables: Vec<&'static str>,
    /// Whether packages come from this machine alone.
    pub offline: bool,
    /// The transports that git may use for packages, joined by `:`, where the user says so.
    pub git_protocols: Option<String>,
    /// The password of the key that packages are signed with.
    pub sign_password: Option<Hidden>,
    /// How models are reached.
    pub model_access: ModelAccess,
}

impl Process {
    /// Asks the system.
    ///
    /// # Errors
    /// The current folder is gone, or the program's own file cannot be told.
    pub fn current() -> io::Result<Self> {
        let cwd = env::current_dir().map_err(|error| {
            io::Error::new(error.kind(), format!("the current folder cannot be used: {error}"))
        })?;
        Ok(Self {
            args: env::args_os().collect(),
            exe: env::current_exe()?,
            home_override: env::var_os("COMMANDCODE_HOME").map(PathBuf::from),
            user_home: env::home_dir(),
            cargo: env::var_os("CARGO").map_or_else(|| "cargo".into(), PathBuf::from),
            cargo_target: variable("CARGO_TARGET_DIR").map(|path| cwd.join(path)),
            terminal: io::stdin().is_terminal() && io::stderr().is_terminal(),
            loader_variables: LOADER_VARIABLES
                .into_iter()
                .filter(|name| env::var_os(name).is_some())
                .collect(),
            offline: variable("COMMANDCODE_OFFLINE").is_some_and(|value| value != "0"),
            git_protocols: variable("GIT_ALLOW_PROTOCOL"),
            cwd,
            sign_password: variable(SIGN_PASSWORD).map(Hidden),
            model_access: ModelAccess {
                openai: access("OPENAI_BASE_URL", "OPENAI_API_KEY"),
                anthropic: access("ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"),
            },
        })
    }
}

fn access(base_url: &str, api_key: &str) -> Access {
    Access { base_url: variable(base_url), api_key: variable(api_key) }
}

/// A variable that is set to something.
fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

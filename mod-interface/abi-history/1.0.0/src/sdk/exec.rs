use std::{future::IntoFuture, path::PathBuf, pin::Pin};

use serde::{Deserialize, Serialize};

use super::{Result, services};
use crate::abi::Frame;

/// A process to run through the host; `.await` runs it.
///
/// It has no terminal and no input, its output is bounded, and it ends, its children with it, when the
/// run is interrupted. The hook's clock stands meanwhile.
#[must_use = "nothing runs until it is awaited"]
pub struct Exec {
    frame: Frame,
    args: ExecArgs,
}

#[derive(Serialize)]
struct ExecArgs {
    command: String,
    args: Vec<String>,
    cwd: Option<PathBuf>,
}

/// What a process left.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ExecOutput {
    /// What it printed.
    pub stdout: String,
    /// What it complained of.
    pub stderr: String,
    /// Its exit code; `None` when a signal ended it.
    pub code: Option<i32>,
}

impl Exec {
    pub(crate) fn new(frame: &Frame, command: &str) -> Self {
        let args = ExecArgs { command: command.to_owned(), args: Vec::new(), cwd: None };
        Self { frame: frame.clone(), args }
    }

    /// Adds arguments. No shell looks at them.
    pub fn args<S: Into<String>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.args.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Runs it in `dir` in place of the workspace root.
    pub fn cwd(mut self, dir: impl Into<PathBuf>) -> Self {
        self.args.cwd = Some(dir.into());
        self
    }
}

impl IntoFuture for Exec {
    type Output = Result<ExecOutput>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let args = serde_json::to_value(&self.args)?;
            let output = services::later(&self.frame, "exec", &args).await?;
            Ok(serde_json::from_value(output)?)
        })
    }
}

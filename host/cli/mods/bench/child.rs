//! Asking a child process: whatever a mod does, it does there.

use std::{
    path::Path,
    process::{Output, Stdio},
    time::Duration,
};

use serde::de::DeserializeOwned;
use tokio::{process::Command, time::timeout};

use crate::cli::mods::trial::Error;

/// Starts `cmd mods` of the program `exe` again.
pub(super) struct Children<'a> {
    pub(super) exe: &'a Path,
    pub(super) cwd: &'a Path,
}

impl Children<'_> {
    /// What the command of these arguments prints of the mod at `path`, as its last line. Its process is killed
    /// when it takes longer than `limit`.
    pub(super) async fn ask<T: DeserializeOwned>(
        &self,
        name: &str,
        path: &Path,
        args: &[String],
        limit: Duration,
    ) -> Result<T, Error> {
        read(name.to_owned(), &self.output(None, name, path, args, limit).await?)
    }

    /// What comes of that command, run by another program with arguments of its own, if one is given.
    pub(super) async fn output(
        &self,
        by: Option<(&str, &[&str])>,
        name: &str,
        path: &Path,
        args: &[String],
        limit: Duration,
    ) -> Result<Output, Error> {
        let mut command = match by {
            Some((program, options)) => {
                let mut command = Command::new(program);
                command.args(options).arg(self.exe);
                command
            }
            None => Command::new(self.exe),
        };
        command.arg("mods").args(args).arg(path).current_dir(self.cwd).kill_on_drop(true);
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let not_tried =
            |error: std::io::Error| Error::NotTried { name: name.to_owned(), reason: error.to_string() };
        // Given up, the future is dropped, and the child with it.
        let output = timeout(limit, child.map_err(not_tried)?.wait_with_output());
        output.await.map_err(|_| Error::TimedOut { name: name.to_owned(), limit })?.map_err(not_tried)
    }
}

/// The answer in what a process printed.
pub(super) fn read<T: DeserializeOwned>(name: String, output: &Output) -> Result<T, Error> {
    match output.status.code() {
        Some(0) => last_line(&output.stdout)
            .and_then(|line| serde_json::from_str(line).ok())
            .ok_or(Error::Crashed { name, status: output.status }),
        Some(1) => {
            let reason = last_line(&output.stderr).unwrap_or("it gives no reason");
            let reason = reason.strip_prefix("error: ").unwrap_or(reason).to_owned();
            Err(Error::Refused { name, reason })
        }
        _ => Err(Error::Crashed { name, status: output.status }),
    }
}

/// The last line that is not empty: a mod may have printed before it.
fn last_line(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok()?.lines().rfind(|line| !line.trim().is_empty())
}

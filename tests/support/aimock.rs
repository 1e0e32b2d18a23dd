//! A mock of model providers that others wrote: the npm package `@copilotkit/aimock`.
//!
//! Its version and hash stand in `aimock/package-lock.json`; it is installed once, under `target/npm`,
//! and none of its scripts is run by that.

use std::{
    fs,
    io::{self, BufRead, BufReader},
    path::PathBuf,
    process::{Child, ChildStdout, Command, Stdio},
    sync::{OnceLock, mpsc},
    thread,
    time::Duration,
};

use serde_json::Value;
use tempfile::TempDir;

use super::npm;

const START_LIMIT: Duration = Duration::from_secs(60);

/// A running mock on a port of its own. It ends when this is dropped.
pub(crate) struct Aimock {
    process: Child,
    base_url: String,
    _fixtures: TempDir,
}

impl Aimock {
    /// Starts a mock that answers as `fixtures` say, with further command line `options` and
    /// environment. `None` where there is no npm; the test `name` is then said to be skipped.
    pub(crate) fn start(
        name: &str,
        fixtures: &Value,
        options: &[&str],
        env: &[(&str, &str)],
    ) -> Option<Self> {
        static INSTALLED: OnceLock<Option<PathBuf>> = OnceLock::new();
        let Some(modules) = INSTALLED.get_or_init(|| npm::install("aimock")) else { return npm::skip(name) };
        let dir = TempDir::new().unwrap();
        let file = dir.path().join("fixtures.json");
        fs::write(&file, fixtures.to_string()).unwrap();
        let process = Command::new("node")
            .arg(modules.join("@copilotkit/aimock/dist/cli.js"))
            .args(["-p", "0", "--validate-on-load", "-f"])
            .arg(&file)
            .args(options)
            .envs(env.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn();
        let mut process = match process {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return npm::skip(name),
            process => process.unwrap(),
        };
        let address = address(process.stdout.take().unwrap());
        let mock = Self {
            process,
            base_url: format!("{}/v1", address.as_deref().unwrap_or_default()),
            _fixtures: dir,
        };
        assert!(address.is_some(), "aimock did not start within {START_LIMIT:?}");
        Some(mock)
    }

    /// What `OPENAI_BASE_URL` and `ANTHROPIC_BASE_URL` are set to.
    pub(crate) fn base_url(&self) -> &str {
        &self.base_url
    }
}

impl Drop for Aimock {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The address that the mock prints once it listens. What it prints later is read and dropped.
fn address(stdout: ChildStdout) -> Option<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            if let Some((_, address)) = line.split_once("listening on ") {
                let _ = sender.send(address.to_owned());
            }
        }
    });
    receiver.recv_timeout(START_LIMIT).ok()
}

//! A mock of model providers that others wrote: the npm package `@copilotkit/aimock`.
//!
//! Its version and hash stand in `aimock/package-lock.json`; it is installed once, under `target/npm`,
//! and none of its scripts is run by that.

use std::{
    fs,
    io::{self, BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
    sync::{OnceLock, mpsc},
    thread,
    time::Duration,
};

use serde_json::Value;
use tempfile::TempDir;

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
        let Some(modules) = INSTALLED.get_or_init(install) else { return skip(name) };
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
            Err(error) if error.kind() == io::ErrorKind::NotFound => return skip(name),
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

    /// What `OPENAI_BASE_URL` is set to.
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

/// Says so. Not by the macro: what it prints, the test runner keeps to itself when the test passes.
fn skip(name: &str) -> Option<Aimock> {
    let line = format!("skipped, because there is no npm: {name}\n");
    io::stderr().write_all(line.as_bytes()).unwrap();
    None
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

/// Installs the package, unless it is there; returns its `node_modules`.
fn install() -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support/aimock");
    let package: Value =
        serde_json::from_str(&fs::read_to_string(source.join("package.json")).unwrap()).unwrap();
    let version = package["dependencies"]["@copilotkit/aimock"].as_str().unwrap();
    let npm = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("npm");
    let home = npm.join(format!("aimock-{version}"));
    if !home.exists() {
        // Beside its place, so that it appears there whole, whoever else installs it meanwhile.
        fs::create_dir_all(&npm).unwrap();
        let new = TempDir::new_in(&npm).unwrap();
        for file in ["package.json", "package-lock.json"] {
            fs::copy(source.join(file), new.path().join(file)).unwrap();
        }
        let command = ["ci", "--ignore-scripts", "--no-audit", "--no-fund"];
        let output = match Command::new("npm").args(command).current_dir(new.path()).output() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            output => output.unwrap(),
        };
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "npm could not install @copilotkit/aimock {version}: {said}");
        if fs::rename(new.path(), &home).is_err() {
            assert!(home.exists(), "cannot move aimock to its place: {}", home.display());
        }
    }
    Some(home.join("node_modules"))
}

//! Loading a mod in a child process, to see what it does before anything counts on it.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use tokio::process::Command;

use crate::mod_host;

/// What a mod did when it was loaded, as the child tells it.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Trial {
    pub(super) name: String,
    pub(super) version: String,
    /// Names by kind: `hooks`, `tools`, `commands`, `events`.
    pub(super) registered: BTreeMap<String, Vec<String>>,
    pub(super) warnings: Vec<String>,
}

/// Why a mod did not load.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    /// It never came back.
    #[error("the mod {name} did not load within {limit:?}: its constructor or its factory never returns")]
    TimedOut { name: String, limit: Duration },
    /// It took the process with it.
    #[error("the mod {name} ended the process while it was loaded: {status}")]
    Crashed { name: String, status: std::process::ExitStatus },
    /// It was refused, or its factory failed.
    #[error("the mod {name} does not load: {reason}")]
    Refused { name: String, reason: String },
    /// The child could not be started, or does not speak as it should.
    #[error("the mod {name} could not be tried: {reason}")]
    NotTried { name: String, reason: String },
}

/// Tries mods with the program `exe`.
pub(super) struct Trials<'a> {
    pub(super) exe: &'a Path,
    pub(super) cwd: &'a Path,
    pub(super) limit: Duration,
}

impl Trials<'_> {
    /// Loads the mod at `path` in a child process, which is killed when it takes too long.
    pub(super) async fn run(&self, name: &str, path: &Path) -> Result<Trial, Error> {
        let args = ["trial-load", "--limit-ms", &self.limit.as_millis().to_string()].map(str::to_owned);
        self.ask(name, path, &args, self.limit).await
    }

    /// What the `mods` command of these arguments prints of the mod at `path`, as its last line. Its process is
    /// killed when it takes longer than `limit`.
    pub(super) async fn ask<T: DeserializeOwned>(
        &self,
        name: &str,
        path: &Path,
        args: &[String],
        limit: Duration,
    ) -> Result<T, Error> {
        let name = name.to_owned();
        let child = Command::new(self.exe)
            .arg("mods")
            .args(args)
            .arg(path)
            .current_dir(self.cwd)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn();
        let child = match child {
            Ok(child) => child,
            Err(error) => return Err(Error::NotTried { name, reason: error.to_string() }),
        };
        // Given up, the future is dropped, and the child with it.
        let output = match tokio::time::timeout(limit, child.wait_with_output()).await {
            Ok(Ok(output)) => output,
            Ok(Err(error)) => return Err(Error::NotTried { name, reason: error.to_string() }),
            Err(_) => return Err(Error::TimedOut { name, limit }),
        };
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
}

/// The last line that is not empty: a mod may have printed before it.
fn last_line(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok()?.lines().rfind(|line| !line.trim().is_empty())
}

/// What the child does: loads the mod, and prints what it registered as one line of JSON. It ends by
/// itself should nobody be there any more to end it.
pub(super) async fn load(path: PathBuf, cwd: PathBuf, limit: Duration) -> anyhow::Result<String> {
    let (done, waiting) = std::sync::mpsc::channel::<()>();
    std::thread::Builder::new().name("limit".to_owned()).spawn(move || {
        if waiting.recv_timeout(2 * limit) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
            signal_hook::low_level::exit(3);
        }
    })?;
    let trial = mod_host::trial(path, cwd, limit).await;
    drop(done);
    Ok(serde_json::to_string(&trial?)?)
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt};

    use super::*;

    const LIMIT: Duration = Duration::from_secs(10);

    /// A program that stands in for this one: a shell script.
    fn program(folder: &Path, script: &str) -> PathBuf {
        let path = folder.join("cmd");
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        path
    }

    fn tried(script: &str, limit: Duration) -> Result<Trial, String> {
        let folder = tempfile::tempdir().unwrap();
        let exe = program(folder.path(), script);
        let trials = Trials { exe: &exe, cwd: folder.path(), limit };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(trials.run("guard", Path::new("/a/mod"))).map_err(|error| error.to_string())
    }

    #[test]
    fn what_a_mod_registered_is_the_last_line_that_the_child_prints() {
        let json = r#"{"name":"guard","version":"1.0.0","registered":{"hooks":["onStop"]},"warnings":[]}"#;
        let script = format!(
            "[ \"$*\" = 'mods trial-load --limit-ms 10000 /a/mod' ] || exit 9\necho hello from the mod\necho '{json}'"
        );
        let registered = BTreeMap::from([("hooks".into(), vec!["onStop".into()])]);
        assert_eq!(
            tried(&script, LIMIT),
            Ok(Trial { name: "guard".into(), version: "1.0.0".into(), registered, warnings: Vec::new() })
        );
    }

    #[test]
    fn a_mod_that_does_not_load_is_named_with_the_reason() {
        let cases = [
            (
                "echo 'error: its factory failed: no key' >&2; exit 1",
                "the mod guard does not load: its factory failed: no key",
            ),
            ("exit 1", "the mod guard does not load: it gives no reason"),
            ("exit 0", "the mod guard ended the process while it was loaded: exit status: 0"),
            ("exit 7", "the mod guard ended the process while it was loaded: exit status: 7"),
            (
                "kill -SEGV $$",
                "the mod guard ended the process while it was loaded: signal: 11 (SIGSEGV) (core dumped)",
            ),
        ];
        for (script, expected) in cases {
            let told = tried(script, LIMIT).unwrap_err();
            assert_eq!(
                told.replace(" (core dumped)", ""),
                expected.replace(" (core dumped)", ""),
                "{script}"
            );
        }
    }

    #[test]
    fn a_mod_that_never_returns_is_killed_and_named() {
        let folder = tempfile::tempdir().unwrap();
        let pid_file = folder.path().join("pid");
        let script = format!("echo $$ > {}; exec sleep 600", pid_file.display());
        let told = tried(&script, Duration::from_secs(1)).unwrap_err();
        assert_eq!(
            told,
            "the mod guard did not load within 1s: its constructor or its factory never returns"
        );
        let pid: i32 = fs::read_to_string(pid_file).unwrap().trim().parse().unwrap();
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        // Killed with the future that was dropped; gone when its parent has waited for it.
        let gone = (0..100_000).any(|_| {
            std::thread::yield_now();
            rustix::process::test_kill_process(pid).is_err() || is_dead(pid)
        });
        assert!(gone, "process {pid:?} is still there");
    }

    fn is_dead(pid: rustix::process::Pid) -> bool {
        let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
        stat.is_ok_and(|stat| stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('Z')))
    }

    #[test]
    fn a_program_that_cannot_be_started_is_told() {
        let trials = Trials { exe: Path::new("/nowhere/cmd"), cwd: Path::new("/"), limit: LIMIT };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let error = runtime.block_on(trials.run("guard", Path::new("/a/mod"))).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the mod guard could not be tried: No such file or directory (os error 2)"
        );
    }
}

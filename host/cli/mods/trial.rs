//! Loading a mod in a child process, to see what it does before anything counts on it.

use std::{
    collections::BTreeMap,
    io::{self, Write},
    path::{Path, PathBuf},
    pin::pin,
    process::{ExitStatus, Stdio},
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::Duration,
};

use futures::{StreamExt, stream};
use serde::{Deserialize, Serialize};
use tokio::{
    io::{AsyncBufReadExt, BufReader, Split},
    process::{Child, ChildStdout, Command},
    time::{error::Elapsed, timeout},
};
use tokio_util::sync::CancellationToken;

use crate::{cli::output::describe, mod_host};

/// How many children there are at a time.
const AT_ONCE: usize = 4;

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
    Crashed { name: String, status: ExitStatus },
    /// It was refused, or its factory failed.
    #[error("the mod {name} does not load: {reason}")]
    Refused { name: String, reason: String },
    /// The child could not be started, or does not speak as it should.
    #[error("the mod {name} could not be tried: {reason}")]
    NotTried { name: String, reason: String },
    /// Somebody interrupted it.
    #[error("interrupted")]
    Interrupted,
}

/// A mod that is to be tried: its name, and its folder or library.
pub(super) type Candidate = (String, PathBuf);

/// What the child says of a mod, in one line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Answer<T> {
    Loaded(T),
    Refused(String),
}

/// Tries mods with the program `exe`.
#[derive(Clone)]
pub(super) struct Trials<'a> {
    pub(super) exe: &'a Path,
    pub(super) cwd: &'a Path,
    /// How long each may take.
    pub(super) limit: Duration,
    /// Ends all trials, and the children with them.
    pub(super) cancel: &'a CancellationToken,
}

impl Trials<'_> {
    /// Loads mods in child processes, and gives what came of each, in order. All are loaded in one child, as in a
    /// session; when that does not go well, each is in a child of its own, so that it is known which one it was.
    pub(super) async fn run(&self, mods: &[Candidate]) -> Vec<Result<Trial, Error>> {
        let told = if mods.len() > 1 { self.child(mods).await.ok() } else { None };
        match told {
            Some(told) => told,
            None => stream::iter(mods).map(|found| self.alone(found)).buffered(AT_ONCE).collect().await,
        }
    }

    async fn alone(&self, found: &Candidate) -> Result<Trial, Error> {
        let told = self.child(std::slice::from_ref(found)).await;
        let told = told.and_then(|mut told| told.pop().ok_or(Failure::Other("it said nothing".to_owned())));
        told.unwrap_or_else(|failure| Err(failure.of(&found.0, self.limit)))
    }

    /// What a child says of mods, one answer each. A child that does not end as it should is killed.
    async fn child(&self, mods: &[Candidate]) -> Result<Vec<Result<Trial, Error>>, Failure> {
        if self.cancel.is_cancelled() {
            return Err(Failure::Interrupted);
        }
        let (mut child, lines) = self.start(mods)?;
        let told = self.cancel.run_until_cancelled(self.answers(mods, &mut child, lines)).await;
        let told = told.unwrap_or(Err(Failure::Interrupted));
        if told.is_err() {
            // It is gone before anybody goes on; that it ended by itself is as good.
            let _ = child.kill().await;
        }
        told
    }

    async fn answers(
        &self,
        mods: &[Candidate],
        child: &mut Child,
        mut lines: Answers,
    ) -> Result<Vec<Result<Trial, Error>>, Failure> {
        let mut told = Vec::new();
        for (name, _) in mods {
            match timeout(self.limit, answer(&mut lines)).await? {
                Some(Answer::Loaded(trial)) => told.push(Ok(trial)),
                Some(Answer::Refused(reason)) => {
                    told.push(Err(Error::Refused { name: name.clone(), reason }))
                }
                None => break,
            }
        }
        let status = timeout(self.limit, child.wait()).await??;
        if status.success() && told.len() == mods.len() { Ok(told) } else { Err(Failure::Ended(status)) }
    }

    fn start(&self, mods: &[Candidate]) -> io::Result<(Child, Answers)> {
        let mut child = Command::new(self.exe);
        // Out of the reach of Ctrl-C at the terminal: who started it ends it, and says why.
        #[cfg(unix)]
        child.process_group(0);
        let mut child = child
            .args(["mods", "trial-load", "--limit-ms", &self.limit.as_millis().to_string()])
            .args(mods.iter().map(|(_, path)| path))
            .current_dir(self.cwd)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        let output = child.stdout.take().ok_or_else(|| io::Error::other("the child has no output"))?;
        Ok((child, BufReader::new(output).split(b'\n')))
    }
}

/// Why a child did not say what it should.
enum Failure {
    Late,
    Ended(ExitStatus),
    Interrupted,
    Other(String),
}

impl Failure {
    /// The failure of the only mod of a child.
    fn of(self, name: &str, limit: Duration) -> Error {
        let name = name.to_owned();
        match self {
            Self::Late => Error::TimedOut { name, limit },
            Self::Ended(status) => Error::Crashed { name, status },
            Self::Interrupted => Error::Interrupted,
            Self::Other(reason) => Error::NotTried { name, reason },
        }
    }
}

impl From<Elapsed> for Failure {
    fn from(_: Elapsed) -> Self {
        Self::Late
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Other(error.to_string())
    }
}

type Answers = Split<BufReader<ChildStdout>>;

/// The next answer; a mod may have printed before it.
async fn answer(lines: &mut Answers) -> Option<Answer<Trial>> {
    while let Ok(Some(line)) = lines.next_segment().await {
        if let Ok(answer) = serde_json::from_slice(&line) {
            return Some(answer);
        }
    }
    None
}

/// What the child does: loads the mods, each as if it were the only one, and prints what each registered as a line of
/// JSON. It ends by itself should nobody be there any more to end it.
pub(super) async fn load(
    paths: Vec<PathBuf>,
    cwd: PathBuf,
    limit: Duration,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let (done, waiting) = mpsc::channel::<()>();
    thread::Builder::new().name("limit".to_owned()).spawn(move || {
        loop {
            match waiting.recv_timeout(2 * limit) {
                Ok(()) => {}
                Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => signal_hook::low_level::exit(3),
            }
        }
    })?;
    let mut trials = pin!(mod_host::trials(paths, cwd, limit));
    while let Some(trial) = trials.next().await {
        let answer = match trial {
            Ok(trial) => Answer::Loaded(trial),
            Err(error) => Answer::Refused(describe(&error)),
        };
        // On a line of its own, whatever the mod printed.
        writeln!(out, "\n{}", serde_json::to_string(&answer)?)?;
        out.flush()?;
        done.send(())?;
    }
    Ok(())
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

    fn tried_all(script: &str, limit: Duration, mods: &[&str]) -> Vec<Result<Trial, String>> {
        let folder = tempfile::tempdir().unwrap();
        let exe = program(folder.path(), script);
        let cancel = CancellationToken::new();
        let trials = Trials { exe: &exe, cwd: folder.path(), limit, cancel: &cancel };
        let mods: Vec<_> = mods.iter().map(|name| ((*name).to_owned(), Path::new("/a").join(name))).collect();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let told = runtime.block_on(trials.run(&mods)).into_iter();
        told.map(|told| told.map_err(|error| error.to_string())).collect()
    }

    fn tried(script: &str, limit: Duration) -> Result<Trial, String> {
        tried_all(script, limit, &["guard"]).remove(0)
    }

    fn guard(name: &str) -> Trial {
        let registered = BTreeMap::from([("hooks".into(), vec!["onStop".into()])]);
        Trial { name: name.into(), version: "1.0.0".into(), registered, warnings: Vec::new() }
    }

    const ANSWERS: &str = r#"loaded() { echo "{\"loaded\":{\"name\":\"$1\",\"version\":\"1.0.0\",\"registered\":{\"hooks\":[\"onStop\"]},\"warnings\":[]}}"; }"#;

    #[test]
    fn what_a_mod_registered_is_an_answer_among_what_it_prints() {
        let script = format!(
            "{ANSWERS}\n[ \"$*\" = 'mods trial-load --limit-ms 10000 /a/guard' ] || exit 9\n\
             echo hello from the mod; echo '{{}}'; loaded guard; echo bye"
        );
        assert_eq!(tried(&script, LIMIT), Ok(guard("guard")));
    }

    #[test]
    fn a_mod_that_does_not_load_is_named_with_the_reason() {
        let cases = [
            (
                r#"echo '{"refused":"its factory failed: no key"}'"#,
                "the mod guard does not load: its factory failed: no key",
            ),
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
    fn mods_are_loaded_in_one_child_unless_that_ends_early_and_then_it_is_known_which_one_it_was() {
        let all = ["a", "b", "c"];
        let each =
            format!("{ANSWERS}\nshift 4; for path; do loaded ${{path#/a/}}; done; [ $# = 3 ] || exit 5");
        assert_eq!(tried_all(&each, LIMIT, &all), all.map(|name| Ok(guard(name))));
        let crashes = format!(
            "{ANSWERS}\nshift 4; for path; do [ $path != /a/b ] || exit 7; loaded ${{path#/a/}}; done"
        );
        let ended = "the mod b ended the process while it was loaded: exit status: 7";
        assert_eq!(tried_all(&crashes, LIMIT, &all), [Ok(guard("a")), Err(ended.to_owned()), Ok(guard("c"))]);
        // One that takes the process with it after all have answered.
        let late = format!(
            "{ANSWERS}\nshift 4; for path; do loaded ${{path#/a/}}; done; [ $path != /a/c ] || exit 8"
        );
        let ended = "the mod c ended the process while it was loaded: exit status: 8";
        assert_eq!(tried_all(&late, LIMIT, &all), [Ok(guard("a")), Ok(guard("b")), Err(ended.to_owned())]);
    }

    #[test]
    fn a_trial_that_is_interrupted_ends_with_its_child() {
        let folder = tempfile::tempdir().unwrap();
        let pid_file = folder.path().join("pid");
        let exe = program(folder.path(), &format!("echo $$ > {}; exec sleep 600", pid_file.display()));
        let cancel = CancellationToken::new();
        let trials = Trials { exe: &exe, cwd: folder.path(), limit: LIMIT, cancel: &cancel };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let told = runtime.block_on(async {
            let started = async {
                while fs::read_to_string(&pid_file).unwrap_or_default().is_empty() {
                    tokio::task::yield_now().await;
                }
                cancel.cancel();
            };
            let mods = [("guard".to_owned(), PathBuf::from("/a/mod"))];
            tokio::join!(trials.run(&mods), started).0
        });
        assert!(matches!(told[..], [Err(Error::Interrupted)]), "{told:?}");
        assert!(ends(&pid_file), "the child is still there");
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
        assert!(ends(&pid_file), "the child is still there");
    }

    /// Whether the process ends. It was killed with the future that was dropped, and is gone when its parent has waited
    /// for it.
    fn ends(pid_file: &Path) -> bool {
        let pid: i32 = fs::read_to_string(pid_file).unwrap().trim().parse().unwrap();
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        (0..100_000).any(|_| {
            std::thread::yield_now();
            rustix::process::test_kill_process(pid).is_err() || is_dead(pid)
        })
    }

    fn is_dead(pid: rustix::process::Pid) -> bool {
        let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
        stat.is_ok_and(|stat| stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('Z')))
    }

    #[test]
    fn a_program_that_cannot_be_started_is_told() {
        let cancel = CancellationToken::new();
        let (exe, cwd) = (Path::new("/nowhere/cmd"), Path::new("/"));
        let trials = Trials { exe, cwd, limit: LIMIT, cancel: &cancel };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let told = runtime.block_on(trials.run(&[("guard".to_owned(), PathBuf::from("/a/mod"))]));
        let error = told.into_iter().next().unwrap().unwrap_err();
        assert_eq!(
            error.to_string(),
            "the mod guard could not be tried: No such file or directory (os error 2)"
        );
    }
}

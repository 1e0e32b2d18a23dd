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
    io::{AsyncBufReadExt, AsyncReadExt, BufReader},
    process::{Child, ChildStdout, Command},
    time::{error::Elapsed, timeout},
};
use tokio_util::sync::CancellationToken;

use crate::{cli::output::describe, mod_host};

/// How many children there are at a time.
const AT_ONCE: usize = 4;
/// No answer is longer.
const MAX_LINE: u64 = 1 << 20;

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
struct Answer<T> {
    /// Which of the mods, counted from zero: a mod may print something of this kind too.
    number: usize,
    #[serde(flatten)]
    outcome: Outcome<T>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Outcome<T> {
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
        let (mut child, output) = self.start(mods)?;
        let told = self.cancel.run_until_cancelled(self.answers(mods, &mut child, output)).await;
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
        mut output: Output,
    ) -> Result<Vec<Result<Trial, Error>>, Failure> {
        let mut told = Vec::new();
        for (number, (name, _)) in mods.iter().enumerate() {
            match timeout(self.limit, answer(number, &mut output)).await? {
                Some(Outcome::Loaded(trial)) => told.push(Ok(trial)),
                Some(Outcome::Refused(reason)) => {
                    told.push(Err(Error::Refused { name: name.clone(), reason }))
                }
                None => break,
            }
        }
        let status = timeout(self.limit, child.wait()).await??;
        if status.success() && told.len() == mods.len() { Ok(told) } else { Err(Failure::Ended(status)) }
    }

    fn start(&self, mods: &[Candidate]) -> io::Result<(Child, Output)> {
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
        Ok((child, BufReader::new(output)))
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

type Output = BufReader<ChildStdout>;

/// The answer about the mod of that number; what mods printed before it is passed over.
async fn answer(number: usize, output: &mut Output) -> Option<Outcome<Trial>> {
    let mut line = Vec::new();
    loop {
        line.clear();
        // What is longer comes in pieces: it is no answer, and may have no end.
        let read = (&mut *output).take(MAX_LINE).read_until(b'\n', &mut line).await;
        if read.is_err() || line.is_empty() {
            return None;
        }
        match serde_json::from_slice::<Answer<Trial>>(&line) {
            Ok(answer) if answer.number == number => return Some(answer.outcome),
            _ => {}
        }
    }
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
    let mut trials = pin!(mod_host::trials(paths, cwd, limit).enumerate());
    while let Some((number, trial)) = trials.next().await {
        let outcome = match trial {
            Ok(trial) => Outcome::Loaded(trial),
            Err(error) => Outcome::Refused(describe(&error)),
        };
        let answer = Answer { number, outcome };
        // On a line of its own, whatever the mod printed.
        writeln!(out, "\n{}", serde_json::to_string(&answer)?)?;
        out.flush()?;
        done.send(())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;

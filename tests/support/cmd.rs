//! The real program in folders of its own: nothing of this machine's user, no terminal.

use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use serde_json::{Value, json};

use super::session::{Folders, library};

/// Longer than any test takes: a program that hangs fails its test, and not the whole run.
const LIMIT: Duration = Duration::from_secs(60);

/// What the program did, the folders' path written as `DIR`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// The program, to be run in `folders`.
pub(crate) fn program(folders: &Folders) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cmd"));
    command
        .env_clear()
        .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
        .env("COMMANDCODE_HOME", folders.home())
        .current_dir(folders.work())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Waits until the program is done.
pub(crate) fn finish(folders: &Folders, mut child: Child) -> Ran {
    let (stdout, stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let (sender, ended) = mpsc::channel();
    let waiting = thread::scope(|scope| {
        let stdout = scope.spawn(|| read(stdout));
        let stderr = scope.spawn(|| read(stderr));
        let id = child.id();
        scope.spawn(move || {
            if ended.recv_timeout(LIMIT).is_err() {
                let id = rustix::process::Pid::from_raw(i32::try_from(id).unwrap()).unwrap();
                rustix::process::kill_process(id, rustix::process::Signal::KILL).unwrap();
            }
        });
        let status = child.wait().unwrap();
        sender.send(()).unwrap();
        (status.code(), stdout.join().unwrap(), stderr.join().unwrap())
    });
    let (code, stdout, stderr) = waiting;
    Ran { code, stdout: bare(folders, &stdout), stderr: without_slow_observers(&bare(folders, &stderr)) }
}

fn bare(folders: &Folders, text: &str) -> String {
    text.replace(&folders.dir().display().to_string(), "DIR")
}

/// On a machine that is busy, any observer may be called slow.
fn without_slow_observers(stderr: &str) -> String {
    stderr
        .lines()
        .filter(|line| !line.contains(" held the run up for "))
        .map(|line| format!("{line}\n"))
        .collect()
}

fn read(mut stream: impl Read) -> String {
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

/// A session in which two good mods must act, whatever else is there: the model calls the tool of one,
/// the other says at the end what it counted.
pub(crate) struct Start {
    pub(crate) folders: Folders,
    more: Vec<String>,
    misbehaves: bool,
}

/// What the good mods leave on standard error.
const COUNTED: &str = "info: observe-events: 2 turns, 1 tools run, 0 calls blocked\n";

impl Start {
    pub(crate) fn new() -> Self {
        Self { folders: Folders::new(), more: Vec::new(), misbehaves: false }
    }

    /// A path beside home and workspace.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folders.dir().join(name)
    }

    /// A path as it stands in what the program said.
    pub(crate) fn bare(&self, path: &Path) -> String {
        bare(&self.folders, &path.display().to_string())
    }

    /// Where a constructor of a misbehaving mod leaves its mark.
    pub(crate) fn mark(&self) -> PathBuf {
        self.path("mark")
    }

    /// Writes the user's settings.
    pub(crate) fn settings(&self, settings: &Value) {
        fs::write(self.folders.home().join("settings.json"), settings.to_string()).unwrap();
    }

    /// Adds arguments.
    pub(crate) fn with<S: Into<String>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.more.extend(args.into_iter().map(Into::into));
        self
    }

    /// Adds a mod between the good ones.
    pub(crate) fn with_mod(self, path: &Path) -> Self {
        self.with(["--mod", path.to_str().unwrap()])
    }

    /// The misbehaving mod is loaded too: its tool is there. Without this, nothing of it may be.
    pub(crate) fn misbehaves(mut self) -> Self {
        self.misbehaves = true;
        self
    }

    /// The program, about to start the session.
    pub(crate) fn command(&self) -> Command {
        let tools = if self.misbehaves {
            json!({ "tools_include": ["count_todos", "misbehave"] })
        } else {
            json!({ "tools_include": ["count_todos"], "tools_exclude": ["misbehave"] })
        };
        let scenario = json!({ "turns": [
            { "tool_calls": [{ "name": "count_todos" }], "expect": tools },
            { "text": "done", "expect": { "tool_result_contains": { "text": "0 TODO markers" } } },
        ] });
        let mut command = program(&self.folders);
        command
            .args(["-p", "go", "--model", &self.folders.scenario(&scenario)])
            .arg("--mod")
            .arg(library("custom-tool"))
            .args(&self.more)
            .arg("--mod")
            .arg(library("observe-events"))
            .env("MISBEHAVING_CONSTRUCTOR", self.mark());
        command
    }

    pub(crate) fn run(&self) -> Ran {
        finish(&self.folders, self.command().spawn().unwrap())
    }

    /// The start tells of one mod, or of one other thing, that it is missing: the good mods act, and the
    /// code tells that not all is well.
    #[track_caller]
    pub(crate) fn tells(&self, warning: &str) {
        let stderr = format!("warning: {warning}\n{COUNTED}");
        assert_eq!(self.run(), Ran { code: Some(1), stdout: "done\n".to_owned(), stderr });
    }

    /// As [`Self::tells`], and not even a constructor of the mod ran.
    #[track_caller]
    pub(crate) fn refuses(&self, warning: &str) {
        self.tells(warning);
        assert!(!self.mark().exists(), "a constructor ran");
    }
}

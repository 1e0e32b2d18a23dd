//! The program itself, run in a home and a workspace of its own, for a bounded time.

use std::{
    fs,
    io::{Read, Write},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Arc, Condvar, Mutex, mpsc},
    thread,
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::session::Folders;

/// What takes longer hangs.
const LIMIT: Duration = Duration::from_secs(60);

/// What comes later than this after a signal is another one.
const ECHO: Duration = Duration::from_millis(600);

/// A run that is about to start.
pub(crate) struct Program {
    command: Command,
    limit: Duration,
    input: Option<Vec<u8>>,
    folder: PathBuf,
}

/// A run that goes on. It is killed when this is dropped before its end.
pub(crate) struct Running {
    child: Option<Child>,
    limit: Duration,
    out: Arc<Text>,
    err: Arc<Text>,
    folder: PathBuf,
}

/// A run that is over. The folder of the test is `DIR` in its texts, the session's id is `SESSION`.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// What came of a stream so far.
#[derive(Default)]
struct Text {
    read: Mutex<(Vec<u8>, bool)>,
    more: Condvar,
}

/// An answer.
pub(crate) fn says(text: &str) -> Value {
    json!({ "turns": [{ "text": text }] })
}

/// One call of a tool, and then an answer.
pub(crate) fn calls(tool: &str, input: Value) -> Value {
    json!({ "turns": [{ "tool_calls": [{ "id": "c1", "name": tool, "input": input }] }, { "text": "done" }] })
}

/// A shell command, and then an answer.
pub(crate) fn shell(command: &str) -> Value {
    calls("shell_command", json!({ "command": command }))
}

/// Whether a program can be run with these arguments; tells that the test was skipped when not.
// What somebody who reads the tests' output must know.
#[allow(clippy::print_stderr)]
pub(crate) fn can(program: &str, args: &[&str]) -> bool {
    let can = Command::new(program).args(args).output().is_ok_and(|output| output.status.success());
    if !can {
        eprintln!("skipped, because this does not work here: {program} {}", args.join(" "));
    }
    can
}

impl Folders {
    /// The program in the workspace. Of this process's environment it has the `PATH` alone.
    pub(crate) fn cmd(&self, args: &[&str]) -> Program {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cmd"));
        command.args(args).current_dir(self.work()).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("COMMANDCODE_HOME", self.home());
        let folder = self.work().parent().unwrap().to_owned();
        Program { command, limit: LIMIT, input: None, folder }
    }

    /// A run of a scenario in print mode.
    pub(crate) fn play(&self, scenario: &Value, args: &[&str]) -> Program {
        let model = self.scenario(scenario);
        self.cmd(&[&["-p", "go", "--model", &model], args].concat())
    }

    /// Writes the user's settings.
    pub(crate) fn settings(&self, settings: &Value) {
        fs::write(self.home().join("settings.json"), settings.to_string()).unwrap();
    }

    /// The lines of every session file, one file after the other. Each must be whole.
    pub(crate) fn session_lines(&self) -> Vec<Value> {
        let files: Vec<_> =
            self.session_files().iter().map(|file| fs::read_to_string(file).unwrap()).collect();
        assert!(
            files.iter().all(|text| text.ends_with('\n')),
            "a session file ends in half a line: {files:?}"
        );
        files.iter().flat_map(|text| text.lines().map(|line| serde_json::from_str(line).unwrap())).collect()
    }

    pub(crate) fn session_files(&self) -> Vec<PathBuf> {
        let list = |path: &Path| fs::read_dir(path).into_iter().flatten().map(|entry| entry.unwrap().path());
        let mut files: Vec<_> = list(&self.home().join("sessions"))
            .flat_map(|folder| list(&folder).collect::<Vec<_>>())
            .collect();
        files.sort();
        files
    }

    /// The processes that work in the workspace.
    #[cfg(target_os = "linux")]
    pub(crate) fn processes(&self) -> Vec<String> {
        let work = self.work().canonicalize().unwrap();
        let all = fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path());
        let ours = all.filter(|process| fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd == work));
        ours.map(|process| fs::read_to_string(process.join("cmdline")).unwrap_or_default()).collect()
    }
}

impl Program {
    pub(crate) fn env(mut self, name: &str, value: impl AsRef<std::ffi::OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Lets it use cargo, which may have much to build, in the target folder of this test.
    pub(crate) fn with_cargo(mut self) -> Self {
        let names = ["HOME", "CARGO", "CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "RUSTFLAGS"];
        self.command.envs(names.into_iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
        self.command.env("CARGO_TARGET_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap());
        self.patiently()
    }

    /// Lets it take longer.
    pub(crate) fn patiently(mut self) -> Self {
        self.limit = 10 * LIMIT;
        self
    }

    /// Pipes this into the program.
    pub(crate) fn input(mut self, input: impl Into<Vec<u8>>) -> Self {
        self.input = Some(input.into());
        self
    }

    /// Runs `wrapper` with the program and its arguments behind its own.
    pub(crate) fn wrapped(mut self, wrapper: &str, args: &[&str]) -> Self {
        let mut command = Command::new(wrapper);
        command.args(args).arg(self.command.get_program()).args(self.command.get_args()).env_clear();
        command.envs(self.command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.current_dir(self.command.get_current_dir().unwrap());
        self.command = command;
        self
    }

    pub(crate) fn start(mut self) -> Running {
        let input = self.input.take();
        self.command.stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() });
        let mut child = self.command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        if let Some(input) = input {
            let mut stdin = child.stdin.take().unwrap();
            // A program that does not read its input is not at fault.
            thread::spawn(move || drop(stdin.write_all(&input)));
        }
        let out = Text::read(child.stdout.take().unwrap());
        let err = Text::read(child.stderr.take().unwrap());
        Running { child: Some(child), limit: self.limit, out, err, folder: self.folder }
    }

    pub(crate) fn run(self) -> Ran {
        self.start().end()
    }
}

impl Running {
    /// Waits until `wanted` holds for what stands on standard output so far.
    pub(crate) fn wait_for_out(&self, wanted: impl Fn(&str) -> bool) {
        assert!(self.out.wait_for(|text, _| wanted(text)), "standard output is: {}", self.out.so_far());
    }

    /// Waits until `wanted` holds for what stands on standard error so far.
    pub(crate) fn wait_for_err(&self, wanted: impl Fn(&str) -> bool) {
        assert!(self.err.wait_for(|text, _| wanted(text)), "standard error is: {}", self.err.so_far());
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    /// Signals a program that goes on once more, when that is no echo of the first signal any more.
    pub(crate) fn signal_again(&self, signal: Signal) {
        assert!(!self.out.wait_within(ECHO, |_, ended| ended), "it has ended: {}", self.out.so_far());
        self.signal(signal);
    }

    /// Waits until the program and all that holds its streams have ended.
    pub(crate) fn end(mut self) -> Ran {
        let (pid, mut child) = (self.pid(), self.child.take().unwrap());
        let (send, receive) = mpsc::channel();
        thread::spawn(move || send.send(child.wait()));
        let status = receive.recv_timeout(self.limit).unwrap_or_else(|_| {
            let _ = kill_process(pid, Signal::KILL);
            panic!("it hangs; standard output: {}; standard error: {}", self.out.so_far(), self.err.so_far())
        });
        assert!(
            self.out.wait_for(|_, ended| ended) && self.err.wait_for(|_, ended| ended),
            "a child is left"
        );
        let tidy = |text: &Text| tidy(&text.so_far(), &self.folder);
        Ran { status: status.unwrap(), stdout: tidy(&self.out), stderr: tidy(&self.err) }
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(self.child.as_ref().unwrap())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Ran {
    /// The exit code; that of a signal is as shells have it.
    pub(crate) fn code(&self) -> i32 {
        use std::os::unix::process::ExitStatusExt;
        self.status.code().or(self.status.signal().map(|signal| 128 + signal)).unwrap()
    }

    /// All that a caller sees.
    pub(crate) fn told(&self) -> (i32, &str, &str) {
        (self.code(), &self.stdout, &self.stderr)
    }

    /// Standard output as one JSON object.
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.stdout.lines().count(), 1, "{self:?}");
        serde_json::from_str(&self.stdout).unwrap()
    }

    /// Standard output as events.
    pub(crate) fn events(&self) -> Vec<Value> {
        let event = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        self.stdout.lines().map(event).collect()
    }

    /// The events of one kind.
    pub(crate) fn events_of(&self, kind: &str) -> Vec<Value> {
        self.events().into_iter().filter(|event| event["type"] == kind).collect()
    }
}

impl Text {
    fn read(mut stream: impl Read + Send + 'static) -> Arc<Self> {
        let text = Arc::new(Self::default());
        let ours = Arc::clone(&text);
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            loop {
                let read = stream.read(&mut bytes).unwrap_or(0);
                let mut so_far = ours.read.lock().unwrap();
                so_far.0.extend_from_slice(&bytes[..read]);
                so_far.1 = read == 0;
                ours.more.notify_all();
                if read == 0 {
                    return;
                }
            }
        });
        text
    }

    /// Whether `wanted` holds in time for the text and whether it is at its end.
    fn wait_for(&self, wanted: impl Fn(&str, bool) -> bool) -> bool {
        self.wait_within(LIMIT, wanted)
    }

    fn wait_within(&self, limit: Duration, wanted: impl Fn(&str, bool) -> bool) -> bool {
        let read = self.read.lock().unwrap();
        let not_yet = |read: &mut (Vec<u8>, bool)| {
            let holds = wanted(&String::from_utf8_lossy(&read.0), read.1);
            !holds && !read.1
        };
        let (read, _) = self.more.wait_timeout_while(read, limit, not_yet).unwrap();
        wanted(&String::from_utf8_lossy(&read.0), read.1)
    }

    fn so_far(&self) -> String {
        String::from_utf8_lossy(&self.read.lock().unwrap().0).into_owned()
    }
}

/// The text without what differs from run to run.
fn tidy(text: &str, folder: &Path) -> String {
    let text = text.replace(&folder.display().to_string(), "DIR");
    let id = regex::Regex::new(r#""sessionId":"([0-9a-f-]{36})""#).unwrap();
    match id.captures(&text).map(|found| found[1].to_owned()) {
        Some(id) => text.replace(&id, "SESSION"),
        None => text,
    }
}

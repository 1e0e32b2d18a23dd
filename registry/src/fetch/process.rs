use super::FetchOptions;
use crate::{Error, source::redacted};
use std::{
    io::{self, Read},
    process::{Child, Command, Stdio},
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};

/// The most bytes that are kept of what a program says.
const MAX_OUTPUT: u64 = 64 * 1024 * 1024;
/// How often it is looked whether to go on.
const LOOK: Duration = Duration::from_millis(50);
/// What a loader, or git, would take from the environment to run or use something else.
const REMOVED: [&str; 12] = [
    "LD_PRELOAD",
    "LD_LIBRARY_PATH",
    "LD_AUDIT",
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_CONFIG_PARAMETERS",
    "GIT_EXEC_PATH",
    "GIT_TEMPLATE_DIR",
    "GIT_NAMESPACE",
];

/// What a program said.
pub(super) struct Said {
    pub(super) success: bool,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: String,
}

/// A program with a clean environment and nothing to read.
pub(super) fn command(program: &str, options: &FetchOptions) -> Command {
    let mut command = Command::new(program);
    REMOVED.iter().for_each(|name| {
        command.env_remove(name);
    });
    command.envs(options.env.iter().map(|(name, value)| (name, value))).stdin(Stdio::null());
    command
}

/// Runs a program to its end, or to the end of its time.
///
/// # Errors
/// `E_TOOL_MISSING` when there is no such program, `E_TIMEOUT`, `E_INTERRUPTED`, `E_FETCH` when it cannot be run.
pub(super) fn run(
    mut command: Command,
    program: &'static str,
    options: &FetchOptions,
) -> Result<Said, Error> {
    // Out of the reach of Ctrl-C at the terminal: who started it ends it, and says why.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(failed(program))?;
    let limit = Limit { program, options, deadline: Instant::now() + options.timeout };
    let said = said(&mut child, &limit);
    if said.is_err() {
        // It may have ended by itself in between.
        #[cfg(unix)]
        let _ = rustix::process::kill_process_group(
            rustix::process::Pid::from_child(&child),
            rustix::process::Signal::KILL,
        );
        let _ = child.kill();
        let _ = child.wait();
    }
    said
}

fn failed(program: &'static str) -> impl FnOnce(io::Error) -> Error {
    move |error| match error.kind() {
        io::ErrorKind::NotFound => Error::ToolMissing { program },
        _ => Error::Fetch { what: program.to_owned(), reason: error.to_string() },
    }
}

/// How long a program may go on.
struct Limit<'a> {
    program: &'static str,
    options: &'a FetchOptions,
    deadline: Instant,
}

impl Limit<'_> {
    fn go_on(&self) -> Result<(), Error> {
        self.options.go_on()?;
        if Instant::now() > self.deadline {
            let (program, seconds) = (self.program, self.options.timeout.as_secs());
            return Err(Error::Timeout { program, seconds });
        }
        Ok(())
    }
}

/// What a program says until it ends.
fn said(child: &mut Child, limit: &Limit<'_>) -> Result<Said, Error> {
    let (stdout, stderr) = (child.stdout.take().map(read), child.stderr.take().map(read));
    let (stdout, stderr) = (heard(stdout, limit)?, heard(stderr, limit)?);
    // It ends with its output, as a rule; one that does not is bound by the same limit.
    let mut pause = Duration::from_millis(1);
    let status = loop {
        match child.try_wait().map_err(failed(limit.program))? {
            Some(status) => break status,
            None => limit.go_on()?,
        }
        thread::sleep(pause);
        pause = LOOK.min(2 * pause);
    };
    let stderr = String::from_utf8_lossy(&stderr).into_owned();
    Ok(Said { success: status.success(), stdout, stderr })
}

/// What came out of a pipe until its end.
fn heard(pipe: Option<mpsc::Receiver<Vec<u8>>>, limit: &Limit<'_>) -> Result<Vec<u8>, Error> {
    let Some(pipe) = pipe else {
        return Ok(Vec::new());
    };
    loop {
        match pipe.recv_timeout(LOOK) {
            Err(RecvTimeoutError::Timeout) => limit.go_on()?,
            told => return Ok(told.unwrap_or_default()),
        }
    }
}

/// Reads a pipe to its end, beside the others.
fn read(pipe: impl Read + Send + 'static) -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // What was read before an error is worth showing; that it failed shows in the program's status.
        let _ = pipe.take(MAX_OUTPUT).read_to_end(&mut bytes);
        let _ = sender.send(bytes);
    });
    receiver
}

/// The lines of a failure that say why, as one, without secrets of addresses.
pub(super) fn reason(stderr: &str) -> String {
    let lines: Vec<&str> = stderr.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let words = lines.iter().take(6).flat_map(|line| line.split(' ')).map(redacted);
    let text = words.collect::<Vec<_>>().join(" ");
    if text.is_empty() { "it said nothing".to_owned() } else { text.chars().take(600).collect() }
}

#[cfg(all(test, unix))]
mod tests {
    use std::sync::{Arc, atomic::Ordering::Relaxed};

    use super::*;

    /// A program that closes its output and lives on.
    fn silent() -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", "echo hello; exec sleep 60 >&- 2>&-"]);
        command
    }

    #[test]
    fn a_program_that_lives_on_without_its_output_is_ended_with_its_time() {
        let options = FetchOptions { timeout: Duration::from_secs(1), ..FetchOptions::default() };
        let told = run(silent(), "git", &options).err().map(|error| error.code());
        assert_eq!(told, Some("E_TIMEOUT"));
    }

    #[test]
    fn a_program_that_lives_on_without_its_output_is_ended_by_an_interruption() {
        let options = FetchOptions::default();
        let interrupted = Arc::clone(&options.interrupted);
        let running = thread::spawn(move || run(silent(), "git", &options));
        interrupted.store(true, Relaxed);
        let told = running.join().unwrap().err().map(|error| error.code());
        assert_eq!(told, Some("E_INTERRUPTED"));
    }

    #[test]
    fn a_program_is_heard_to_its_end() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo out; echo err >&2; exit 3"]);
        let said = run(command, "git", &FetchOptions::default()).unwrap();
        assert_eq!((said.success, &*said.stdout, &*said.stderr), (false, &b"out\n"[..], "err\n"));
    }
}

use super::FetchOptions;
use crate::{Error, source::redacted};
use std::{
    io::{self, Read},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::{
        Mutex, MutexGuard, PoisonError,
        mpsc::{self, RecvTimeoutError},
    },
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
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = Running::start(&mut command, &PROGRAMS).map_err(failed(program))?;
    said(&mut running.0, &Limit::new(program, options))
}

/// Runs a program that `talk` speaks with. With the end of its time its pipes end too.
///
/// # Errors
/// As for [`run`], and those of `talk`.
pub(super) fn converse<T>(
    mut command: Command,
    program: &'static str,
    options: &FetchOptions,
    talk: impl FnOnce(ChildStdin, ChildStdout) -> Result<T, Error>,
) -> Result<T, Error> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut running = Running::start(&mut command, &PROGRAMS).map_err(failed(program))?;
    let (Some(ask), Some(answer)) = (running.0.stdin.take(), running.0.stdout.take()) else {
        return Err(failed(program)(io::ErrorKind::BrokenPipe.into()));
    };
    let limit = Limit::new(program, options);
    let (talking, is_over) = mpsc::channel::<()>();
    thread::scope(|scope| {
        let watch = move || {
            while is_over.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                limit.go_on().inspect_err(|_| running.end())?;
            }
            Ok(())
        };
        let watching = thread::Builder::new().spawn_scoped(scope, watch).map_err(failed(program))?;
        let talked = talk(ask, answer);
        drop(talking);
        watching.join().unwrap_or(Ok(())).and(talked)
    })
}

/// The programs that run, each the first of its group.
#[derive(Default)]
struct Programs {
    ids: Vec<u32>,
    /// Whether none may begin any more.
    over: bool,
}

// A static, for it says what the system says: which children this process has.
static PROGRAMS: Mutex<Programs> = Mutex::new(Programs { ids: Vec::new(), over: false });

/// Ends npm and git wherever they run in this process, and lets none begin any more: for the end of the process
/// alone, when nobody waits for what was asked for.
pub fn end_programs() {
    end_all(&PROGRAMS);
}

fn end_all(programs: &Mutex<Programs>) {
    let mut programs = lock(programs);
    programs.over = true;
    programs.ids.iter().for_each(|id| end_group(*id));
}

fn lock(programs: &Mutex<Programs>) -> MutexGuard<'_, Programs> {
    programs.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A program that runs. Dropping it ends it, with all that it has started.
struct Running<'a>(Child, &'a Mutex<Programs>);

impl<'a> Running<'a> {
    /// Starts it out of the reach of Ctrl-C at the terminal: who started it ends it, and says why.
    fn start(command: &mut Command, programs: &'a Mutex<Programs>) -> io::Result<Self> {
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(command, 0);
        let mut all = lock(programs);
        if all.over {
            return Err(io::Error::other("the program is ending"));
        }
        let child = command.spawn()?;
        all.ids.push(child.id());
        Ok(Self(child, programs))
    }

    fn end(&mut self) {
        // One that was waited for is no process any more, and its number may be somebody else's.
        if let Ok(None) = self.0.try_wait() {
            end_group(self.0.id());
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.end();
        let id = self.0.id();
        lock(self.1).ids.retain(|other| *other != id);
    }
}

/// Ends a program and its children, where there are groups of processes.
fn end_group(id: u32) {
    #[cfg(unix)]
    if let Some(id) = i32::try_from(id).ok().and_then(rustix::process::Pid::from_raw) {
        // It may have ended by itself in between.
        let _ = rustix::process::kill_process_group(id, rustix::process::Signal::KILL);
    }
    #[cfg(not(unix))]
    let _ = id;
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

impl<'a> Limit<'a> {
    fn new(program: &'static str, options: &'a FetchOptions) -> Self {
        Self { program, options, deadline: Instant::now() + options.timeout }
    }

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
    let stdout = child.stdout.take().map(read).transpose().map_err(failed(limit.program))?;
    let stderr = child.stderr.take().map(read).transpose().map_err(failed(limit.program))?;
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
fn read(pipe: impl Read + Send + 'static) -> io::Result<mpsc::Receiver<Vec<u8>>> {
    let (sender, receiver) = mpsc::channel();
    thread::Builder::new().spawn(move || {
        let mut bytes = Vec::new();
        // What was read before an error is worth showing; that it failed shows in the program's status.
        let _ = pipe.take(MAX_OUTPUT).read_to_end(&mut bytes);
        let _ = sender.send(bytes);
    })?;
    Ok(receiver)
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
    fn a_program_that_does_not_listen_is_ended_with_its_time() {
        let options = FetchOptions { timeout: Duration::from_millis(100), ..FetchOptions::default() };
        let mut command = Command::new("sh");
        command.args(["-c", "exec sleep 60"]);
        let talk = |mut ask: ChildStdin, _| {
            let too_much = vec![b'a'; 1 << 20];
            io::Write::write_all(&mut ask, &too_much).map_err(failed("git"))
        };
        let told = converse(command, "git", &options, talk).err().map(|error| error.code());
        assert_eq!(told, Some("E_TIMEOUT"));
    }

    #[test]
    fn what_runs_at_the_end_of_the_process_is_ended_and_nothing_begins_after_it() {
        let programs = Mutex::default();
        let mut running = Running::start(&mut silent(), &programs).unwrap();
        end_all(&programs);
        assert_eq!(running.0.wait().unwrap().code(), None, "a signal ended it");
        let refused = Running::start(&mut silent(), &programs).err().map(|error| error.to_string());
        assert_eq!(refused.as_deref(), Some("the program is ending"));
        drop(running);
        assert_eq!(lock(&programs).ids, [0; 0]);
    }

    #[test]
    fn a_program_is_heard_to_its_end() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo out; echo err >&2; exit 3"]);
        let said = run(command, "git", &FetchOptions::default()).unwrap();
        assert_eq!((said.success, &*said.stdout, &*said.stderr), (false, &b"out\n"[..], "err\n"));
    }
}

use super::FetchOptions;
use crate::{Error, source::redacted};
use std::{
    io::{self, Read},
    process::{Command, Stdio},
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
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => Error::ToolMissing { program },
        _ => Error::Fetch { what: program.to_owned(), reason: error.to_string() },
    };
    // Out of the reach of Ctrl-C at the terminal: who started it ends it, and says why.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(failed)?;
    let deadline = Instant::now() + options.timeout;
    let wait = |pipe: Option<mpsc::Receiver<Vec<u8>>>| {
        pipe.map_or(Ok(Vec::new()), |pipe| {
            loop {
                match pipe.recv_timeout(LOOK) {
                    Err(RecvTimeoutError::Timeout) => options.go_on()?,
                    told => return Ok(told.unwrap_or_default()),
                }
                if Instant::now() > deadline {
                    return Err(Error::Timeout { program, seconds: options.timeout.as_secs() });
                }
            }
        })
    };
    let (stdout, stderr) = (child.stdout.take().map(read), child.stderr.take().map(read));
    match wait(stdout).and_then(|stdout| Ok((stdout, wait(stderr)?))) {
        Ok((stdout, stderr)) => Ok(Said {
            success: child.wait().map_err(failed)?.success(),
            stdout,
            stderr: String::from_utf8_lossy(&stderr).into_owned(),
        }),
        Err(error) => {
            // It may have ended by itself in between.
            #[cfg(unix)]
            let _ = rustix::process::kill_process_group(
                rustix::process::Pid::from_child(&child),
                rustix::process::Signal::KILL,
            );
            let _ = child.kill();
            let _ = child.wait();
            Err(error)
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

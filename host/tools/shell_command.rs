use std::{sync::Mutex, time::Duration};

use schemars::JsonSchema;
use serde::Deserialize;
use tokio::time::{MissedTickBehavior, interval};

use super::{Access, Error, ToolContext, page::MAX_OUTPUT, typed};
use crate::process::{Captured, End, Finished, Run, Streams};

const DEFAULT_TIMEOUT_MS: u64 = 120_000;
const MAX_TIMEOUT_MS: u64 = 600_000;
/// How often it is told how far a command is, and how much of its output.
const PROGRESS_EVERY: Duration = Duration::from_millis(200);
const PROGRESS_BYTES: usize = 4_000;

pub(super) struct ShellCommand;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub(super) struct Input {
    /// The command.
    command: String,
    /// How long it may take, in milliseconds; 120000 when not given.
    #[schemars(range(min = 1, max = MAX_TIMEOUT_MS))]
    timeout_ms: Option<u64>,
}

impl typed::Typed for ShellCommand {
    type Input = Input;
    const NAME: &'static str = "shell_command";
    const DESCRIPTION: &'static str = "Runs a command in the workspace with the system's shell, without input \
        or terminal, and gives its output, stdout and stderr together. Long output is cut in the middle. What \
        the command leaves running in the background is ended with it, unless it was started with setsid -f.";
    const ACCESS: Access = Access::Other;

    fn subjects(input: &Input) -> Vec<String> {
        vec![input.command.trim().to_owned()]
    }

    fn describe(input: &Input) -> String {
        format!("run {}", input.command.trim())
    }

    async fn run(&self, input: Input, ctx: ToolContext) -> Result<String, Error> {
        let timeout_ms = input.timeout_ms.unwrap_or(DEFAULT_TIMEOUT_MS);
        if !(1..=MAX_TIMEOUT_MS).contains(&timeout_ms) {
            let problem = format!("got {timeout_ms}, expected 1 to {MAX_TIMEOUT_MS} milliseconds");
            return Err(Error::input(Self::NAME, "timeout_ms", &problem));
        }
        let (shell, flag) = if cfg!(windows) { ("cmd", "/C") } else { ("sh", "-c") };
        let run = Run {
            streams: Streams::Merged,
            limit: MAX_OUTPUT,
            timeout: Some(Duration::from_millis(timeout_ms)),
            ..Run::new(shell, &*ctx.cwd).args([flag, &input.command])
        };
        told(&with_progress(&run, &ctx).await?, timeout_ms)
    }
}

/// Runs it, and tells the end of the output every now and then while more arrives.
async fn with_progress(run: &Run, ctx: &ToolContext) -> Result<Finished, Error> {
    let so_far = Mutex::new(Captured::new(2 * PROGRESS_BYTES));
    let lock = || so_far.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let mut on_output = |chunk: &[u8]| lock().push(chunk);
    let tell = async {
        let (mut every, mut told) = (interval(PROGRESS_EVERY), 0);
        every.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            every.tick().await;
            let (total, end) = {
                let so_far = lock();
                (so_far.total(), so_far.end(PROGRESS_BYTES))
            };
            if total > told {
                told = total;
                (ctx.progress)(&end);
            }
        }
    };
    tokio::select! {
        finished = run.run(&ctx.cancel, &mut on_output) => Ok(finished?),
        // It tells for ever.
        () = tell => Err(Error::Interrupted),
    }
}

/// What the model is told of it.
fn told(finished: &Finished, timeout_ms: u64) -> Result<String, Error> {
    let output = finished.stdout.text() + &finished.stderr.text();
    let mut parts = vec![output.trim_end().to_owned()];
    if finished.stdout.cut() > 0 {
        parts.push(format!(
            "[{} bytes in all; to see the rest, send the output to a file and read that with read_file]",
            finished.stdout.total(),
        ));
    }
    if finished.stopped > 0 && matches!(finished.end, End::Exited(_)) {
        parts.push(format!("[processes left in the background were ended: {}]", finished.stopped));
    }
    let failure = match finished.end {
        End::Exited(0) => None,
        End::Exited(code) => Some(format!("[exit code: {code}]")),
        End::Signalled(signal) => Some(format!("[ended by signal {signal}]")),
        End::TimedOut => Some(format!(
            "[timed out after {timeout_ms} ms, and was ended with all that it had started; timeout_ms can be up \
             to {MAX_TIMEOUT_MS}]"
        )),
        End::Cancelled => Some("[interrupted, and ended with all that it had started]".to_owned()),
    };
    let failed = failure.is_some();
    parts.extend(failure);
    parts.retain(|part| !part.is_empty());
    let text = if parts.is_empty() { "[no output]".to_owned() } else { parts.join("\n") };
    if failed { Err(Error::Failed(text)) } else { Ok(text) }
}

#[cfg(test)]
#[cfg(unix)]
mod tests;

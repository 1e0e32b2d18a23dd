//! Print mode: one prompt, one answer.
//!
//! What stands on standard output is the format's alone: a text, one JSON object, or one JSON object a
//! line. With `--mod-timing`, what the hooks took is a table on standard error, the field `modTiming`, or the last
//! line, which is no event of the run: `mod_timing`. A run that could not begin keeps to that: `json` is still one object, its `error` set and its
//! `result` null, and the last line of `stream-json` is a `run_error`. A wrong command line alone leaves
//! it empty.

mod lines;
mod printer;
#[cfg(test)]
mod tests;
mod timing;

use std::{
    io::{self, Write},
    sync::Arc,
};

use mod_interface::types::StopReason;
use tokio_util::sync::CancellationToken;

use self::{lines::Writer, printer::Printer};
use super::{
    args::OutputFormat,
    output::{Exit, Usage, describe},
    request::{BoxError, Ended, Finished, RunPrompt, RunRequest},
};

/// How a run is printed.
pub(super) struct Printing<O, E> {
    pub(super) format: OutputFormat,
    pub(super) verbose: bool,
    /// Whether `out` is a terminal.
    pub(super) terminal: bool,
    pub(super) out: O,
    pub(super) err: E,
}

impl<O: Write + Send + 'static, E: Write + Send + 'static> Printing<O, E> {
    /// Runs a prompt and prints what comes of it, or why there is no request to run. A reader that goes
    /// away interrupts the run.
    ///
    /// # Errors
    /// There is no request, or the result could not be printed. A run that cannot begin is printed.
    pub(super) async fn run(
        self,
        run_prompt: &RunPrompt,
        request: anyhow::Result<RunRequest>,
        cancel: CancellationToken,
    ) -> anyhow::Result<Exit> {
        let broken = cancel.clone();
        let (writer, lines) = Writer::start(self.out, self.err, move || broken.cancel())?;
        let printer = Arc::new(Printer {
            format: self.format,
            verbose: self.verbose,
            terminal: self.terminal,
            lines,
            seen: Default::default(),
        });
        let exit = match request {
            Ok(request) => {
                request.settings.warnings.iter().for_each(|warning| printer.warn(warning));
                // A task of its own: a mod that never returns keeps a worker thread, and not this one.
                let run = tokio::spawn(run_prompt(request, printer.clone(), cancel)).await;
                Ok(printer.finished(run.map_err(BoxError::from).flatten()))
            }
            Err(error) => {
                if !error.is::<Usage>() {
                    printer.not_begun(&describe(error.as_ref()));
                }
                Err(error)
            }
        };
        // Nothing else runs on this thread; and a new one would wait for the system's loader, which a mod
        // that hangs in its constructor holds for ever.
        let written = writer.finish();
        let exit = exit?;
        written.map_err(|error| match error.kind() {
            io::ErrorKind::BrokenPipe => error.into(),
            _ => anyhow::Error::from(error).context("cannot print the result"),
        })?;
        Ok(exit)
    }
}

impl Printer {
    /// Prints what came of the run, or why it could not begin.
    fn finished(&self, finished: Result<Finished, BoxError>) -> Exit {
        match finished {
            Ok(finished) => {
                self.end(&finished.ended, finished.mod_timing.as_deref());
                exit(&finished)
            }
            Err(error) => {
                let error = describe(&*error);
                self.not_begun(&error);
                self.error(&error);
                Exit::Failure
            }
        }
    }
}

/// Zero for a run that came to its own end, with every mod that it should have had.
fn exit(finished: &Finished) -> Exit {
    let ended_well = match &finished.ended {
        Ended::Handled(_) => true,
        Ended::Failed => false,
        Ended::Run(result) => matches!(result.stop_reason, StopReason::EndTurn | StopReason::StopHook),
    };
    if ended_well && finished.mods_not_loaded == 0 { Exit::Success } else { Exit::Failure }
}

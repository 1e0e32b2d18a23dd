//! Print mode: one prompt, one answer.

mod lines;
mod printer;
#[cfg(test)]
mod tests;

use std::{
    io::{self, Write},
    sync::Arc,
};

use mod_interface::types::{AgentEvent, EventPayload, MAIN_AGENT, NoticeLevel, StopReason};
use tokio_util::sync::CancellationToken;

use self::{lines::Writer, printer::Printer};
use super::{
    args::OutputFormat,
    output::Exit,
    request::{Ended, Finished, RunPrompt, RunRequest},
};
use crate::events::EventSink;

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
    /// Runs a prompt and prints what comes of it. A reader that goes away interrupts the run.
    ///
    /// # Errors
    /// The run could not begin, or its result could not be printed.
    pub(super) async fn run(
        self,
        run_prompt: &RunPrompt,
        request: RunRequest,
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
        for warning in &request.settings.warnings {
            printer.emit(&AgentEvent {
                payload: EventPayload::Notice { level: NoticeLevel::Warning, message: warning.clone() },
                agent_id: MAIN_AGENT.into(),
            });
        }
        // A task of its own: a mod that never returns keeps a worker thread, and not this one.
        let run = tokio::spawn(run_prompt(request, printer.clone(), cancel));
        let finished = run.await.map_err(anyhow::Error::from).flatten();
        if let Ok(finished) = &finished {
            printer.end(&finished.ended);
        }
        // Waited for on this very thread: while a mod hangs in its constructor, no new thread gets to run.
        let written = writer.finish();
        let finished = finished?;
        written.map_err(|error| match error.kind() {
            io::ErrorKind::BrokenPipe => error.into(),
            _ => anyhow::Error::from(error).context("cannot print the result"),
        })?;
        Ok(exit(&finished))
    }
}

/// Zero for a run that came to its own end, with every mod that it should have had.
fn exit(finished: &Finished) -> Exit {
    let ended_well = match &finished.ended {
        Ended::Handled(_) => true,
        Ended::Run(result) => matches!(result.stop_reason, StopReason::EndTurn | StopReason::StopHook),
    };
    if ended_well && finished.mods_not_loaded == 0 { Exit::Success } else { Exit::Failure }
}

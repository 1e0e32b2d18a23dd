//! What the commands write, and how the program ends.

use std::{
    error::Error,
    io::{self, Write},
};

use serde::Serialize;

use crate::{harness, mod_host::LoadError};

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exit {
    /// All went well.
    Success,
    /// Something failed, or a run did not come to its own end.
    Failure,
    /// The command line was wrong.
    Usage,
}

impl Exit {
    pub(super) const fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Failure => 1,
            Self::Usage => 2,
        }
    }
}

/// A mistake in what was typed.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Usage(pub(super) String);

/// What a command found out: one value, for people and for programs.
pub(super) trait Report: Serialize {
    /// Writes it for people. Colours may be used: they are taken out where nobody sees them.
    fn text(&self, out: &mut dyn Write) -> io::Result<()>;
}

/// Where the program writes. Both streams drop colours where they are not wanted.
pub(super) struct Streams<'a> {
    pub(super) out: &'a mut dyn Write,
    pub(super) err: &'a mut dyn Write,
}

impl Streams<'_> {
    /// Prints a report, as JSON or for people.
    pub(super) fn report(&mut self, report: &impl Report, json: bool) -> io::Result<()> {
        if json {
            serde_json::to_writer_pretty(&mut *self.out, report)?;
            writeln!(self.out)?;
        } else {
            report.text(self.out)?;
        }
        self.out.flush()
    }

    /// Prints a failure for programs, in the place of a report.
    pub(super) fn failed_report(&mut self, error: &anyhow::Error) -> io::Result<()> {
        let (message, code) = parts(error.as_ref());
        let report = serde_json::json!({ "error": { "code": code, "message": message } });
        writeln!(self.out, "{report:#}")?;
        self.out.flush()
    }

    /// Tells of a failure, in one line with its causes. A pipe that nobody reads any more is none to
    /// tell of: the reader has had enough.
    pub(super) fn failure(&mut self, error: &anyhow::Error) -> Exit {
        if !is_broken_pipe(error) {
            // Where standard error is gone, there is nobody to tell.
            let _ = writeln!(self.err, "{}: {}", label("error"), describe(error.as_ref()));
        }
        if error.is::<Usage>() { Exit::Usage } else { Exit::Failure }
    }
}

/// The word before a message, in its colour.
pub(super) fn label(word: &str) -> String {
    use owo_colors::OwoColorize;
    match word {
        "error" => word.red().bold().to_string(),
        "warning" => word.yellow().bold().to_string(),
        _ => word.cyan().to_string(),
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let io = cause.downcast_ref::<io::Error>().map(io::Error::kind);
        let json = cause.downcast_ref::<serde_json::Error>().and_then(serde_json::Error::io_error_kind);
        io.or(json) == Some(io::ErrorKind::BrokenPipe)
    })
}

/// The error with its causes, and its code where it has one. A cause that the text before it already
/// quotes is left out.
pub(super) fn describe(error: &(dyn Error + 'static)) -> String {
    let (text, code) = parts(error);
    code.map_or_else(|| text.clone(), |code| format!("{text} [{code}]"))
}

fn parts(error: &(dyn Error + 'static)) -> (String, Option<&'static str>) {
    let (mut text, mut code) = (error.to_string(), code(error));
    let mut next = error.source();
    while let Some(cause) = next {
        let quoted = cause.to_string();
        if !text.contains(&quoted) {
            text = format!("{text}: {quoted}");
        }
        code = code.or_else(|| self::code(cause));
        next = cause.source();
    }
    (one_line(&text), code)
}

/// The code of an error that has one.
fn code(error: &(dyn Error + 'static)) -> Option<&'static str> {
    let package = error.downcast_ref::<registry::Error>().map(registry::Error::code);
    let load = error.downcast_ref::<LoadError>().map(LoadError::code);
    let start = error.downcast_ref::<harness::Error>().and_then(|error| match error {
        harness::Error::Mod(error) => Some(error.code()),
        _ => None,
    });
    package.or(load).or(start)
}

/// The text as one line that a terminal cannot be tricked with: mods, models and files write into it.
pub(super) fn one_line(text: &str) -> String {
    let words = text.trim().split(['\n', '\r', '\t']).map(str::trim).filter(|part| !part.is_empty());
    let line = words.collect::<Vec<_>>().join(" ");
    anstream::adapter::strip_str(&line).to_string().chars().filter(|char| !char.is_control()).collect()
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    fn failure(error: &anyhow::Error) -> (Exit, String) {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let exit = Streams { out: &mut out, err: &mut err }.failure(error);
        assert!(out.is_empty());
        (exit, anstream::adapter::strip_str(std::str::from_utf8(&err).unwrap()).to_string())
    }

    #[test]
    fn a_failure_is_one_line_with_its_causes() {
        let error = anyhow!("no such thing: x\n  at y").context("cannot install z");
        assert_eq!(
            failure(&error),
            (Exit::Failure, "error: cannot install z: no such thing: x at y\n".to_owned())
        );
        let quoted = io::Error::other("disk full");
        let error = anyhow::Error::from(crate::settings::Error::Write { path: "a".into(), source: quoted });
        assert_eq!(failure(&error), (Exit::Failure, "error: cannot write a: disk full\n".to_owned()));
    }

    #[test]
    fn a_mistake_in_the_command_line_ends_with_two() {
        let error = anyhow::Error::from(Usage("the prompt is empty".into()));
        assert_eq!(failure(&error), (Exit::Usage, "error: the prompt is empty\n".to_owned()));
        assert_eq!([Exit::Success, Exit::Failure, Exit::Usage].map(Exit::code), [0, 1, 2]);
    }

    #[test]
    fn a_pipe_that_nobody_reads_ends_the_program_without_a_word() {
        let broken = || io::Error::from(io::ErrorKind::BrokenPipe);
        let json = serde_json::Error::io(broken());
        for error in [anyhow::Error::from(broken()).context("writing"), json.into()] {
            assert_eq!(failure(&error), (Exit::Failure, String::new()));
        }
    }

    #[test]
    fn what_others_wrote_cannot_move_the_cursor() {
        assert_eq!(one_line("  a\u{1b}[2Jb\r\n\n c\u{7}\td\u{1b}]0;title\u{7}e "), "ab c de");
    }
}

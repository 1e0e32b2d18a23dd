//! A command line, taken apart into every command that it would run.
//!
//! Lists, pipes, subshells, substitutions, here-documents and writes to files are all seen, and the command
//! behind a wrapper (`nice`, `env`, `sudo`, `xargs`, `find -exec`, `sh -c`) beside the wrapper itself. What
//! could be read in two ways, and what comes from elsewhere (`$X y`, `eval`, `source`, `| sh`), is not read
//! at all: the answer is then `None`, and somebody is asked. Other programs that run programs (`make`,
//! `python -c`, `ssh`) are seen as that program alone.

mod program;
mod reader;
mod redirect;

/// Stands in a text for what an expansion makes of itself.
pub(super) const ANY: char = '\0';

/// One command, or one write to a file: `> path`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Command {
    written: String,
    /// Without quotes.
    text: String,
    needs: Needs,
}

/// What must allow a command that is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Needs {
    /// It changes nothing of the command that it runs, which needs a rule of its own.
    Nothing,
    /// A rule that holds for it.
    Rule,
    /// More than a pattern: where it leads cannot be told.
    More,
}

impl Command {
    /// The command as it was written, with single spaces between its words.
    pub(super) fn as_written(&self) -> &str {
        &self.written
    }

    pub(super) fn needs(&self) -> Needs {
        self.needs
    }

    /// Other ways to write the same: without quotes, and without the program's folder. An [`ANY`] is in them
    /// for what is not known.
    pub(super) fn forms(&self) -> [&str; 3] {
        let program = self.text.find(' ').unwrap_or(self.text.len());
        let name = self.text[..program].rfind('/').map_or(0, |slash| slash + 1);
        [&self.written, &self.text, &self.text[name..]]
    }
}

/// Every command that `text` would run, or `None` where that cannot be told.
pub(super) fn commands(text: &str) -> Option<Vec<Command>> {
    if text.contains(ANY) { None } else { reader::Reader::new(text, 0).read() }
}

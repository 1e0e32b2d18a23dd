//! A command line, taken apart into every command that it would run.
//!
//! Lists, pipes, subshells, substitutions, here-documents and writes to files are all seen. What could be
//! read in two ways is not read at all: the answer is then `None`, and somebody is asked. A program that
//! runs programs (`sh -c`, `xargs`, `find -exec`) is seen as that program alone.

mod reader;
mod redirect;

/// One command, or one write to a file: `> path`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Command {
    written: String,
    words: Vec<String>,
}

impl Command {
    /// The command as it was written, with single spaces between its words.
    pub(super) fn as_written(&self) -> &str {
        &self.written
    }

    /// Other ways to write the same: without quotes, without what only leads to the program, without the
    /// program's folder.
    pub(super) fn disguises(&self) -> Vec<String> {
        let is_lead = |word: &&String| {
            WRAPPERS.contains(&word.as_str()) || word.starts_with('-') || is_assignment(word)
        };
        let leads = self.words.iter().take_while(is_lead).count();
        let bare = &self.words[leads..];
        let mut forms = vec![self.written.clone(), self.words.join(" "), bare.join(" ")];
        if let Some((program, arguments)) = bare.split_first() {
            let name = program.rsplit('/').next().unwrap_or_default().to_owned();
            forms.push([&[name], arguments].concat().join(" "));
        }
        forms
    }
}

const WRAPPERS: [&str; 7] = ["sudo", "env", "command", "builtin", "exec", "nohup", "time"];

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

/// Every command that `text` would run, or `None` where that cannot be told.
pub(super) fn commands(text: &str) -> Option<Vec<Command>> {
    reader::Reader::new(text).read()
}

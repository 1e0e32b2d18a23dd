//! Redirections and here-documents.

use super::reader::{Line, Reader, Target, Word};

const WORD_ENDS: &str = " \t\n;&|<>()";

pub(super) struct HereDocument {
    end: String,
    expands: bool,
    strips_tabs: bool,
}

impl<'a> Reader<'a> {
    /// Reads what stands behind a `>`.
    pub(super) fn write_target(&mut self, line: &mut Line, depth: usize) -> Option<()> {
        if self.peek() == Some('(') {
            return self.process(line, '>', depth);
        }
        if self.eat('&') && self.is_descriptor() {
            return Some(());
        }
        let _ = self.eat('>') || self.eat('|');
        line.await_target(Target::Write)
    }

    /// Reads what stands behind a `<`.
    pub(super) fn read_target(&mut self, line: &mut Line, depth: usize) -> Option<()> {
        // A shift in a subscript looks like a here-document.
        let in_word = line.word.as_ref().is_some_and(|word| !word.is_number());
        self.end_descriptor(line);
        match self.peek() {
            Some('(') => self.process(line, '<', depth),
            Some('<') if in_word => None,
            Some('<') => {
                self.at += 1;
                if self.eat('<') { line.await_target(Target::Read) } else { self.here_document() }
            }
            Some('&') => {
                self.at += 1;
                if self.is_descriptor() { Some(()) } else { line.await_target(Target::Read) }
            }
            Some('>') => {
                self.at += 1;
                line.await_target(Target::Write)
            }
            _ => line.await_target(Target::Read),
        }
    }

    fn process(&mut self, line: &mut Line, sign: char, depth: usize) -> Option<()> {
        let start = self.at;
        self.at += 1;
        self.list(Some(')'), depth + 1)?;
        let word = line.word.get_or_insert_default();
        word.push_open(&format!("{sign}{}", &self.text[start..self.at]));
        Some(())
    }

    /// Reads a descriptor's number, or the dash that closes it.
    fn is_descriptor(&mut self) -> bool {
        let word = self.plain_word();
        let is_one = word == "-" || !word.is_empty() && word.chars().all(|c| c.is_ascii_digit());
        self.at += if is_one { word.len() } else { 0 };
        is_one
    }

    /// Ends the word before a redirection; a number that touches it is a descriptor.
    pub(super) fn end_descriptor(&mut self, line: &mut Line) {
        if line.word.as_ref().is_some_and(Word::is_number) {
            line.word = None;
        }
        self.end_word(line);
    }

    /// What stands before the next end of a word.
    fn plain_word(&self) -> &'a str {
        let rest = &self.text[self.at..];
        &rest[..rest.find(|c| WORD_ENDS.contains(c)).unwrap_or(rest.len())]
    }

    /// Reads the word that will end a here-document.
    fn here_document(&mut self) -> Option<()> {
        let strips_tabs = self.eat('-');
        while self.eat(' ') || self.eat('\t') {}
        let word = self.plain_word();
        self.at += word.len();
        let inside = |quote: char| word.strip_prefix(quote)?.strip_suffix(quote);
        let quoted = inside('\'').or_else(|| inside('"')).or_else(|| word.strip_prefix('\\'));
        let end = quoted.unwrap_or(word);
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-.!".contains(c);
        if end.is_empty() || !end.chars().all(is_plain) {
            return None;
        }
        self.here.push(HereDocument { end: end.to_owned(), expands: quoted.is_none(), strips_tabs });
        Some(())
    }

    /// Reads the here-documents that the line before has begun.
    pub(super) fn here_documents(&mut self, depth: usize) -> Option<()> {
        for document in std::mem::take(&mut self.here) {
            let start = self.at;
            let body = loop {
                let rest = &self.text[self.at..];
                if rest.is_empty() {
                    return None;
                }
                let line = rest.split('\n').next().unwrap_or_default();
                let before = self.at;
                self.at = (self.at + line.len() + 1).min(self.text.len());
                let line = if document.strips_tabs { line.trim_start_matches('\t') } else { line };
                if line == document.end {
                    break &self.text[start..before];
                }
            };
            if document.expands {
                self.nested(body, |inner| inner.expansions(depth + 1))?;
            }
        }
        Some(())
    }

    /// Reads a text in which only substitutions mean anything.
    fn expansions(&mut self, depth: usize) -> Option<()> {
        let mut text = Word::default();
        while let Some(c) = self.next() {
            match c {
                // A line that goes on may hide the end of the document.
                '\\' if self.next()? == '\n' => return None,
                '$' => self.dollar(&mut text, true, depth)?,
                '`' => self.backticks(&mut text, depth)?,
                _ => {}
            }
        }
        Some(())
    }
}

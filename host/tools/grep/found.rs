use std::io;

use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkMatch};

use super::Mode;
use crate::tools::page::Page;

/// How many bytes of a line are shown, and how many of them before the match.
const MAX_LINE: usize = 500;
const BEFORE_MATCH: usize = 100;

/// Puts what is found in one file on the page.
pub(super) struct Found<'a> {
    shown: &'a str,
    mode: Mode,
    matcher: &'a RegexMatcher,
    page: &'a mut Page,
    /// How many lines match.
    count: u64,
    is_binary: bool,
    /// Whether lines that were left out come before the next one.
    gap: bool,
}

impl<'a> Found<'a> {
    pub(super) fn new(shown: &'a str, mode: Mode, matcher: &'a RegexMatcher, page: &'a mut Page) -> Self {
        let gap = !page.is_empty();
        Self { shown, mode, matcher, page, count: 0, is_binary: false, gap }
    }

    /// Ends the file, and says whether it turned out not to be text.
    pub(super) fn finish(self) -> bool {
        match self.mode {
            Mode::Files if self.count > 0 => self.page.add(self.shown),
            Mode::Count if self.count > 0 => self.page.add(&format!("{}:{}", self.shown, self.count)),
            _ => true,
        };
        self.is_binary
    }

    fn add(&mut self, searcher: &Searcher, mark: char, number: Option<u64>, line: &[u8]) -> bool {
        let has_context = searcher.before_context() > 0;
        if std::mem::take(&mut self.gap) && has_context && !self.page.add("--") {
            return false;
        }
        let number = number.unwrap_or_default();
        let line = self.part(line);
        self.page.add(&format!("{}{mark}{number}{mark}{line}", self.shown))
    }

    /// The part of a line that is worth showing: all of it, or what is around the first match.
    fn part(&self, line: &[u8]) -> String {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.len() <= MAX_LINE {
            return String::from_utf8_lossy(line).into_owned();
        }
        let place = self.matcher.find(line).ok().flatten().map_or(0, |found| found.start());
        let start = place.saturating_sub(BEFORE_MATCH);
        let end = (start + MAX_LINE).min(line.len());
        let part = String::from_utf8_lossy(&line[start..end]);
        // What is left of a character that was cut in two.
        let part = part.trim_matches(char::REPLACEMENT_CHARACTER);
        let (before, after) = (if start > 0 { "…" } else { "" }, if end < line.len() { "…" } else { "" });
        format!("{before}{part}{after} [{} bytes in all]", line.len())
    }
}

impl Sink for Found<'_> {
    type Error = io::Error;

    fn matched(&mut self, searcher: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        self.count += 1;
        Ok(match self.mode {
            Mode::Content => self.add(searcher, ':', found.line_number(), found.bytes()),
            Mode::Files => false,
            Mode::Count => true,
        })
    }

    fn context(&mut self, searcher: &Searcher, context: &SinkContext<'_>) -> Result<bool, io::Error> {
        Ok(self.mode != Mode::Content || self.add(searcher, '-', context.line_number(), context.bytes()))
    }

    fn context_break(&mut self, _searcher: &Searcher) -> Result<bool, io::Error> {
        self.gap = true;
        Ok(true)
    }

    fn binary_data(&mut self, _searcher: &Searcher, _offset: u64) -> Result<bool, io::Error> {
        self.is_binary = true;
        Ok(false)
    }
}

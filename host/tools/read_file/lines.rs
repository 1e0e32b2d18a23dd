use std::{
    fmt,
    io::{BufRead, BufReader},
};

use crate::tools::{Error, file::Reading};

/// How much is read at once; so much of the beginning decides whether a file is text.
const READ_AT_ONCE: usize = 64 * 1024;
const UTF8_MARK: &[u8] = b"\xef\xbb\xbf";

/// The lines of a file, none of them held in memory beyond a bound.
pub(super) struct Lines<'a> {
    reader: BufReader<Reading>,
    shown: &'a str,
}

/// The beginning of a line, and how many bytes follow it.
pub(super) struct Line {
    bytes: Vec<u8>,
    pub(super) cut: u64,
}

impl<'a> Lines<'a> {
    pub(super) fn of(file: Reading, shown: &'a str) -> Self {
        Self { reader: BufReader::with_capacity(READ_AT_ONCE, file), shown }
    }

    /// What comes next, without taking it; nothing at the end.
    pub(super) fn ahead(&mut self) -> Result<&[u8], Error> {
        self.reader.fill_buf().map_err(|source| Error::io("read", self.shown, source))
    }

    /// Takes a line, and keeps `limit` bytes of it.
    pub(super) fn next(&mut self, limit: usize) -> Result<Option<Line>, Error> {
        let mut line = Line { bytes: Vec::new(), cut: 0 };
        if self.ahead()?.is_empty() {
            return Ok(None);
        }
        loop {
            let ahead = self.ahead()?;
            let end = memchr::memchr(b'\n', ahead);
            let part = &ahead[..end.unwrap_or(ahead.len())];
            let (is_last, used) =
                (end.is_some() || ahead.is_empty(), part.len() + usize::from(end.is_some()));
            line.add(part, limit);
            self.reader.consume(used);
            if is_last {
                return Ok(Some(line));
            }
        }
    }
}

impl Line {
    fn add(&mut self, part: &[u8], limit: usize) {
        let kept = part.len().min(limit - self.bytes.len());
        self.bytes.extend_from_slice(&part[..kept]);
        self.cut += (part.len() - kept) as u64;
    }

    /// Without what is no part of the text: a mark at the beginning, the carriage return of a line
    /// end, half a character at the cut.
    fn text(&self) -> &[u8] {
        let text = self.bytes.strip_prefix(UTF8_MARK).unwrap_or(&self.bytes);
        match std::str::from_utf8(text) {
            _ if self.cut == 0 => text.strip_suffix(b"\r").unwrap_or(text),
            Err(error) if error.error_len().is_none() => &text[..error.valid_up_to()],
            _ => text,
        }
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.text();
        f.write_str(&String::from_utf8_lossy(text))?;
        match self.cut {
            0 => Ok(()),
            cut => write!(f, "… [{} bytes more]", cut + (self.bytes.len() - text.len()) as u64),
        }
    }
}

use std::{io::BufRead, path::Path, sync::Arc};

use memchr::memmem;

use super::{
    Error, Result,
    entry::{Entry, Header, Standing, VERSION},
    tree::Tree,
};

/// Reads a session's file line by line.
pub(super) struct Reader<'a, R> {
    path: &'a Path,
    lines: R,
    line: usize,
    read: u64,
}

impl<'a, R: BufRead> Reader<'a, R> {
    pub(super) fn new(path: &'a Path, lines: R) -> Self {
        Self { path, lines, line: 0, read: 0 }
    }

    /// The next line without its end; a line that does not end was torn, and is none.
    fn next(&mut self, bytes: &mut Vec<u8>) -> Result<Option<()>> {
        bytes.clear();
        let read = self.lines.read_until(b'\n', bytes);
        let read = read.map_err(|source| Error::Read { path: self.path.to_owned(), source })?;
        if bytes.pop() != Some(b'\n') {
            return Ok(None);
        }
        self.line += 1;
        self.read += read as u64;
        Ok(Some(()))
    }

    /// The first line, and where its version stands, if that is an earlier one: all that was written
    /// under it is read in the same way today.
    pub(super) fn header(&mut self) -> Result<(Header, Option<u64>)> {
        let not_a_session = |reason: String| Error::NotASession { path: self.path.to_owned(), reason };
        let no_line = not_a_session("it has no whole line".to_owned());
        let mut line = Vec::new();
        self.next(&mut line)?.ok_or(no_line)?;
        let header: Header = serde_json::from_slice(&line)
            .map_err(|error| Error::NotASession { path: self.path.to_owned(), reason: error.to_string() })?;
        if header.version > VERSION {
            let (path, got) = (self.path.to_owned(), header.version);
            return Err(Error::Newer { path, expected: VERSION, got });
        }
        let written = format!("\"version\":{},", header.version);
        let at = memmem::find(&line, written.as_bytes()).filter(|_| header.version < VERSION);
        Ok((header, at.map(|at| (at + "\"version\":".len()) as u64)))
    }

    /// The entries that hold, and where they end.
    pub(super) fn entries(&mut self, session_id: Arc<str>) -> Result<(Tree, u64)> {
        let (mut tree, mut len) = (Tree::new(session_id), self.read);
        let (mut turn, mut damage, mut bytes) = (Vec::new(), None, Vec::new());
        while self.next(&mut bytes)?.is_some() {
            let standing = match Entry::read(&bytes) {
                Ok(entry) => {
                    let standing = entry.body.standing();
                    turn.push(entry);
                    standing
                }
                Err(error) => {
                    let reason = error.to_string().replace(" at line 1 column ", " at column ");
                    damage.get_or_insert_with(|| self.damaged(self.line, reason));
                    continue;
                }
            };
            let closes = matches!(turn.last(), Some(entry) if entry.closes_a_turn());
            if closes {
                // Only what nothing closes may be damaged: there a crash can be the reason.
                damage.take().map_or(Ok(()), Err)?;
            } else if standing == Standing::InTurn || turn.len() > 1 || damage.is_some() {
                continue;
            }
            let first = self.line + 1 - turn.len();
            let held = tree.read(turn.drain(..));
            held.map_err(|(index, reason)| self.damaged(first + index, reason))?;
            len = self.read;
        }
        tree.settle();
        Ok((tree, len))
    }

    fn damaged(&self, line: usize, reason: String) -> Error {
        Error::Damaged { path: self.path.to_owned(), line, reason }
    }
}

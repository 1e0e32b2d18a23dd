use std::{
    borrow::Cow,
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, BufRead, BufReader, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use super::{
    Clock, Error, Result,
    commit::{Change, Committed},
    entry::{Body, Entry, Header, VERSION},
    name::{file_path, timestamp},
};
use crate::files;

/// A session's file, open for its one writer.
pub(super) struct Log {
    path: PathBuf,
    file: File,
    clock: Clock,
    /// How many bytes of the file hold; what stands behind them was not committed.
    len: u64,
    /// How many entries there are; the last one's id.
    entries: u64,
    /// Whether this process made the file.
    new: bool,
}

impl Log {
    pub(super) fn create(sessions: &Path, cwd: &Path, id: &Arc<str>, clock: Clock) -> Result<Self> {
        let timestamp = timestamp(clock());
        let path = file_path(sessions, cwd, &timestamp, id);
        let failed = |source| Error::Create { path: path.clone(), source };
        let header = Header::new(id.clone(), timestamp, cwd);
        let mut line = serde_json::to_vec(&header).map_err(|error| failed(error.into()))?;
        line.push(b'\n');

        let file = new_file(&path).map_err(failed)?;
        // From here on it takes the file with it if it fails.
        let mut log = Self { file, clock, len: line.len() as u64, entries: 0, new: true, path: path.clone() };
        lock(&log.file, &path)?;
        log.file.write_all(&line).and_then(|()| log.file.sync_all()).map_err(failed)?;
        Ok(log)
    }

    /// Opens a file and reads it up to its last commit; cuts off what stands behind.
    pub(super) fn open(path: &Path, clock: Clock) -> Result<(Self, Arc<str>, Committed)> {
        let failed = |source| Error::Read { path: path.to_owned(), source };
        let file = files::open_with(OpenOptions::new().read(true).write(true), path).map_err(failed)?;
        lock(&file, path)?;
        let mut reader = Reader { path, lines: BufReader::new(&file), line: 0, read: 0 };
        let header = reader.header()?;
        let (committed, len, entries) = reader.entries()?;
        file.set_len(len).map_err(|source| Error::Write { path: path.to_owned(), source })?;
        Ok((Self { path: path.to_owned(), file, clock, len, entries, new: false }, header.id, committed))
    }

    /// Writes the entries of one commit, at once and for good.
    pub(super) fn append(&mut self, change: &Change<'_>) -> Result<()> {
        let failed = |source| Error::Write { path: self.path.clone(), source };
        let timestamp = timestamp((self.clock)());
        let (mut bytes, mut entries) = (Vec::new(), self.entries);
        for body in change.bodies() {
            let parent_id = (entries > 0).then(|| Cow::Owned(entry_id(entries)));
            entries += 1;
            let id = Cow::Owned(entry_id(entries));
            let entry = Entry { id, parent_id, timestamp: Cow::Borrowed(&*timestamp), body };
            serde_json::to_writer(&mut bytes, &entry).map_err(|error| failed(error.into()))?;
            bytes.push(b'\n');
        }
        // An append that failed half-way left a piece behind.
        self.file.set_len(self.len).map_err(failed)?;
        self.file.seek(SeekFrom::Start(self.len)).map_err(failed)?;
        self.file.write_all(&bytes).and_then(|()| self.file.sync_data()).map_err(failed)?;
        self.len += bytes.len() as u64;
        self.entries = entries;
        Ok(())
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        if self.new && self.entries == 0 {
            // Nothing is lost, and nobody is there to be told.
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn entry_id(number: u64) -> String {
    format!("{number:08x}")
}

/// Makes a file, and the folders above it, that only the user can read. On Windows the user's own folder
/// sees to that.
fn new_file(path: &Path) -> io::Result<File> {
    let (mut folders, mut options) = (fs::DirBuilder::new(), OpenOptions::new());
    #[cfg(unix)]
    {
        std::os::unix::fs::DirBuilderExt::mode(&mut folders, 0o700);
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    let folder = path.parent().ok_or(io::ErrorKind::InvalidFilename)?;
    folders.recursive(true).create(folder)?;
    let file = options.read(true).write(true).create_new(true).open(path)?;
    // Only where a folder is a file.
    #[cfg(unix)]
    File::open(folder)?.sync_all()?;
    Ok(file)
}

/// How long a lock is waited for. A process that is being started holds a copy of every lock of its parent
/// until it runs its own program.
const LOCK_LIMIT: Duration = Duration::from_millis(250);

/// Makes this process the file's only writer. A file system without locks is used without.
fn lock(file: &File, path: &Path) -> Result<()> {
    let start = Instant::now();
    let mut locked = file.try_lock();
    while matches!(locked, Err(TryLockError::WouldBlock)) && start.elapsed() < LOCK_LIMIT {
        thread::sleep(Duration::from_millis(5));
        locked = file.try_lock();
    }
    match locked {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(Error::InUse(path.to_owned())),
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => Ok(()),
        Err(TryLockError::Error(source)) => Err(Error::Read { path: path.to_owned(), source }),
    }
}

/// Reads a file line by line.
struct Reader<'a, R> {
    path: &'a Path,
    lines: R,
    line: usize,
    read: u64,
}

impl<R: BufRead> Reader<'_, R> {
    /// The next line without its end; a line that does not end was torn, and is none.
    fn next(&mut self) -> Result<Option<Vec<u8>>> {
        let mut bytes = Vec::new();
        let read = self.lines.read_until(b'\n', &mut bytes);
        let read = read.map_err(|source| Error::Read { path: self.path.to_owned(), source })?;
        if bytes.pop() != Some(b'\n') {
            return Ok(None);
        }
        self.line += 1;
        self.read += read as u64;
        Ok(Some(bytes))
    }

    fn header(&mut self) -> Result<Header> {
        let not_a_session = |reason: String| Error::NotASession { path: self.path.to_owned(), reason };
        let no_line = not_a_session("it has no whole line".to_owned());
        let line = self.next()?.ok_or(no_line)?;
        let header: Header = serde_json::from_slice(&line)
            .map_err(|error| Error::NotASession { path: self.path.to_owned(), reason: error.to_string() })?;
        if header.version > VERSION {
            let (path, got) = (self.path.to_owned(), header.version);
            return Err(Error::Newer { path, expected: VERSION, got });
        }
        Ok(header)
    }

    /// What was committed, where it ends, and how many entries it is.
    fn entries(&mut self) -> Result<(Committed, u64, u64)> {
        let (mut committed, mut len, mut entries) = (Committed::default(), self.read, 0);
        let (mut pending, mut damage) = (Vec::new(), None);
        while let Some(line) = self.next()? {
            match serde_json::from_slice::<Entry<'_>>(&line) {
                Ok(entry) => pending.push(entry.body),
                Err(error) => {
                    let reason = error.to_string().replace(" at line 1 column ", " at column ");
                    damage.get_or_insert(Error::Damaged {
                        path: self.path.to_owned(),
                        line: self.line,
                        reason,
                    });
                }
            }
            if let Some(Body::Commit { .. }) = pending.last() {
                // Only what no commit follows may be damaged: there a crash can be the reason.
                damage.map_or(Ok(()), Err)?;
                damage = None;
                entries += pending.len() as u64;
                committed.replay(pending.drain(..));
                len = self.read;
            }
        }
        Ok((committed, len, entries))
    }
}

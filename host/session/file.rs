use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, BufReader, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use super::{
    Clock, Error, Result,
    entry::{Body, Header, Line, VERSION},
    name::{file_path, timestamp},
    reader::Reader,
    tree::Tree,
};
use crate::files;

/// A session's file, open for its one writer.
pub(super) struct Log {
    path: PathBuf,
    file: File,
    clock: Clock,
    /// How many bytes of the file hold; what stands behind them was not committed.
    len: u64,
    /// Whether there is something in it that may not be on the disk yet.
    unsynced: bool,
    /// Where its version stands, if that is an earlier one.
    earlier: Option<u64>,
    /// Whether this process made the file, and nothing but its header.
    empty: bool,
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
        let mut log =
            Self { file, clock, len: line.len() as u64, unsynced: false, earlier: None, empty: true, path };
        // From here on it takes the file with it if it fails.
        lock(&log.file, &log.path)?;
        let written = log.file.write_all(&line).and_then(|()| log.file.sync_all());
        written.map_err(|source| Error::Create { path: log.path.clone(), source })?;
        Ok(log)
    }

    /// Opens a file and reads what holds of it; cuts off what stands behind.
    pub(super) fn open(path: &Path, clock: Clock) -> Result<(Self, Tree)> {
        let path = path.to_owned();
        let failed = |source| Error::Read { path: path.clone(), source };
        let file = files::open_with(OpenOptions::new().read(true).write(true), &path).map_err(failed)?;
        lock(&file, &path)?;
        let mut reader = Reader::new(&path, BufReader::new(&file));
        let (header, earlier) = reader.header()?;
        let (tree, len) = reader.entries(header.id)?;
        file.set_len(len).map_err(|source| Error::Write { path: path.clone(), source })?;
        Ok((Self { path, file, clock, len, unsynced: false, earlier, empty: false }, tree))
    }

    /// Writes entries behind the leaf of `tree`, all or none of them.
    pub(super) fn append(&mut self, bodies: &[Body], tree: &Tree) -> Result<()> {
        self.write(bodies, tree).map_err(|source| Error::Write { path: self.path.clone(), source })
    }

    /// The same, and brings all that was written to the disk.
    pub(super) fn append_for_good(&mut self, bodies: &[Body], tree: &Tree) -> Result<()> {
        let before = self.len;
        if !bodies.is_empty() {
            self.append(bodies, tree)?;
        }
        // What may not be on the disk is written once more.
        self.sync().inspect_err(|_| self.len = before)
    }

    fn write(&mut self, bodies: &[Body], tree: &Tree) -> io::Result<()> {
        let timestamp = timestamp((self.clock)());
        let mut bytes = Vec::new();
        for (body, (id, parent_id)) in bodies.iter().zip(tree.ids(bodies)) {
            serde_json::to_writer(&mut bytes, &Line { id, parent_id, timestamp: &timestamp, body })?;
            bytes.push(b'\n');
        }
        if let Some(at) = self.earlier {
            self.file.seek(SeekFrom::Start(at))?;
            self.file.write_all(VERSION.to_string().as_bytes())?;
            self.earlier = None;
        }
        // An append that failed half-way left a piece behind.
        self.file.set_len(self.len)?;
        self.file.seek(SeekFrom::Start(self.len))?;
        self.file.write_all(&bytes)?;
        self.len += bytes.len() as u64;
        (self.unsynced, self.empty) = (true, false);
        Ok(())
    }

    /// Brings what was written to the disk.
    pub(super) fn sync(&mut self) -> Result<()> {
        if self.unsynced {
            self.file.sync_data().map_err(|source| Error::Write { path: self.path.clone(), source })?;
            self.unsynced = false;
        }
        Ok(())
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        // Who wants to know whether it worked calls `sync`.
        let _ = self.sync();
        if self.empty {
            // Nothing is lost, and nobody is there to be told.
            let _ = fs::remove_file(&self.path);
        }
    }
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

use std::{
    fs::{self, File, Metadata},
    io::{self, Read, Write},
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio_util::sync::CancellationToken;

use super::{Error, path};
use crate::files::{self, NotAFile, kind_of};

/// The right to change files. One at a time has it, so that of two edits of a file, made at once,
/// none is lost.
#[derive(Clone, Default)]
pub(super) struct Writing(Arc<Mutex<()>>);

impl Writing {
    pub(super) fn begin(&self) -> MutexGuard<'_, ()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A file being read, until `stop` fires.
pub(super) struct Reading {
    file: File,
    stop: CancellationToken,
}

impl Read for Reading {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.stop.is_cancelled() { Err(io::Error::other("interrupted")) } else { self.file.read(buffer) }
    }
}

/// Opens a regular file; `shown` names it in errors.
pub(super) fn open(path: &Path, shown: &str, stop: &CancellationToken) -> Result<Reading, Error> {
    let file = files::open(path).map_err(|source| {
        match source.get_ref().and_then(|inner| inner.downcast_ref::<NotAFile>()) {
            Some(NotAFile(kind)) => no_file(shown, kind),
            None => Error::io("read", shown, source),
        }
    })?;
    Ok(Reading { file, stop: stop.clone() })
}

/// That a path is none of a regular file.
fn no_file(shown: &str, kind: &str) -> Error {
    let hint = match kind {
        "a folder" => "give a file; list_directory shows what is in it",
        _ => "only regular files are read and written",
    };
    Error::Kind { path: shown.to_owned(), kind: kind.to_owned(), hint }
}

/// Checks that there is a folder at a path.
pub(super) fn check_folder(path: &Path, shown: &str) -> Result<(), Error> {
    let kind = path.metadata().map_err(|source| Error::io("look into", shown, source))?.file_type();
    if kind.is_dir() {
        return Ok(());
    }
    let hint = "give the folder that it is in";
    Err(Error::Kind { path: shown.to_owned(), kind: kind_of(kind).to_owned(), hint })
}

/// Reads a whole file, of at most `limit` bytes.
pub(super) fn read_whole(
    path: &Path,
    shown: &str,
    limit: u64,
    stop: &CancellationToken,
) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    let mut reading = open(path, shown, stop)?.take(limit + 1);
    reading.read_to_end(&mut bytes).map_err(|source| Error::io("read", shown, source))?;
    if bytes.len() as u64 > limit {
        return Err(Error::Failed(format!("{shown} is larger than {limit} bytes; use shell_command")));
    }
    Ok(bytes)
}

/// Replaces the content of a file, or makes it, with its folders. At every moment the file is the old
/// one or the new one, whole. A link stays a link; mode and owner stay.
pub(super) fn write(path: &Path, shown: &str, content: &[u8], stop: &CancellationToken) -> Result<(), Error> {
    let target = path::real(path);
    let failed = |source| Error::io("write", shown, source);
    let old = match target.metadata() {
        Ok(metadata) => Some(metadata),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(failed(error)),
    };
    if let Some(old) = &old {
        if !old.is_file() {
            return Err(no_file(shown, kind_of(old.file_type())));
        }
        if old.permissions().readonly() {
            return Err(Error::Failed(format!("cannot write {shown}: it is read-only")));
        }
    }
    let folder = target.parent().unwrap_or(&target);
    fs::create_dir_all(folder).map_err(|source| Error::io("make the folder of", shown, source))?;
    let mut builder = tempfile::Builder::new();
    builder.prefix(".cmd-").suffix(".tmp");
    // What a new file gets, less what the umask takes away.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut new = builder.tempfile_in(folder).map_err(failed)?;
    new.write_all(content).map_err(failed)?;
    if let Some(old) = &old {
        keep_owner(old, new.as_file());
        new.as_file().set_permissions(old.permissions()).map_err(failed)?;
    }
    new.as_file().sync_all().map_err(failed)?;
    if stop.is_cancelled() {
        return Err(Error::Interrupted);
    }
    new.persist(&target).map_err(|error| failed(error.error))?;
    Ok(())
}

/// Only root can give a file away; for others the owner is the same anyway, or cannot be kept.
#[cfg(unix)]
fn keep_owner(old: &Metadata, new: &File) {
    use std::os::unix::fs::{MetadataExt, fchown};
    let _ = fchown(new, Some(old.uid()), Some(old.gid()));
}

#[cfg(not(unix))]
fn keep_owner(_old: &Metadata, _new: &File) {}

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

use super::{Error, Result};

/// What the name of a file begins with that is not whole yet.
const UNFINISHED: &str = ".edit-";

/// Puts `bytes` in the place of the file at `path`, whole or not at all. A link stays a link, and the
/// file keeps its permissions; a new one gets those that are usual.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    try_replace(&target, bytes).map_err(failed(path))
}

fn try_replace(target: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = target.parent().ok_or(io::ErrorKind::InvalidFilename)?;
    fs::create_dir_all(folder)?;
    let mut builder = tempfile::Builder::new();
    builder.prefix(UNFINISHED);
    #[cfg(unix)]
    builder.permissions(permissions_of(target));
    let mut file = builder.tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(target).map_err(|error| error.error)?;
    // The new name lasts through a crash, where a folder is a file.
    #[cfg(unix)]
    File::open(folder)?.sync_all()?;
    Ok(())
}

#[cfg(unix)]
fn permissions_of(target: &Path) -> fs::Permissions {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(target).map_or_else(|_| PermissionsExt::from_mode(0o666), |metadata| metadata.permissions())
}

/// Keeps other processes out of `path`'s folder until it is dropped, so that two that read, change and
/// write do not undo each other's change. A file system without locks is used without. What a crash left of such
/// files is swept.
pub(super) fn lock(path: &Path) -> Result<Option<File>> {
    let Some(folder) = path.parent() else { return Ok(None) };
    fs::create_dir_all(folder).map_err(failed(path))?;
    let held = to_lock(folder).map_err(failed(path))?;
    match held.lock() {
        Ok(()) => {
            sweep(folder);
            Ok(Some(held))
        }
        Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok(None),
        Err(source) => Err(failed(path)(source)),
    }
}

/// The folder itself, or a file in it where a folder cannot be locked.
fn to_lock(folder: &Path) -> io::Result<File> {
    #[cfg(unix)]
    return File::open(folder);
    #[cfg(not(unix))]
    File::options().create(true).truncate(false).write(true).open(folder.join(".lock"))
}

/// Removes what was never finished: nobody else is writing here now. What cannot be removed does no harm.
fn sweep(folder: &Path) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_ours = |entry: &fs::DirEntry| {
        let name = entry.file_name();
        // A link, or a folder, is none that was begun here.
        name.to_string_lossy().starts_with(UNFINISHED) && entry.file_type().is_ok_and(|it| it.is_file())
    };
    for entry in entries.filter(is_ours) {
        let _ = fs::remove_file(entry.path());
    }
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path: PathBuf = path.to_owned();
    move |source| Error::Write { path, source }
}

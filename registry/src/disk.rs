//! Files, written so that a crash leaves the old or the new one, never half of it.

use crate::{Error, error::IoContext};
use std::{
    fs::{self, File},
    io::{self, Read, Write},
    path::Path,
};

/// Opens a regular file. Nothing else is opened: a pipe might wait for ever, a device never end.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    check(&path.metadata()?)?;
    let mut options = File::options();
    // What became a pipe in between must not be waited for.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, rustix::fs::OFlags::NONBLOCK.bits() as i32);
    let file = options.read(true).open(path)?;
    check(&file.metadata()?)?;
    Ok(file)
}

/// Opens a file of this crate's own to write to it, and makes it where it is missing. No link is followed.
pub(crate) fn open_own(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(
        &mut options,
        (rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOFOLLOW).bits() as i32,
    );
    let file = options.create(true).truncate(false).write(true).open(path)?;
    check(&file.metadata()?)?;
    Ok(file)
}

fn check(metadata: &fs::Metadata) -> io::Result<()> {
    match (metadata.is_file(), metadata.is_dir()) {
        (true, _) => Ok(()),
        (_, true) => Err(io::Error::new(io::ErrorKind::IsADirectory, "expected a file, got a folder")),
        _ => Err(io::Error::other("expected a file, got something that is none")),
    }
}

/// Reads a file that may have at most `limit` bytes.
pub(crate) fn read_bounded(path: &Path, limit: u64) -> Result<Vec<u8>, Error> {
    let file = open(path).at("open", path)?;
    let mut bytes = Vec::new();
    file.take(limit + 1).read_to_end(&mut bytes).at("read", path)?;
    if bytes.len() as u64 > limit {
        return Err(Error::TooBig { what: "bytes in a file", limit, found: bytes.len() as u64 });
    }
    Ok(bytes)
}

/// The same, where a file that is not there is `None`.
pub(crate) fn read_optional(path: &Path, limit: u64) -> Result<Option<Vec<u8>>, Error> {
    match read_bounded(path, limit) {
        Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => Ok(None),
        result => result.map(Some),
    }
}

/// What the name of a file begins with that is not whole yet.
const UNFINISHED: &str = ".tmp-";

/// Replaces a file: temporary file beside it, sync, rename, sync of the folder.
pub(crate) fn write_atomic(path: &Path, bytes: &[u8], mode: u32) -> Result<(), Error> {
    write_atomic_by(path.parent().unwrap_or(Path::new(".")), path, bytes, mode)
}

/// Removes from a folder what a crash left of files; nobody else may be writing there. What cannot be removed does no
/// harm, and a folder or a link of such a name is somebody else's.
pub(crate) fn sweep(folder: &Path) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(UNFINISHED)) {
        if entry.file_type().is_ok_and(|kind| kind.is_file()) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// The same with the temporary file in a folder of the same file system.
pub(crate) fn write_atomic_by(temporary: &Path, path: &Path, bytes: &[u8], mode: u32) -> Result<(), Error> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).at("create", folder)?;
    let mut file = tempfile::Builder::new()
        .prefix(UNFINISHED)
        .tempfile_in(temporary)
        .at("create a file in", temporary)?;
    file.write_all(bytes).at("write", path)?;
    set_mode(file.path(), mode)?;
    file.as_file().sync_all().at("sync", path)?;
    file.persist(path).map_err(|error| error.error).at("replace", path)?;
    sync_folder(folder)
}

/// Makes a rename in a folder last through a power cut.
pub(crate) fn sync_folder(path: &Path) -> Result<(), Error> {
    #[cfg(unix)]
    File::open(path).and_then(|folder| folder.sync_all()).at("sync", path)?;
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

/// Sets the mode of a file or folder, where files have modes.
pub(crate) fn set_mode(path: &Path, mode: u32) -> Result<(), Error> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).at("set the mode of", path)?;
    }
    #[cfg(not(unix))]
    let _ = (path, mode);
    Ok(())
}

/// Removes a folder whose parts may be read-only.
pub(crate) fn remove_tree(path: &Path) -> Result<(), Error> {
    make_folders_writable(path)?;
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        result => result.at("remove", path),
    }
}

fn make_folders_writable(path: &Path) -> Result<(), Error> {
    let Ok(metadata) = path.symlink_metadata() else {
        return Ok(());
    };
    if !metadata.is_dir() {
        return Ok(());
    }
    set_mode(path, 0o700)?;
    for entry in fs::read_dir(path).at("list", path)? {
        make_folders_writable(&entry.at("list", path)?.path())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replaced_file_leaves_nothing_beside_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/b");
        write_atomic(&path, b"one", 0o644).unwrap();
        write_atomic(&path, b"two", 0o644).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::read_dir(dir.path().join("a")).unwrap().count(), 1);
    }

    #[test]
    fn a_file_over_the_limit_is_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        fs::write(&path, b"1234").unwrap();
        assert_eq!(read_bounded(&path, 4).unwrap(), b"1234");
        assert_eq!(read_bounded(&path, 3).unwrap_err().code(), "E_TOO_BIG");
        assert_eq!(read_optional(&dir.path().join("none"), 3).unwrap(), None);
    }

    #[test]
    #[cfg(unix)]
    fn a_file_of_its_own_is_made_or_opened_and_no_link_is_followed() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        open_own(&path("own")).unwrap().write_all(b"one").unwrap();
        assert_eq!((open_own(&path("own")).is_ok(), fs::read(path("own")).unwrap()), (true, b"one".to_vec()));
        std::os::unix::fs::symlink(path("elsewhere"), path("link")).unwrap();
        assert!(open_own(&path("link")).is_err());
        assert!(!path("elsewhere").exists());
    }

    #[test]
    #[cfg(unix)]
    fn what_is_no_file_is_told_and_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        for (path, got) in [(pipe.as_path(), "something that is none"), (dir.path(), "a folder")] {
            let told = format!("could not open {}: expected a file, got {got}", path.display());
            assert_eq!(read_bounded(path, 9).unwrap_err().to_string(), told);
            assert_eq!(crate::hash_file(path).unwrap_err().to_string(), told);
        }
    }
}

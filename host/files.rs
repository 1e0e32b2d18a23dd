//! Opening and reading files that are files.
//!
//! Everything that this program reads at a path which somebody else chose is opened here: a pipe might
//! wait for ever, a device never end.

use std::{
    fs::{File, FileType, Metadata, OpenOptions},
    io::{self, Read},
    path::Path,
};

/// No file that is read as a whole is larger.
const MOST: u64 = 256 << 20;

/// What is at a path in place of a regular file, in words.
#[derive(Debug, thiserror::Error)]
#[error("expected a file, got {0}")]
pub(crate) struct NotAFile(pub(crate) &'static str);

/// Opens a regular file to read it.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    open_with(OpenOptions::new().read(true), path)
}

/// Opens a regular file. One that is not there is made, if `options` say so.
pub(crate) fn open_with(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    // To open a device may already do something.
    match path.metadata() {
        Ok(metadata) => check(&metadata)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    // What became a pipe in between, and the kernel's own files, must not be waited for.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(options, rustix::fs::OFlags::NONBLOCK.bits() as i32);
    let file = options.open(path)?;
    check(&file.metadata()?)?;
    Ok(file)
}

/// Reads a regular file as a whole.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(MOST + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > MOST {
        true => Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("larger than {MOST} bytes"))),
        false => Ok(bytes),
    }
}

/// Reads a regular file as text.
pub(crate) fn read_text(path: &Path) -> io::Result<String> {
    String::from_utf8(read(path)?).map_err(|error| {
        let place = error.utf8_error().valid_up_to();
        io::Error::new(io::ErrorKind::InvalidData, format!("not valid UTF-8, at byte {place}"))
    })
}

fn check(metadata: &Metadata) -> io::Result<()> {
    if metadata.is_file() {
        return Ok(());
    }
    let kind = if metadata.is_dir() { io::ErrorKind::IsADirectory } else { io::ErrorKind::InvalidInput };
    Err(io::Error::new(kind, NotAFile(kind_of(metadata.file_type()))))
}

/// What is at a path, in words.
pub(crate) fn kind_of(kind: FileType) -> &'static str {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        match kind {
            _ if kind.is_fifo() => return "a named pipe",
            _ if kind.is_socket() => return "a socket",
            _ if kind.is_char_device() || kind.is_block_device() => return "a device",
            _ => (),
        }
    }
    match kind {
        _ if kind.is_dir() => "a folder",
        _ if kind.is_symlink() => "a link",
        _ if kind.is_file() => "a file",
        _ => "something special",
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::{fs, process::Command};

    use super::*;

    #[test]
    fn what_is_no_file_is_named_and_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        assert!(Command::new("mkfifo").arg(path("pipe")).status().unwrap().success());
        std::os::unix::fs::symlink("/dev/zero", path("device")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(path("socket")).unwrap();
        fs::create_dir(path("folder")).unwrap();
        for (name, kind) in
            [("pipe", "a named pipe"), ("device", "a device"), ("socket", "a socket"), ("folder", "a folder")]
        {
            let told = format!("expected a file, got {kind}");
            assert_eq!(read(&path(name)).unwrap_err().to_string(), told);
            let append = open_with(OpenOptions::new().append(true).create(true), &path(name));
            assert_eq!(append.unwrap_err().to_string(), told);
        }
    }

    #[test]
    fn a_file_is_read_whole_unless_it_is_huge() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "two\nlines").unwrap();
        assert_eq!(read_text(&path).unwrap(), "two\nlines");
        fs::write(&path, b"ab\xff").unwrap();
        assert_eq!(read_text(&path).unwrap_err().to_string(), "not valid UTF-8, at byte 2");
        // It has no bytes on disk, and would have in memory.
        File::create(&path).unwrap().set_len(MOST + 1).unwrap();
        assert_eq!(read(&path).unwrap_err().to_string(), "larger than 268435456 bytes");
        assert_eq!(read(&folder.path().join("none")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}

use super::PathSet;
use crate::{
    Error, disk,
    error::IoContext,
    hash::{CopyError, FileHash, copy_hashed},
};
use flate2::read::GzDecoder;
use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, ErrorKind, Read},
    path::Path,
};
use tar::{Archive, EntryType, Header};

/// The most bytes that an archive may have.
pub(crate) const MAX_ARCHIVE: u64 = 64 * 1024 * 1024;
/// The most bytes that may come out of one.
pub(crate) const MAX_UNPACKED: u64 = 256 * 1024 * 1024;
/// The most bytes of one extended header.
const MAX_EXTENDED: u64 = 64 * 1024;
/// What a compressed file begins with.
const GZIP: &[u8] = &[0x1f, 0x8b];
/// The folder that an archive has everything in.
const ROOT: &str = "package/";
const OUTSIDE: &str = "it is not in package/ as in what cmd mods pack and npm pack make";

/// Unpacks an archive into an empty folder, and gives the hashes of its files. Nothing is written unless every entry is
/// good.
///
/// # Errors
/// `E_ARCHIVE`, `E_TOO_BIG`, `E_ENTRY_PATH`, `E_ENTRY_TYPE`, `E_ENTRY_DUPLICATE`, `E_IO`.
pub(crate) fn unpack(archive: &[u8], folder: &Path) -> Result<BTreeMap<String, FileHash>, Error> {
    if !archive.starts_with(GZIP) {
        let reason = if archive.is_empty() { "it is empty" } else { "it is not compressed with gzip" };
        return Err(Error::Archive { reason: reason.to_owned() });
    }
    let mut paths = PathSet::default();
    walk(archive, &mut |path, content| match content {
        Some(_) => paths.add_file(path),
        None => paths.add_folder(path),
    })?;
    let mut files = BTreeMap::new();
    walk(archive, &mut |path, content| {
        if let Some(content) = content {
            files.insert(path.to_owned(), write_file(content, &folder.join(path))?);
        }
        Ok(())
    })?;
    Ok(files)
}

/// Writes one file: not executable, not writable, on the disk for good.
pub(crate) fn write_file(content: &mut dyn Read, path: &Path) -> Result<FileHash, Error> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).at("create", folder)?;
    let mut file = File::options().write(true).create_new(true).open(path).at("create", path)?;
    let hash = copy_hashed(content, &mut file).map_err(|error| match error {
        CopyError::Read(error) => damaged(error),
        CopyError::Write(source) => Error::Io { action: "write", path: path.to_owned(), source },
    })?;
    file.sync_all().at("sync", path)?;
    disk::set_mode(path, 0o444)?;
    Ok(hash)
}

type Visit<'a> = dyn FnMut(&str, Option<&mut dyn Read>) -> Result<(), Error> + 'a;

/// Calls `visit` for each entry, with its path below [`ROOT`] and its content when it is a file.
///
/// The headers are read one by one, without the tar crate's own reading of extensions, so that there is one answer only
/// to the question of what an entry is called: a name comes from its header, or from one extended header right before.
fn walk(archive: &[u8], visit: &mut Visit<'_>) -> Result<(), Error> {
    let mut tar = Archive::new(Bounded { inner: GzDecoder::new(archive), left: MAX_UNPACKED });
    let mut extended: Option<Vec<u8>> = None;
    for entry in tar.entries().map_err(damaged)?.raw(true) {
        let mut entry = entry.map_err(damaged)?;
        let kind = entry.header().entry_type();
        let renamed = extended.take();
        let is_extended = renamed.is_some();
        let name = renamed.unwrap_or_else(|| entry.header().path_bytes().into_owned());
        let name = String::from_utf8_lossy(&name).into_owned();
        match kind {
            EntryType::Regular => visit(below_root(&name)?, Some(&mut entry))?,
            EntryType::Directory if name.trim_end_matches('/') == ROOT.trim_end_matches('/') => {}
            EntryType::Directory => visit(below_root(&name)?.trim_end_matches('/'), None)?,
            EntryType::XHeader | EntryType::XGlobalHeader if is_extended => {
                return Err(Error::EntryType {
                    path: name,
                    found: "a second extended header for one entry".to_owned(),
                });
            }
            EntryType::XHeader => extended = extended_path(&mut entry, &name)?,
            EntryType::XGlobalHeader => {
                if extended_path(&mut entry, &name)?.is_some() {
                    return Err(Error::EntryType {
                        path: name,
                        found: "a header that renames all entries".to_owned(),
                    });
                }
            }
            other => {
                return Err(Error::EntryType { path: name, found: describe(other, entry.header()) });
            }
        }
    }
    // To the end, so that the checksum of the archive is looked at.
    io::copy(&mut tar.into_inner(), &mut io::sink()).map_err(damaged)?;
    Ok(())
}

fn below_root(name: &str) -> Result<&str, Error> {
    name.strip_prefix(ROOT).ok_or_else(|| Error::EntryPath { path: name.to_owned(), reason: OUTSIDE })
}

/// The `path` of an extended header. What would change the size or the kind of the next entry is refused.
fn extended_path(entry: &mut impl Read, name: &str) -> Result<Option<Vec<u8>>, Error> {
    let mut bytes = Vec::new();
    entry.take(MAX_EXTENDED + 1).read_to_end(&mut bytes).map_err(damaged)?;
    if bytes.len() as u64 > MAX_EXTENDED {
        return Err(Error::TooBig {
            what: "bytes in an extended header",
            limit: MAX_EXTENDED,
            found: bytes.len() as u64,
        });
    }
    let mut path = None;
    let mut rest = bytes.as_slice();
    while !rest.is_empty() {
        let (key, value, next) = extended_record(rest).ok_or_else(|| Error::Archive {
            reason: format!("an extended header cannot be read: {name:?}"),
        })?;
        match key {
            b"path" if path.is_none() => path = Some(value.to_vec()),
            b"path" | b"size" | b"linkpath" => return Err(trick(name, key)),
            _ if key.starts_with(b"GNU.sparse") => return Err(trick(name, key)),
            _ => {}
        }
        rest = next;
    }
    Ok(path)
}

/// One record `<length> <key>=<value>\n`, and what follows it.
fn extended_record(bytes: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let space = bytes.iter().position(|byte| *byte == b' ')?;
    let length: usize = std::str::from_utf8(&bytes[..space]).ok()?.parse().ok()?;
    let record = bytes.get(space + 1..length)?.strip_suffix(b"\n")?;
    let equals = record.iter().position(|byte| *byte == b'=')?;
    Some((&record[..equals], &record[equals + 1..], &bytes[length..]))
}

fn trick(name: &str, key: &[u8]) -> Error {
    let found = format!("an extended header with {}", String::from_utf8_lossy(key));
    Error::EntryType { path: name.to_owned(), found }
}

fn describe(kind: EntryType, header: &Header) -> String {
    let link =
        || header.link_name().ok().flatten().map(|to| format!(" to {}", to.display())).unwrap_or_default();
    match kind {
        EntryType::Symlink => format!("a symbolic link{}", link()),
        EntryType::Link => format!("a hard link{}", link()),
        EntryType::Fifo => "a pipe".to_owned(),
        EntryType::Char | EntryType::Block => "a device".to_owned(),
        EntryType::GNULongName | EntryType::GNULongLink => "a GNU long name".to_owned(),
        EntryType::GNUSparse => "a sparse file".to_owned(),
        other => format!("tar type {:?}", char::from(other.as_byte())),
    }
}

/// Stops after `left` bytes: a small archive can unpack to very much.
struct Bounded<R> {
    inner: R,
    left: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        match self.left.checked_sub(count as u64) {
            Some(left) => self.left = left,
            None => return Err(io::Error::from(ErrorKind::FileTooLarge)),
        }
        Ok(count)
    }
}

/// What is said of an archive that ends too early, where its kind does not tell.
const CUT_OFF: [&str; 3] = ["incomplete deflate stream", "unexpected EOF", "failed to read entire block"];

fn damaged(error: io::Error) -> Error {
    if error.kind() == ErrorKind::FileTooLarge {
        return Error::TooBig { what: "unpacked bytes", limit: MAX_UNPACKED, found: MAX_UNPACKED + 1 };
    }
    // The libraries' own texts are about blocks and fields, and quote what was read.
    let reason = match error.kind() {
        ErrorKind::UnexpectedEof => "it is cut off",
        ErrorKind::InvalidInput | ErrorKind::InvalidData => "its compressed content is damaged",
        _ if CUT_OFF.iter().any(|text| error.to_string().contains(text)) => "it is cut off",
        _ => "what is compressed in it is no tar file",
    };
    Error::Archive { reason: reason.to_owned() }
}

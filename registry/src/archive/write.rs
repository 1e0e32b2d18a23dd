use super::PathSet;
use crate::Error;
use flate2::{Compression, GzBuilder};
use std::{collections::BTreeMap, io};
use tar::{Builder, EntryType, Header};

/// The operating system that a gzip header names when it does not want to.
const UNKNOWN_SYSTEM: u8 = 255;

/// Packs files into an archive, below `package/`, sorted, without times and owners: the same bytes for the same files.
///
/// # Errors
/// `E_ENTRY_PATH`, `E_ENTRY_DUPLICATE`, `E_ARCHIVE` for a path that is too long for the format.
pub(crate) fn pack(files: &BTreeMap<String, Vec<u8>>) -> Result<Vec<u8>, Error> {
    let mut paths = PathSet::default();
    files.keys().try_for_each(|path| paths.add_file(path))?;
    let gzip =
        GzBuilder::new().mtime(0).operating_system(UNKNOWN_SYSTEM).write(Vec::new(), Compression::best());
    let mut tar = Builder::new(gzip);
    for (path, content) in files {
        append(&mut tar, path, content)
            .map_err(|error| Error::Archive { reason: format!("{path}: {error}") })?;
    }
    tar.into_inner()
        .and_then(|gzip| gzip.finish())
        .map_err(|error| Error::Archive { reason: error.to_string() })
}

fn append(tar: &mut Builder<impl io::Write>, path: &str, content: &[u8]) -> io::Result<()> {
    let mut header = Header::new_ustar();
    header.set_path(format!("package/{path}"))?;
    header.set_entry_type(EntryType::Regular);
    header.set_size(content.len() as u64);
    header.set_mode(0o644);
    header.set_mtime(0);
    header.set_uid(0);
    header.set_gid(0);
    header.set_cksum();
    tar.append(&header, content)
}

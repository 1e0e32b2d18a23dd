//! Hashes of bytes, files and whole packages.

use crate::{Error, disk, error::IoContext};
use sha2::{Digest, Sha256, Sha512};
use std::{
    collections::BTreeMap,
    io::{self, Read, Write},
    path::Path,
};

/// What a file is known by: its sha256 in lower-case hex, and its size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileHash {
    /// 64 lower-case hex digits.
    pub sha256: String,
    /// In bytes.
    pub size: u64,
}

/// Hashes bytes in memory.
pub fn hash_bytes(bytes: &[u8]) -> FileHash {
    FileHash { sha256: hex(&Sha256::digest(bytes)), size: bytes.len() as u64 }
}

/// Hashes a file, in pieces.
///
/// # Errors
/// `E_IO` when the file cannot be read.
pub fn hash_file(path: &Path) -> Result<FileHash, Error> {
    let mut file = disk::open(path).at("open", path)?;
    let failed = |(CopyError::Read(error) | CopyError::Write(error))| error;
    copy_hashed(&mut file, &mut io::sink()).map_err(failed).at("read", path)
}

/// Which side of a copy failed.
pub(crate) enum CopyError {
    Read(io::Error),
    Write(io::Error),
}

/// Copies, and hashes what was copied.
pub(crate) fn copy_hashed(from: &mut dyn Read, to: &mut dyn Write) -> Result<FileHash, CopyError> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 64 * 1024];
    let mut size = 0;
    loop {
        let count = match from.read(&mut buffer) {
            Ok(0) => {
                return Ok(FileHash { sha256: hex(&hasher.finalize()), size });
            }
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(CopyError::Read(error)),
        };
        hasher.update(&buffer[..count]);
        to.write_all(&buffer[..count]).map_err(CopyError::Write)?;
        size += count as u64;
    }
}

/// One line `<sha256>  <size>  <path>` a file, sorted by path.
pub(crate) fn files_text<'a>(files: impl IntoIterator<Item = (&'a String, &'a FileHash)>) -> String {
    files.into_iter().map(|(path, file)| format!("{}  {}  {path}\n", file.sha256, file.size)).collect()
}

/// Digest of a package: sha256 over the lines of its files.
pub(crate) fn tree_digest(files: &BTreeMap<String, FileHash>) -> String {
    format!("sha256:{}", hash_bytes(files_text(files).as_bytes()).sha256)
}

/// The `integrity` of an archive that `mods pack` made.
pub(crate) fn integrity_sha256(bytes: &[u8]) -> String {
    format!("sha256-{}", base64(&Sha256::digest(bytes)))
}

/// The `integrity` that npm gives an archive.
pub(crate) fn integrity_sha512(bytes: &[u8]) -> String {
    format!("sha512-{}", base64(&Sha512::digest(bytes)))
}

/// Whether this is a sha256 in lower-case hex.
pub(crate) fn is_sha256(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |value: u8| char::from(DIGITS[usize::from(value)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let group =
            chunk.iter().fold(0u32, |group, byte| group << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for digit in 0..4 {
            let index = (group >> (18 - 6 * digit)) & 63;
            text.push(if digit <= chunk.len() { char::from(DIGITS[index as usize]) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_pads_to_groups_of_four() {
        let pairs = [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")];
        for (plain, text) in pairs {
            assert_eq!(base64(plain.as_bytes()), text);
        }
    }

    #[test]
    fn a_file_and_its_bytes_have_one_hash() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        std::fs::write(&path, b"abc").unwrap();
        let expected = FileHash {
            sha256: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad".to_owned(),
            size: 3,
        };
        assert_eq!(hash_file(&path).unwrap(), expected);
        assert_eq!(hash_bytes(b"abc"), expected);
    }

    #[test]
    fn the_digest_of_a_tree_depends_on_paths_and_contents() {
        let tree = |path: &str, content: &[u8]| {
            tree_digest(&BTreeMap::from([(path.to_owned(), hash_bytes(content))]))
        };
        assert_eq!(tree("a", b"abc"), tree("a", b"abc"));
        assert_ne!(tree("a", b"abc"), tree("b", b"abc"));
        assert_ne!(tree("a", b"abc"), tree("a", b"abd"));
    }
}

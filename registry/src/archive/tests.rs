use super::*;
use crate::Error;
use flate2::{Compression, write::GzEncoder};
use std::{collections::BTreeMap, fs, io::Write};
use tar::{EntryType, Header};

/// An entry as a hand-made archive has it: any name, any kind.
fn raw(kind: EntryType, name: &str, content: &[u8]) -> Vec<u8> {
    let mut header = Header::new_ustar();
    header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
    header.set_entry_type(kind);
    header.set_size(content.len() as u64);
    header.set_mode(0o4777);
    header.set_cksum();
    let mut bytes = header.as_bytes().to_vec();
    bytes.extend_from_slice(content);
    bytes.resize(bytes.len().next_multiple_of(512), 0);
    bytes
}

fn file(name: &str) -> Vec<u8> {
    raw(EntryType::Regular, name, b"content")
}

fn extended(key: &str, value: &str) -> Vec<u8> {
    let body = format!(" {key}={value}\n");
    let mut length = body.len() + 1;
    while length != body.len() + length.to_string().len() {
        length += 1;
    }
    raw(EntryType::XHeader, "PaxHeader", format!("{length}{body}").as_bytes())
}

/// What every file of gzip begins with, and nothing behind it.
const GZIP_START: &[u8] = &[0x1f, 0x8b];

fn gzip(entries: &[Vec<u8>]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    entries.iter().for_each(|entry| encoder.write_all(entry).unwrap());
    encoder.write_all(&[0; 1024]).unwrap();
    encoder.finish().unwrap()
}

/// Unpacks into a folder of its own, and shows that a refused archive wrote nothing.
fn unpacked(entries: &[Vec<u8>]) -> Result<Vec<String>, Error> {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("root");
    let result = unpack(&gzip(entries), &root);
    if result.is_err() {
        assert!(!root.exists(), "a refused archive wrote something");
    }
    assert!(fs::read_dir(dir.path()).unwrap().count() <= 1, "something was written outside");
    result.map(|files| files.into_keys().collect())
}

fn code(entries: &[Vec<u8>]) -> &'static str {
    unpacked(entries).map_or_else(|error| error.code(), |_| "ok")
}

#[test]
fn files_come_out_as_they_went_in() {
    let dir = tempfile::tempdir().unwrap();
    let files =
        BTreeMap::from([("a.txt".to_owned(), b"one".to_vec()), ("b/c.txt".to_owned(), vec![7; 100_000])]);
    let found = unpack(&pack(&files).unwrap(), dir.path()).unwrap();
    for (path, content) in &files {
        assert_eq!(fs::read(dir.path().join(path)).unwrap(), *content);
        assert_eq!(found[path], crate::hash_bytes(content));
    }
    assert_eq!(found.len(), 2);
}

#[test]
fn an_archive_made_twice_is_the_same_bytes() {
    let files = BTreeMap::from([("b".to_owned(), b"one".to_vec()), ("a".to_owned(), b"two".to_vec())]);
    let bytes = pack(&files).unwrap();
    assert_eq!(bytes, pack(&files).unwrap());
    assert_eq!(&bytes[..10], [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 255]);
}

#[test]
fn threat_1_names_that_leave_the_folder_are_refused() {
    for name in [
        "../evil",
        "package/../../evil",
        "package/a/../../../evil",
        "/etc/evil",
        "package//etc/evil",
        "package/C:/evil",
        "C:/evil",
        "//server/share/evil",
        "package/a\\..\\..\\evil",
        "package/./evil",
        "evil",
        "other/evil",
        "packagex/evil",
        "package/",
    ] {
        assert_eq!(code(&[file("package/good"), file(name)]), "E_ENTRY_PATH", "{name}");
    }
    assert_eq!(code(&[extended("path", "package/../evil"), file("package/good")]), "E_ENTRY_PATH");
    assert_eq!(code(&[extended("path", "package/a\0b"), file("package/good")]), "E_ENTRY_PATH");
    assert_eq!(code(&[raw(EntryType::Directory, "package/../x/", b"")]), "E_ENTRY_PATH");
}

#[test]
fn threat_2_links_and_devices_are_refused() {
    for kind in [
        EntryType::Symlink,
        EntryType::Link,
        EntryType::Fifo,
        EntryType::Char,
        EntryType::Block,
        EntryType::Continuous,
    ] {
        assert_eq!(code(&[raw(kind, "package/x", b"")]), "E_ENTRY_TYPE", "{kind:?}");
    }
    let mut link = Header::new_ustar();
    link.set_path("package/x").unwrap();
    link.set_entry_type(EntryType::Symlink);
    link.set_link_name("/etc/passwd").unwrap();
    link.set_size(0);
    link.set_cksum();
    assert_eq!(
        unpacked(&[link.as_bytes().to_vec()]).unwrap_err().to_string(),
        "the package has an entry that is neither a file nor a folder but a symbolic link to /etc/passwd, its author must leave it out: \"package/x\""
    );
}

#[cfg(unix)]
#[test]
fn threat_3_modes_of_the_archive_are_ignored() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    unpack(&gzip(&[file("package/x")]), dir.path()).unwrap();
    let mode = dir.path().join("x").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o444);
}

#[test]
fn threat_11_a_small_archive_that_unpacks_to_very_much_is_refused() {
    let mut header = Header::new_ustar();
    header.set_path("package/zeros").unwrap();
    header.set_entry_type(EntryType::Regular);
    header.set_size(256 * 1024 * 1024);
    header.set_cksum();
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(header.as_bytes()).unwrap();
    std::io::copy(&mut std::io::Read::take(std::io::repeat(0), 256 * 1024 * 1024), &mut encoder).unwrap();
    let archive = encoder.finish().unwrap();
    assert!(archive.len() < 2 * 1024 * 1024);
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("root");
    let error = unpack(&archive, &root).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the package is too big, unpacked bytes: expected at most 268435456, got: 268435457"
    );
    assert!(!root.exists());
}

#[test]
fn threat_11_too_many_entries_and_too_long_names_are_refused() {
    let many: Vec<Vec<u8>> =
        (0..20_001).map(|n| raw(EntryType::Regular, &format!("package/{n}"), b"")).collect();
    assert_eq!(code(&many), "E_TOO_BIG");
    let long = format!("package/{}", "a".repeat(256));
    assert_eq!(code(&[extended("path", &long), file("package/a")]), "E_ENTRY_PATH");
    let deep = format!("package/{}a", "a/".repeat(32));
    assert_eq!(code(&[extended("path", &deep), file("package/a")]), "E_ENTRY_PATH");
    let huge = raw(EntryType::XHeader, "PaxHeader", &[b' '; 70_000]);
    assert_eq!(code(&[huge, file("package/a")]), "E_TOO_BIG");
}

#[test]
fn threat_12_header_tricks_are_refused() {
    let long_name = raw(EntryType::GNULongName, "././@LongLink", b"package/evil\0");
    assert_eq!(code(&[extended("path", "package/a"), long_name.clone(), file("package/b")]), "E_ENTRY_TYPE");
    assert_eq!(code(&[long_name, file("package/b")]), "E_ENTRY_TYPE");
    assert_eq!(code(&[raw(EntryType::GNUSparse, "package/s", b"")]), "E_ENTRY_TYPE");
    assert_eq!(code(&[raw(EntryType::new(b'M'), "package/s", b"")]), "E_ENTRY_TYPE");
    assert_eq!(code(&[extended("size", "4"), file("package/a")]), "E_ENTRY_TYPE");
    assert_eq!(code(&[extended("linkpath", "/etc"), file("package/a")]), "E_ENTRY_TYPE");
    assert_eq!(code(&[extended("GNU.sparse.name", "x"), file("package/a")]), "E_ENTRY_TYPE");
    assert_eq!(
        code(&[extended("path", "package/a"), extended("comment", "x"), file("package/b")]),
        "E_ENTRY_TYPE"
    );
    let global = raw(EntryType::XGlobalHeader, "g", b"18 path=package/b\n");
    assert_eq!(code(&[global, file("package/a")]), "E_ENTRY_TYPE");
    assert_eq!(code(&[raw(EntryType::XHeader, "x", b"99 path=a\n"), file("package/a")]), "E_ARCHIVE");
    assert_eq!(code(&[raw(EntryType::XHeader, "x", b"1 path=a\n"), file("package/a")]), "E_ARCHIVE");
}

#[test]
fn a_long_path_in_an_extended_header_is_taken() {
    let path = format!("package/{}/{}", "a".repeat(120), "b".repeat(120));
    let names = unpacked(&[extended("path", &path), file("package/short"), file("package/c")]).unwrap();
    assert_eq!(names, [&path[8..], "c"]);
}

#[test]
fn threat_13_names_that_are_one_elsewhere_are_refused() {
    let pairs =
        [("A.so", "a.so"), ("a.so", "A.so"), ("a", "a"), ("a", "a/b"), ("a/b", "a"), ("Bin/a", "bin/b")];
    for (first, second) in pairs {
        let entries = [file(&format!("package/{first}")), file(&format!("package/{second}"))];
        assert_eq!(code(&entries), "E_ENTRY_DUPLICATE", "{first} {second}");
    }
    for name in ["nul", "aux.so", "a.", "a ", "a:b", "caf\u{e9}", "a/COM1/b"] {
        assert_eq!(code(&[file(&format!("package/{name}"))]), "E_ENTRY_PATH", "{name}");
    }
    let folders = [raw(EntryType::Directory, "package/", b""), raw(EntryType::Directory, "package/a/", b"")];
    assert_eq!(
        unpacked(&[folders[0].clone(), folders[1].clone(), folders[1].clone(), file("package/a/b")]).unwrap(),
        ["a/b"]
    );
}

#[test]
fn an_archive_that_is_cut_off_or_changed_is_damaged_not_good() {
    let good = gzip(&[raw(EntryType::Regular, "package/a", &[1; 5000])]);
    let dir = tempfile::tempdir().unwrap();
    let attempt = |bytes: &[u8]| unpack(bytes, &dir.path().join("root")).map_err(|error| error.code());
    for length in 0..good.len() {
        assert_eq!(attempt(&good[..length]), Err("E_ARCHIVE"), "{length} of {}", good.len());
    }
    let mut checksum = good.clone();
    let at = checksum.len() - 6;
    checksum[at] ^= 1;
    assert_eq!(attempt(&checksum), Err("E_ARCHIVE"));
    assert_eq!(attempt(b"hello"), Err("E_ARCHIVE"));
    assert!(attempt(&good).is_ok());
}

#[test]
fn an_archive_that_cannot_be_read_is_told_what_it_is() {
    let good = gzip(&[raw(EntryType::Regular, "package/a", &[1; 5000])]);
    let with = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = good.clone();
        change(&mut bytes);
        bytes
    };
    let compressed = |bytes: &[u8]| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    };
    let mut header = raw(EntryType::Regular, "package/a", b"content");
    header[150] ^= 1;
    let cases: [(Vec<u8>, &str); 10] = [
        (vec![], "it is empty"),
        (b"PK\x03\x04".to_vec(), "it is not compressed with gzip"),
        (b"<html>".to_vec(), "it is not compressed with gzip"),
        (GZIP_START.to_vec(), "it is cut off"),
        (good[..good.len() / 2].to_vec(), "it is cut off"),
        (good[..good.len() - 4].to_vec(), "it is cut off"),
        (with(&|bytes| *bytes.iter_mut().rev().nth(5).unwrap() ^= 1), "its compressed content is damaged"),
        (compressed(&b"hello world".repeat(100)), "what is compressed in it is no tar file"),
        (compressed(&header), "what is compressed in it is no tar file"),
        (compressed(&raw(EntryType::Regular, "package/a", &[1; 5000])[..514]), "it is cut off"),
    ];
    for (bytes, expected) in cases {
        let dir = tempfile::tempdir().unwrap();
        let error = unpack(&bytes, &dir.path().join("root")).unwrap_err();
        let text = "the archive cannot be used, get it anew or make it anew with cmd mods pack: ";
        assert_eq!(error.to_string(), format!("{text}{expected}"), "{bytes:?}");
    }
}

#[test]
fn what_is_packed_is_held_to_the_same_rules() {
    let one =
        |path: &str| pack(&BTreeMap::from([(path.to_owned(), Vec::new())])).map_err(|error| error.code());
    assert_eq!(one("../x"), Err("E_ENTRY_PATH"));
    assert_eq!(one(&"a/".repeat(20).repeat(8)), Err("E_ENTRY_PATH"));
    assert_eq!(one(&["a".repeat(200), "b".repeat(200)].join("/")), Err("E_ARCHIVE"));
}

proptest::proptest! {
    #[test]
    fn any_bytes_are_unpacked_or_refused_but_never_a_panic(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..2048)) {
        let dir = tempfile::tempdir().unwrap();
        let _ = unpack(&gzip(&[bytes]), &dir.path().join("root"));
    }
}

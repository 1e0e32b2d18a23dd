//! An archive never writes outside the scope's folder, and one that is refused leaves nothing. The first byte says
//! whether the rest is the archive, or the tar inside of it: what the checksum of gzip would keep the fuzzer out of.
#![no_main]

use std::{fs, io::Write};

use flate2::{Compression, write::GzEncoder};
use libfuzzer_sys::fuzz_target;
use registry::{HostFacts, install_archive};

fuzz_target!(|bytes: &[u8]| {
    let folder = tempfile::tempdir().unwrap();
    let (scope, archive) = (folder.path().join("scope"), folder.path().join("a.tgz"));
    let Some((kind, bytes)) = bytes.split_first() else { return };
    if kind % 2 == 0 {
        fs::write(&archive, bytes).unwrap();
    } else {
        let mut gzip = GzEncoder::new(fs::File::create(&archive).unwrap(), Compression::none());
        gzip.write_all(bytes).unwrap();
        gzip.finish().unwrap();
    }
    let host =
        HostFacts { interface: (1, 0), target: "x86_64-unknown-linux-gnu".to_owned(), glibc: Some((2, 36)) };
    let refused = install_archive(&scope, &archive, &host).is_err();
    let beside = fs::read_dir(folder.path()).unwrap().count();
    assert!(beside <= 2, "something was written beside the scope's folder");
    assert!(!refused || !scope.join("mods.lock").exists(), "a refused archive is locked");
});

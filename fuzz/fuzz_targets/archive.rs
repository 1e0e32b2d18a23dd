//! An archive never writes outside the scope's folder, and one that is refused leaves nothing.
#![no_main]

use std::fs;

use libfuzzer_sys::fuzz_target;
use registry::{HostFacts, install_archive};

fuzz_target!(|bytes: &[u8]| {
    let folder = tempfile::tempdir().unwrap();
    let (scope, archive) = (folder.path().join("scope"), folder.path().join("a.tgz"));
    fs::write(&archive, bytes).unwrap();
    let host =
        HostFacts { interface: (1, 0), target: "x86_64-unknown-linux-gnu".to_owned(), glibc: Some((2, 36)) };
    let refused = install_archive(&scope, &archive, &host).is_err();
    let beside = fs::read_dir(folder.path()).unwrap().count();
    assert!(beside <= 2, "something was written beside the scope's folder");
    assert!(!refused || !scope.join("mods.lock").exists(), "a refused archive is locked");
});

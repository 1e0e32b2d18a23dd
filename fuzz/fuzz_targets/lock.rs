//! A lock that is read and written is read as the same, and no entry that passes its check leads out of the store.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use registry::lock::Lock;

fuzz_target!(|text: &str| {
    let path = Path::new("mods.lock");
    let Ok(lock) = Lock::parse(text, path) else { return };
    for package in lock.packages().iter().filter(|package| package.check(path).is_ok()) {
        let paths = package.artifacts.iter().flat_map(|row| [&row.path, &row.artifact.file]);
        for part in paths.flat_map(|path| path.split('/')) {
            assert!(part != ".." && !part.is_empty(), "{package:?}");
        }
    }
    let written = lock.to_toml().unwrap();
    assert_eq!(Lock::parse(&written, path).unwrap(), lock);
});

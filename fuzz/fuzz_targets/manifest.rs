//! A manifest that is read and written is read as the same, and none of its libraries is outside its directory.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use registry::manifest::Manifest;

fuzz_target!(|text: &str| {
    let path = Path::new("mod.toml");
    let Ok(parsed) = Manifest::parse(text, path) else { return };
    let parts = parsed.manifest.artifacts.iter().flat_map(|artifact| artifact.file.split('/'));
    assert!(parts.into_iter().all(|part| part != ".." && !part.is_empty()), "{:?}", parsed.manifest);
    let written = parsed.manifest.to_toml().unwrap();
    assert_eq!(Manifest::parse(&written, path).unwrap().manifest, parsed.manifest);
});

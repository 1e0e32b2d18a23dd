//! A source never panics, and what it is shown as is the same package.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use registry::Source;

fuzz_target!(|text: &str| {
    let Ok(source) = Source::parse(text) else { return };
    let identity = |source: &Source| source.identity(Path::new("/base"), Some(Path::new("/home")));
    let again = Source::parse(&source.to_string());
    let again = again.unwrap_or_else(|error| panic!("{source} is not read again: {error}"));
    assert_eq!(identity(&again), identity(&source));
});

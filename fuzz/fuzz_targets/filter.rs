//! A filter of any patterns, one a line, answers for any path and name: the first two lines.
#![no_main]

use libfuzzer_sys::fuzz_target;
use registry::filter::Filter;

fuzz_target!(|text: &str| {
    let mut lines = text.lines();
    let (path, name) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    let patterns: Vec<_> = lines.take(16).collect();
    let filter = Filter::new(&patterns);
    if patterns
        .iter()
        .any(|pattern| pattern.strip_prefix('-').is_some_and(|exact| exact == path && !exact.contains('\\')))
    {
        assert!(
            !filter.includes(path, name) || path.starts_with("./"),
            "the strongest pattern was not heard"
        );
    }
    filter.includes(path, name);
});

use super::{Filter, Glob};
use serde::Deserialize;
use std::time::{Duration, Instant};

#[derive(Deserialize)]
struct Vector {
    patterns: Vec<String>,
    entry: Entry,
    included: bool,
    why: String,
}

#[derive(Deserialize)]
struct Entry {
    path: String,
    name: String,
}

#[test]
fn every_vector_passes() {
    let vectors: Vec<Vector> =
        serde_json::from_str(include_str!("../../tests/vectors/source-filter.json")).unwrap();
    assert_eq!(vectors.len(), 74);
    for vector in vectors {
        let found = Filter::new(&vector.patterns).includes(&vector.entry.path, &vector.entry.name);
        assert_eq!(found, vector.included, "{:?} {}: {}", vector.patterns, vector.entry.path, vector.why);
    }
}

/// Pairs of a random pattern and a random path, with what minimatch 11.0.9 says of them (its options: nonegate,
/// nocomment, noext). One a line: pattern, tab, path, tab, `1` or `0`.
#[test]
fn random_pairs_are_judged_as_minimatch_judges_them() {
    let mut wrong = Vec::new();
    let text = include_str!("../../tests/vectors/minimatch.tsv");
    for line in text.lines() {
        let [pattern, path, expected] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
        if Glob::new(pattern).matches(path) != (expected == "1") {
            wrong.push(line);
        }
    }
    assert_eq!(wrong, Vec::<&str>::new());
    assert!(text.lines().count() >= 4000);
}

#[test]
fn no_pattern_takes_long() {
    let start = Instant::now();
    let stars = "*a".repeat(40);
    assert!(!Glob::new(&format!("{stars}c")).matches(&"a".repeat(3000)));
    assert!(!Glob::new(&format!("{}b", "**/".repeat(300))).matches(&"a/".repeat(1000)));
    assert_eq!(
        Glob::new(&"{a,b}".repeat(40)).warning(),
        Some("has more than 1024 alternatives, the rest is left out")
    );
    Glob::new(&"{".repeat(1024));
    Glob::new(&"{1..999999999}".repeat(3));
    Glob::new(&"[".repeat(1024));
    assert!(start.elapsed() < Duration::from_secs(5));
}

#[test]
fn patterns_that_most_likely_mean_something_else_are_named() {
    let filter = Filter::new(["src/@(a|b)", "../x", "!a/../b", "good/*"]);
    assert_eq!(
        filter.warnings(),
        [
            "the filter pattern looks like an extended glob, its parentheses are taken literally: src/@(a|b)",
            "the filter pattern has a .. part, it matches nothing: ../x",
            "the filter pattern has a .. part, it matches nothing: !a/../b",
        ]
    );
}

proptest::proptest! {
    #[test]
    fn no_pattern_is_a_panic(pattern in r"[-+!./*?\[\]{},\\a-c0-2é^:]{0,30}", path in r"[./a-c0-2é]{0,20}") {
        Filter::new([pattern]).includes(&path, "name");
    }
}

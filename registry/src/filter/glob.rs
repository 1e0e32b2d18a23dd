use super::{braces, segment::Segment};

/// The longest pattern that is read.
const MAX_PATTERN: usize = 1024;

/// A pattern for paths with `/` between their parts.
///
/// `*` and `?` stay within a part and do not match its leading dot; `**` as a whole part is any number of parts without
/// a leading dot (at the end, at least one); `[a-z]`, `[^a-z]`, `[[:digit:]]`; `{a,b}` and `{1..3}` are expanded first;
/// `\` takes the next character literally. Everything is case-sensitive and counts characters, not bytes. There are no
/// extended globs, and `..` never matches. It takes time in proportion to pattern and path, whatever they are.
#[derive(Debug, Clone)]
pub struct Glob {
    alternatives: Vec<Vec<Part>>,
    warning: Option<&'static str>,
}

#[derive(Debug, Clone)]
enum Part {
    /// `**`
    Deep,
    One(Segment),
}

impl Glob {
    /// Reads a pattern. None is wrong: what has no meaning is literal, or matches nothing.
    pub fn new(pattern: &str) -> Self {
        let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
        if pattern.len() > MAX_PATTERN {
            return Self {
                alternatives: Vec::new(),
                warning: Some("has more than 1024 bytes, it matches nothing"),
            };
        }
        let (expanded, cut) = braces::expand(pattern);
        let alternatives: Vec<Vec<Part>> = expanded.iter().filter_map(|pattern| parts(pattern)).collect();
        let warning = if cut {
            Some("has more than 1024 alternatives, the rest is left out")
        } else if expanded.iter().any(|pattern| pattern.split('/').any(|part| part == "..")) {
            Some("has a .. part, it matches nothing")
        } else if ["@(", "!(", "?(", "*(", "+("].iter().any(|start| pattern.contains(start)) {
            Some("looks like an extended glob, its parentheses are taken literally")
        } else {
            None
        };
        Self { alternatives, warning }
    }

    /// Whether the whole path matches.
    pub fn matches(&self, path: &str) -> bool {
        let path: Vec<&str> = path.split('/').collect();
        self.alternatives.iter().any(|parts| matches(parts, &path))
    }

    /// Why the pattern most likely does not mean what was meant.
    pub fn warning(&self) -> Option<&'static str> {
        self.warning
    }
}

/// The parts of a pattern without braces; `None` when it can match no path.
fn parts(pattern: &str) -> Option<Vec<Part>> {
    if pattern.is_empty() || pattern.starts_with('/') || pattern.ends_with('/') {
        return None;
    }
    let mut parts = Vec::new();
    for text in pattern.split('/').filter(|text| !text.is_empty()) {
        match text {
            ".." => return None,
            "**" if matches!(parts.last(), Some(Part::Deep)) => {}
            "**" => parts.push(Part::Deep),
            _ => parts.push(Part::One(Segment::new(text))),
        }
    }
    Some(parts)
}

/// One row for each part of the pattern: which numbers of the path's parts it and those before it can have taken.
fn matches(parts: &[Part], path: &[&str]) -> bool {
    let mut reached = vec![false; path.len() + 1];
    reached[0] = true;
    for (index, part) in parts.iter().enumerate() {
        let mut next = vec![false; path.len() + 1];
        match part {
            Part::One(segment) => {
                for (at, text) in path.iter().enumerate() {
                    next[at + 1] = reached[at] && segment.matches(text);
                }
            }
            Part::Deep => {
                let last = index + 1 == parts.len();
                for at in 0..=path.len() {
                    let longer = at > 0
                        && !path[at - 1].starts_with('.')
                        && (next[at - 1] || (last && reached[at - 1]));
                    next[at] = longer || (!last && reached[at]);
                }
            }
        }
        reached = next;
    }
    reached[path.len()]
}

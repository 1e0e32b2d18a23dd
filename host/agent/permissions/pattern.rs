use std::iter;

use super::shell::ANY;

/// A text in which some places stand for any text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pattern {
    head: String,
    /// What follows, each part behind any text.
    tail: Vec<String>,
}

impl Pattern {
    /// Reads a pattern: a `*` stands for any text.
    pub(super) fn new(text: &str) -> Self {
        Self::below("", text)
    }

    /// A pattern behind a text in which a `*` is a `*`.
    pub(super) fn below(literal: &str, text: &str) -> Self {
        let mut parts = text.split('*');
        let head = literal.to_owned() + parts.next().unwrap_or_default();
        Self { head, tail: parts.map(str::to_owned).collect() }
    }

    pub(super) fn holds_for(&self, text: &str) -> bool {
        let Some(mut rest) = text.strip_prefix(self.head.as_str()) else { return false };
        let Some((last, between)) = self.tail.split_last() else { return rest.is_empty() };
        for part in between {
            match rest.find(part.as_str()) {
                Some(at) => rest = &rest[at + part.len()..],
                None => return false,
            }
        }
        rest.ends_with(last.as_str())
    }

    /// Whether it may hold for a text in which [`ANY`] stands for any text too.
    pub(super) fn may_hold_for(&self, open: &str) -> bool {
        let tail = self.tail.iter().flat_map(|part| iter::once(None).chain(part.chars().map(Some)));
        let pattern: Vec<_> = self.head.chars().map(Some).chain(tail).collect();
        // Whether the texts before this place of both can be the same, for each place of the pattern.
        let mut same: Vec<bool> = vec![true];
        same.extend(pattern.iter().scan(true, |same, c| {
            *same &= c.is_none();
            Some(*same)
        }));
        for c in open.chars() {
            let mut next = vec![c == ANY && same[0]];
            for (at, expected) in pattern.iter().enumerate() {
                next.push(match expected {
                    None => same[at + 1] || next[at],
                    Some(_) if c == ANY => same[at + 1] || next[at],
                    Some(expected) => *expected == c && same[at],
                });
            }
            same = next;
        }
        same.last() == Some(&true)
    }
}

use std::{fmt, str::FromStr};

use super::shell::Command;
use crate::agent::Error;

/// A permission rule: a tool's name, or a name and a pattern for what the call is about, as in
/// `shell_command(git *)` and `write_file(src/*)`. A `*` stands for any text, in the name too; a pattern
/// that ends in ` *` also holds for the bare command before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    tool: String,
    pattern: Option<String>,
}

impl FromStr for Rule {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let bad = || Error::Rule(text.to_owned());
        let (tool, pattern) = match text.trim().split_once('(') {
            None => (text.trim(), None),
            Some((tool, rest)) => (tool, Some(rest.strip_suffix(')').ok_or_else(bad)?.trim())),
        };
        let is_name = |c: char| c.is_ascii_alphanumeric() || "_-*".contains(c);
        if tool.is_empty() || !tool.chars().all(is_name) || pattern == Some("") {
            return Err(bad());
        }
        Ok(Self { tool: tool.to_owned(), pattern: pattern.map(str::to_owned) })
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.pattern {
            None => f.write_str(&self.tool),
            Some(pattern) => write!(f, "{}({pattern})", self.tool),
        }
    }
}

impl Rule {
    pub(super) fn names(&self, tool: &str) -> bool {
        matches(&self.tool, tool)
    }

    fn holds_for(&self, subject: &str) -> bool {
        self.pattern.as_deref().is_some_and(|pattern| {
            matches(pattern, subject) || pattern.strip_suffix(" *").is_some_and(|bare| matches(bare, subject))
        })
    }
}

/// A pattern that is too long for people to read.
const LONG_PATTERN: usize = 80;

/// What a call is about, as rules see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Subject {
    /// Nothing that a pattern could hold for.
    None,
    /// Every path that the call would touch, each under all of its names.
    Paths(Vec<Vec<String>>),
    /// Every command that the call would run.
    Commands(Vec<Command>),
    /// A command line whose commands cannot be told.
    Unreadable,
}

impl Subject {
    /// Whether `rule` forbids a call of the tool that it names: one part that it holds for is enough.
    pub(super) fn is_denied(&self, rule: &Rule) -> bool {
        rule.pattern.is_none()
            || match self {
                Self::None | Self::Unreadable => false,
                Self::Paths(paths) => paths.iter().flatten().any(|name| rule.holds_for(name)),
                Self::Commands(parts) => {
                    parts.iter().flat_map(Command::disguises).any(|part| rule.holds_for(&part))
                }
            }
    }

    /// Whether `rules` allow a call of `tool`: every part needs one that holds for it.
    pub(super) fn is_allowed(&self, tool: &str, rules: &[Rule]) -> bool {
        let mut rules = rules.iter().filter(|rule| rule.names(tool));
        let holds = |part: &str| rules.clone().any(|rule| rule.holds_for(part));
        let by_pattern = match self {
            Self::None | Self::Unreadable => false,
            Self::Paths(paths) => paths.iter().all(|names| names.iter().any(|name| holds(name))),
            Self::Commands(parts) => !parts.is_empty() && parts.iter().all(|part| holds(part.as_written())),
        };
        by_pattern || rules.any(|rule| rule.pattern.is_none())
    }
}

impl Subject {
    /// Rules that would allow just this.
    pub(super) fn rules(&self, tool: &str) -> Vec<String> {
        let parts: Vec<&str> = match self {
            Self::None | Self::Unreadable => vec![],
            Self::Paths(paths) => {
                paths.iter().filter_map(|names| names.first()).map(String::as_str).collect()
            }
            Self::Commands(parts) => parts.iter().map(Command::as_written).collect(),
        };
        let too_long = |part: &&str| part.contains('\n') || part.len() > LONG_PATTERN;
        if parts.is_empty() || parts.iter().any(too_long) {
            return vec![tool.to_owned()];
        }
        parts.iter().map(|part| format!("{tool}({part})")).collect()
    }
}

/// Whether `text` is `pattern`, where a `*` stands for any text.
fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|head| text.strip_prefix(head)) else {
        return false;
    };
    let Some(tail) = parts.next_back() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(tail)
}

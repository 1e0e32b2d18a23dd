use std::{fmt, str::FromStr};

use super::pattern::Pattern;
use crate::agent::Error;

/// A permission rule: a tool's name, or a name and a pattern for what the call is about, as in
/// `shell_command(git *)` and `write_file(src/*)`. A `*` stands for any text, in the name too; a pattern
/// that ends in ` *` also holds for the bare command before it, one that ends in `/*` for the folder.
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
    /// The tool that it names; a `*` in it stands for any text.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// What the call must be about; anything, where it says nothing.
    pub fn pattern(&self) -> Option<&str> {
        self.pattern.as_deref()
    }

    pub(super) fn names(&self, tool: &str) -> bool {
        Pattern::new(&self.tool).holds_for(tool)
    }
}

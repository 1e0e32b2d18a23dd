//! Which mods of a package a source entry loads: the patterns of `{"source": …, "mods": [patterns]}`.
//!
//! Four kinds, told apart by their first character; their order does not matter. From strongest to weakest:
//!
//! | pattern | meaning |
//! |---|---|
//! | `-path` | leaves this very mod out, whatever else says |
//! | `+path` | lets this very mod in, whatever the globs say |
//! | `!glob` | leaves out what matches |
//! | `glob`  | once there is one, only what matches one is in |
//!
//! A pattern is held against a mod's path in its package (`mods/review`, the mod's directory) and against its name. So
//! `"*"` matches every mod, by its name, and `"!*"` none. A filter narrows what a package declares and never widens it.
//! Exact paths take `/` and `\` alike; globs are as in [`Glob`]. A leading `./` is dropped. A second marker is part of
//! the pattern: `!!x` leaves out what is called `!x`.

mod braces;
mod glob;
mod segment;

pub use glob::Glob;

/// The patterns of one source entry.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    without: Vec<String>,
    with: Vec<String>,
    excludes: Vec<Glob>,
    includes: Vec<Glob>,
    warnings: Vec<String>,
}

impl Filter {
    /// Reads patterns. None is wrong: one that cannot match matches nothing, and is named in [`Filter::warnings`].
    pub fn new<S: AsRef<str>>(patterns: impl IntoIterator<Item = S>) -> Self {
        let mut filter = Self::default();
        for pattern in patterns {
            filter.add(pattern.as_ref());
        }
        filter
    }

    /// Whether the mod at this path of the package, with this name, is loaded.
    pub fn includes(&self, path: &str, name: &str) -> bool {
        let exact = |paths: &[String]| paths.iter().any(|exact| exact == path || exact == name);
        let matches = |globs: &[Glob]| globs.iter().any(|glob| glob.matches(path) || glob.matches(name));
        if exact(&self.without) {
            return false;
        }
        if exact(&self.with) {
            return true;
        }
        !matches(&self.excludes) && (self.includes.is_empty() || matches(&self.includes))
    }

    /// Patterns that most likely do not mean what was meant, one line each.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    fn add(&mut self, pattern: &str) {
        let rest = pattern.get(1..).unwrap_or_default();
        match pattern.chars().next() {
            Some('-') => self.without.push(exact_path(rest)),
            Some('+') => self.with.push(exact_path(rest)),
            Some('!') => {
                let glob = self.glob(rest, pattern);
                self.excludes.push(glob);
            }
            _ => {
                let glob = self.glob(pattern, pattern);
                self.includes.push(glob);
            }
        }
    }

    fn glob(&mut self, text: &str, pattern: &str) -> Glob {
        let glob = Glob::new(text);
        self.warnings.extend(glob.warning().map(|reason| format!("the filter pattern {reason}: {pattern}")));
        glob
    }
}

fn exact_path(text: &str) -> String {
    let path = text.replace('\\', "/");
    path.strip_prefix("./").map(str::to_owned).unwrap_or(path)
}

#[cfg(test)]
mod tests;

//! Where a package comes from, as `mods add` and the `mods.sources` setting name it.
//!
//! | text | what it is | identity |
//! |---|---|---|
//! | `npm:@team/review-mod@^1.2`, `review-mod`, `@team/review-mod` | npm; version, range or tag | `npm:@team/review-mod` |
//! | `owner/repo@v1` | GitHub; tag, branch or commit | `git:github.com/owner/repo` |
//! | `git:host/path@v1`, `https://host/path.git@v1`, `ssh://git@host/path`, `git@host:path` | git | `git:host/path` |
//! | `./tools/local-mod`, `/abs`, `~/mods/x` | a folder, used where it is | `path:<folder>` |
//! | `./x.tgz` | an archive that `mods pack` made | known once it is installed |
//! | `file:review-mod` | such an archive, installed | `file:review-mod` |
//!
//! An identity has no version or ref: with another one it is still the same package. The host is in lower case, and so
//! is a path on github.com, which knows no difference; a trailing `.git` is dropped.

mod git;
mod npm;

use crate::{Error, portable::check_package_name};
use std::{
    fmt,
    path::{Component, Path, PathBuf},
};

pub use git::GitSource;
pub use npm::NpmSource;

/// A source, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A package of an npm registry.
    Npm(NpmSource),
    /// A git repository.
    Git(GitSource),
    /// A folder, used where it is.
    Path(PathBuf),
    /// An archive that is still to be installed.
    Archive(PathBuf),
    /// An archive that is installed, by its package's name.
    File(String),
}

impl Source {
    /// Reads a source. Relative paths stay relative, see [`Source::identity`].
    ///
    /// # Errors
    /// `E_SOURCE`, with what is secret in the text left out.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let refuse = |reason| Err(Error::Source { reason, text: redacted(text) });
        if text.is_empty() || text.len() > 2048 || text.chars().any(char::is_control) {
            return refuse("it is empty, too long or has control characters");
        }
        let parsed = if is_path(text) {
            return Ok(path(text));
        } else if let Some(rest) = text.strip_prefix("npm:") {
            NpmSource::parse(rest).map(Self::Npm)
        } else if let Some(name) = text.strip_prefix("file:") {
            check_package_name(name)
                .map(|()| Self::File(name.to_owned()))
                .map_err(|_| "file: takes the name of an installed archive")
        } else if text.starts_with('@') || !text.contains(['/', ':']) {
            NpmSource::parse(text).map(Self::Npm)
        } else {
            GitSource::parse(text).map(Self::Git)
        };
        parsed.or_else(refuse)
    }

    /// What makes two sources the same package, whatever their version or ref. `base` is the folder that relative paths
    /// start from, `home` the user's. An archive has none before it is installed.
    pub fn identity(&self, base: &Path, home: Option<&Path>) -> Option<String> {
        match self {
            Self::Npm(npm) => Some(format!("npm:{}", npm.name)),
            Self::Git(git) => Some(git.identity()),
            Self::Path(path) => Some(format!("path:{}", absolute(path, base, home).display())),
            Self::File(name) => Some(format!("file:{name}")),
            Self::Archive(_) => None,
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Npm(npm) => write!(f, "npm:{npm}"),
            Self::Git(git) => git.fmt(f),
            Self::Path(path) | Self::Archive(path) => path.display().fmt(f),
            Self::File(name) => write!(f, "file:{name}"),
        }
    }
}

/// A path is told by how it starts, so that `tools/x` is a repository on every system.
fn is_path(text: &str) -> bool {
    let drive = text.as_bytes().get(1) == Some(&b':') && text.as_bytes()[0].is_ascii_alphabetic();
    matches!(text, "." | ".." | "~")
        || ["./", "../", "/", "~/", ".\\", "..\\", "\\\\"].iter().any(|start| text.starts_with(start))
        || (drive && matches!(text.as_bytes().get(2), Some(b'/' | b'\\')))
}

fn path(text: &str) -> Source {
    let path = PathBuf::from(text);
    if text.ends_with(".tgz") || text.ends_with(".tar.gz") {
        Source::Archive(path)
    } else {
        Source::Path(path)
    }
}

/// The path from the root, with `.` and `..` worked out by name, so that a folder that is gone has an identity too.
pub(crate) fn absolute(path: &Path, base: &Path, home: Option<&Path>) -> PathBuf {
    let whole = match (path.strip_prefix("~"), home) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => base.join(path),
    };
    let mut clean = PathBuf::new();
    for component in whole.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                clean.pop();
            }
            other => clean.push(other),
        }
    }
    clean
}

/// The text without user names and passwords of URLs.
pub(crate) fn redacted(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else {
        return text.to_owned();
    };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let path = path.split(['?', '#']).next().unwrap_or_default();
    match authority.rsplit_once('@') {
        Some((_, host)) => format!("{scheme}://…@{host}{path}"),
        None => format!("{scheme}://{authority}{path}"),
    }
}

#[cfg(test)]
mod tests;

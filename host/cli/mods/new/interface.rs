//! Where a new mod finds `mod-interface`.

use std::path::{Path, PathBuf};

use serde::Serialize;
use toml::Value;

use crate::{cli::output::Usage, files};

/// A dependency on `mod-interface`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "from", content = "at", rename_all = "lowercase")]
pub(super) enum Interface {
    /// A folder: `mod-interface` of a checkout.
    Path(PathBuf),
    /// A repository.
    Git(String),
    /// A registry that has this version.
    Version(String),
}

impl Interface {
    /// Reads what was typed in `cwd`: a version, a URL, or the folder of a checkout or of `mod-interface` in it.
    pub(super) fn typed(typed: &str, cwd: &Path) -> Result<Self, Usage> {
        if semver(typed) {
            return Ok(Self::Version(typed.to_owned()));
        }
        if typed.contains("://") || typed.starts_with("git@") {
            return Ok(Self::Git(typed.to_owned()));
        }
        let folder = cwd.join(typed);
        let found = [folder.join("mod-interface"), folder].into_iter().find(|folder| is_interface(folder));
        let path = found.and_then(|path| path.canonicalize().ok()).ok_or_else(|| {
            Usage(format!(
                "there is no mod-interface here, expected a checkout of cmd, a git URL or a version such as 1.0: {typed}"
            ))
        })?;
        Ok(Self::Path(path))
    }

    /// The one of the first checkout that one of these paths stands in. No other is guessed: a dependency is code.
    pub(super) fn found<'a>(paths: impl IntoIterator<Item = &'a Path>) -> Result<Self, Usage> {
        let folders = paths.into_iter().flat_map(Path::ancestors).map(|folder| folder.join("mod-interface"));
        let found = folders.into_iter().find(|folder| is_interface(folder));
        let found = found.and_then(|path| path.canonicalize().ok()).map(Self::Path);
        found.ok_or_else(|| {
            Usage("no checkout of cmd is found from here, so say where mod-interface comes from with --interface: a checkout, a git URL, or a version".to_owned())
        })
    }

    /// What stands in `Cargo.toml`, without the last brace. `version` is the interface of this program.
    pub(super) fn dependency(&self, version: &str) -> String {
        let text = |text: &str| Value::from(text).to_string();
        match self {
            Self::Path(path) => format!(" path = {}", text(&path.display().to_string())),
            // A later interface would be refused by this program.
            Self::Git(url) => format!(" git = {}, version = \"~{version}\"", text(url)),
            Self::Version(version) => format!(" version = {}", text(version)),
        }
    }

    /// The same for people.
    pub(super) fn origin(&self) -> String {
        match self {
            Self::Path(path) => format!(
                "It is built with mod-interface of this checkout: {}\nWho has none takes another form.",
                path.display()
            ),
            Self::Git(url) => format!(
                "It is built with mod-interface of this repository: {url}\nWho cannot reach it names a checkout instead, as with --interface PATH."
            ),
            Self::Version(version) => format!("It is built with mod-interface {version} of a registry."),
        }
    }
}

/// Whether it is what Cargo takes for a version.
fn semver(typed: &str) -> bool {
    typed.trim_start_matches(['~', '^', '=']).starts_with(|c: char| c.is_ascii_digit())
        && !typed.contains(['/', '\\'])
}

fn is_interface(folder: &Path) -> bool {
    let manifest = files::read_text(&folder.join("Cargo.toml")).unwrap_or_default();
    let manifest: toml::Table = manifest.parse().unwrap_or_default();
    manifest.get("package").and_then(|package| package.get("name")).and_then(Value::as_str)
        == Some("mod-interface")
}

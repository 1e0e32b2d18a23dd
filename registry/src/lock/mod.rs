//! `mods.lock`: which packages are installed in a scope, exactly, with the hash of every library for every target.
//!
//! The lock is what a start trusts; it is made to be committed. It holds no time, no machine's name and no absolute
//! path, and the same packages give the same bytes: packages sorted by id, artefacts by path and target.
//!
//! ```toml
//! version = 1
//!
//! [[package]]
//! id = "npm:@team/review-mod"        # without version: npm:<name>, git:<host>/<path>, file:<name>
//! source = "npm:@team/review-mod@^1.2"                  # the settings entry, or the archive's file name
//! resolved = "1.2.0"
//! registry = "https://registry.example/"                # npm
//! integrity = "sha512-…"                                # of the archive: npm sha512, file sha256
//! ref = "v1"                                            # git, with ref_kind and commit
//! ref_kind = "tag"                                      # tag, branch, commit or head
//! commit = "<40 hex>"
//! tree = "sha256:<hex>"              # of the unpacked package: one line `<sha256>  <size>  <path>` a file, sorted
//! signer = "RWQ…"                    # the key it was signed with
//! highest = "1.2.0"                  # the highest version seen from that key
//!
//! [[package.artifact]]               # every target, as in the mod's mod.toml
//! mod = "review-guard"
//! path = "mods/review"               # the mod's directory in the package, "." for its root
//! interface = "1.0"
//! target = "x86_64-unknown-linux-gnu"
//! file = "bin/x86_64-unknown-linux-gnu/libreview_guard.so"
//! sha256 = "…"
//! size = 321160
//! glibc = "2.28"
//! ```

use crate::{
    Error, disk,
    hash::is_sha256,
    manifest::{self, Artifact},
    package::ROOT,
    portable::{check_mod_name, check_path},
    store,
    version::{self, MajorMinor},
};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The name of the file in a scope's folder.
pub const FILE_NAME: &str = "mods.lock";
const VERSION: i64 = 1;
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// A lock file; its packages and their artefacts are sorted at all times.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Lock {
    packages: Vec<Package>,
}

/// A package as it was resolved and installed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Package {
    /// Identity, without version or ref.
    pub id: String,
    /// What it was resolved from.
    pub source: String,
    /// The version that was installed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved: Option<String>,
    /// The npm registry it came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registry: Option<String>,
    /// Hash of the archive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub integrity: Option<String>,
    /// The git ref that was asked for.
    #[serde(rename = "ref", default, skip_serializing_if = "Option::is_none")]
    pub git_ref: Option<String>,
    /// What kind of ref it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ref_kind: Option<RefKind>,
    /// The git commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Digest of the unpacked package.
    pub tree: String,
    /// The key it was signed with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signer: Option<String>,
    /// The highest version seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub highest: Option<String>,
    /// The libraries, for all mods and targets.
    #[serde(rename = "artifact", default)]
    pub artifacts: Vec<LockedArtifact>,
}

/// What a git ref was when it was resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RefKind {
    /// A tag: it is not expected to move.
    Tag,
    /// A branch.
    Branch,
    /// A commit.
    Commit,
    /// No ref was given: the default branch.
    Head,
}

/// A library of a locked package.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockedArtifact {
    /// The mod's name.
    #[serde(rename = "mod")]
    pub mod_name: String,
    /// The mod's directory in the package.
    pub path: String,
    /// The interface version it was built for.
    #[serde(with = "version::text")]
    pub interface: MajorMinor,
    /// The rest, as in `mod.toml`.
    #[serde(flatten)]
    pub artifact: Artifact,
}

#[derive(Serialize, Deserialize)]
struct Raw {
    version: i64,
    #[serde(rename = "package", default)]
    packages: Vec<Package>,
}

impl Lock {
    /// Where the lock of a scope is.
    pub fn path(scope_root: &Path) -> PathBuf {
        scope_root.join(FILE_NAME)
    }

    /// Reads the lock of a scope; one that is not there is empty.
    ///
    /// # Errors
    /// `E_IO`, `E_LOCK` when it is broken, `E_LOCK_VERSION` when it needs a newer cmd.
    pub fn read(scope_root: &Path) -> Result<Self, Error> {
        let path = Self::path(scope_root);
        let Some(bytes) = disk::read_optional(&path, MAX_BYTES)? else {
            return Ok(Self::default());
        };
        let text = String::from_utf8(bytes).map_err(|_| broken(&path, "it is not UTF-8 text".to_owned()))?;
        Self::parse(&text, &path)
    }

    /// Reads the text of a lock; `path` is for messages alone.
    ///
    /// # Errors
    /// `E_LOCK` when it is broken, `E_LOCK_VERSION` when it needs a newer cmd.
    pub fn parse(text: &str, path: &Path) -> Result<Self, Error> {
        let table: toml::Table = text.parse().map_err(|error| broken(path, manifest::one_line(&error)))?;
        match table.get("version").and_then(toml::Value::as_integer) {
            Some(VERSION) => {}
            Some(found) => {
                return Err(Error::LockVersion { path: path.to_owned(), expected: VERSION, found });
            }
            None => {
                return Err(broken(path, format!("expected version = {VERSION}, got none")));
            }
        }
        let raw: Raw = table.try_into().map_err(|error| broken(path, manifest::one_line(&error)))?;
        let mut lock = Self { packages: raw.packages };
        lock.sort();
        if let Some(pair) = lock.packages.windows(2).find(|pair| pair[0].id == pair[1].id) {
            return Err(broken(
                path,
                format!("expected one entry for a package, got two for: {}", pair[0].id),
            ));
        }
        Ok(lock)
    }

    /// The text of the lock: the same bytes for the same packages.
    ///
    /// # Errors
    /// `E_LOCK` for values that TOML cannot hold.
    pub fn to_toml(&self) -> Result<String, Error> {
        let raw = Raw { version: VERSION, packages: self.packages.clone() };
        toml::to_string(&raw).map_err(|error| broken(Path::new(FILE_NAME), error.to_string()))
    }

    /// Replaces the lock of a scope, the old file or the new one being there at any time.
    ///
    /// # Errors
    /// `E_IO`.
    pub fn write(&self, scope_root: &Path) -> Result<(), Error> {
        disk::write_atomic(&Self::path(scope_root), self.to_toml()?.as_bytes(), 0o644)
    }

    /// The packages, sorted by id.
    pub fn packages(&self) -> &[Package] {
        &self.packages
    }

    /// The package of this identity.
    pub fn get(&self, id: &str) -> Option<&Package> {
        self.packages.iter().find(|package| package.id == id)
    }

    /// Adds a package, in the place of the one with its identity, which is given back.
    pub fn insert(&mut self, package: Package) -> Option<Package> {
        let previous = self.remove(&package.id);
        self.packages.push(package);
        self.sort();
        previous
    }

    /// Takes a package out.
    pub fn remove(&mut self, id: &str) -> Option<Package> {
        let index = self.packages.iter().position(|package| package.id == id)?;
        Some(self.packages.remove(index))
    }

    fn sort(&mut self) {
        self.packages.sort_by(|a, b| a.id.cmp(&b.id));
        for package in &mut self.packages {
            package.artifacts.sort_by(|a, b| {
                (&a.path, &a.mod_name, &a.artifact.target).cmp(&(&b.path, &b.mod_name, &b.artifact.target))
            });
        }
    }
}

impl Package {
    /// A package of which nothing is known yet but its id and where it comes from.
    pub(crate) fn new(id: String, source: String) -> Self {
        Self {
            id,
            source,
            resolved: None,
            registry: None,
            integrity: None,
            git_ref: None,
            ref_kind: None,
            commit: None,
            tree: String::new(),
            signer: None,
            highest: None,
            artifacts: Vec::new(),
        }
    }

    /// Checks what an edited lock could have made wrong: nothing of it may lead out of the store.
    ///
    /// # Errors
    /// `E_LOCK`, with the lock's path in it.
    pub fn check(&self, lock_path: &Path) -> Result<(), Error> {
        self.problem().map_or(Ok(()), |reason| {
            Err(broken(lock_path, format!("{reason}, in the entry of: {}", self.id)))
        })
    }

    fn problem(&self) -> Option<String> {
        if let Err(error) = store::pointer_path(&self.id) {
            return Some(error.to_string());
        }
        if !self.tree.strip_prefix("sha256:").is_some_and(is_sha256) {
            return Some(format!("expected tree = \"sha256:<64 hex digits>\", got {:?}", self.tree));
        }
        self.artifacts.iter().find_map(|row| {
            let path = if row.path == ROOT { Ok(()) } else { check_path(&row.path) };
            check_mod_name(&row.mod_name)
                .and(path)
                .map_err(|error| error.to_string())
                .and_then(|()| row.artifact.check())
                .err()
        })
    }
}

fn broken(path: &Path, reason: String) -> Error {
    Error::Lock { path: path.to_owned(), reason }
}

#[cfg(test)]
mod tests;

//! `mod.toml`: what a mod directory says about its mod.
//!
//! ```toml
//! schema = 1
//! name = "review-guard"              # ^[a-z0-9][a-z0-9-]{0,63}$
//! version = "1.2.0"                  # semver
//! interface = "1.0"                  # the interface version it was built for
//! description = "…"                  # optional, like license and signer (a minisign public key)
//!
//! [[artifact]]                       # one for each target, 32 at most
//! target = "x86_64-unknown-linux-gnu"
//! file = "bin/x86_64-unknown-linux-gnu/libreview_guard.so"   # relative to the mod directory, inside it
//! sha256 = "<64 lower-case hex digits>"
//! size = 321160
//! glibc = "2.28"                     # optional: the oldest glibc that it runs on
//! ```
//!
//! The file has at most 256 KiB. Keys that this version does not know are ignored with a warning.

use crate::{
    Error, disk,
    hash::is_sha256,
    object::{HostFacts, Refusal, check_glibc, check_interface},
    portable::{check_mod_name, check_path},
    version::{self, MajorMinor},
};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeSet, path::Path};

/// The name of the file in a mod directory.
pub const FILE_NAME: &str = "mod.toml";
/// The most bytes that a manifest may have.
pub const MAX_BYTES: u64 = 256 * 1024;
/// The most artefacts that a manifest may list.
pub const MAX_ARTIFACTS: usize = 32;
const SCHEMA: i64 = 1;

/// A manifest that was read and checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// The mod's name.
    pub name: String,
    /// The mod's own version.
    pub version: semver::Version,
    /// The interface version it was built for.
    pub interface: MajorMinor,
    /// One line about the mod.
    pub description: Option<String>,
    /// Its licence.
    pub license: Option<String>,
    /// A minisign public key.
    pub signer: Option<String>,
    /// The libraries, one for each target.
    pub artifacts: Vec<Artifact>,
}

/// A library of a mod, for one target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artifact {
    /// The Rust target triple.
    pub target: String,
    /// Path of the library, relative to the mod directory.
    pub file: String,
    /// Hash of the library, in lower-case hex.
    pub sha256: String,
    /// Size of the library in bytes.
    pub size: u64,
    /// The oldest glibc that it runs on.
    #[serde(with = "version::optional_text", default, skip_serializing_if = "Option::is_none")]
    pub glibc: Option<MajorMinor>,
}

/// A manifest and what was odd about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parsed {
    /// The manifest.
    pub manifest: Manifest,
    /// One line each, without the file's path.
    pub warnings: Vec<String>,
}

/// The file's own shape; the two tables of unknown keys are there to warn about them.
#[derive(Serialize, Deserialize)]
struct Raw {
    schema: i64,
    name: String,
    version: semver::Version,
    #[serde(with = "version::text")]
    interface: MajorMinor,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    license: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    signer: Option<String>,
    #[serde(default)]
    artifact: Vec<RawArtifact>,
    #[serde(flatten, skip_serializing)]
    unknown: toml::Table,
}

#[derive(Serialize, Deserialize)]
struct RawArtifact {
    #[serde(flatten)]
    artifact: Artifact,
    #[serde(flatten, skip_serializing)]
    unknown: toml::Table,
}

impl Manifest {
    /// Reads the manifest of a mod directory.
    ///
    /// # Errors
    /// `E_IO` when it cannot be read, `E_MANIFEST` when it is missing or broken, `E_MOD_SCHEMA` when it needs a newer cmd.
    pub fn read(mod_dir: &Path) -> Result<Parsed, Error> {
        let path = mod_dir.join(FILE_NAME);
        let bytes = disk::read_optional(&path, MAX_BYTES)?;
        let bytes = bytes.ok_or_else(|| broken(&path, "there is no such file".to_owned()))?;
        let text = String::from_utf8(bytes).map_err(|_| broken(&path, "it is not UTF-8 text".to_owned()))?;
        Self::parse(&text, &path)
    }

    /// Reads the text of a manifest; `path` is for messages alone.
    ///
    /// # Errors
    /// `E_MANIFEST` when it is broken, `E_MOD_SCHEMA` when it needs a newer cmd.
    pub fn parse(text: &str, path: &Path) -> Result<Parsed, Error> {
        if text.len() as u64 > MAX_BYTES {
            return Err(broken(path, format!("expected at most {MAX_BYTES} bytes, got: {}", text.len())));
        }
        let table: toml::Table = text.parse().map_err(|error| broken(path, one_line(&error)))?;
        match table.get("schema").and_then(toml::Value::as_integer) {
            Some(SCHEMA) => {}
            Some(found) => {
                return Err(Error::ManifestSchema { path: path.to_owned(), expected: SCHEMA, found });
            }
            None => {
                return Err(broken(path, format!("expected schema = {SCHEMA}, got none")));
            }
        }
        let raw: Raw = table.try_into().map_err(|error| broken(path, one_line(&error)))?;
        let warnings = unknown_keys(&raw);
        let manifest = Self {
            name: raw.name,
            version: raw.version,
            interface: raw.interface,
            description: raw.description,
            license: raw.license,
            signer: raw.signer,
            artifacts: raw.artifact.into_iter().map(|raw| raw.artifact).collect(),
        };
        manifest.check().map_err(|reason| broken(path, reason))?;
        Ok(Parsed { manifest, warnings })
    }

    /// The text of the manifest: the same bytes for the same manifest.
    ///
    /// # Errors
    /// `E_MANIFEST` for a manifest that could not be read back.
    pub fn to_toml(&self) -> Result<String, Error> {
        let fail = |reason| broken(Path::new(FILE_NAME), reason);
        self.check().map_err(fail)?;
        let mut artifacts = self.artifacts.clone();
        artifacts.sort_by(|a, b| a.target.cmp(&b.target));
        let raw = Raw {
            schema: SCHEMA,
            name: self.name.clone(),
            version: self.version.clone(),
            interface: self.interface,
            description: self.description.clone(),
            license: self.license.clone(),
            signer: self.signer.clone(),
            artifact: artifacts
                .into_iter()
                .map(|artifact| RawArtifact { artifact, unknown: toml::Table::new() })
                .collect(),
            unknown: toml::Table::new(),
        };
        toml::to_string(&raw).map_err(|error| fail(error.to_string()))
    }

    /// The artefact for this host: its target, an interface that the host has, and a glibc that is old enough.
    ///
    /// # Errors
    /// `E_NO_ARTIFACT`, `E_INTERFACE_MAJOR`, `E_INTERFACE_MINOR`, `E_GLIBC`.
    pub fn choose(&self, host: &HostFacts) -> Result<&Artifact, Error> {
        let Some(artifact) = self.artifacts.iter().find(|artifact| artifact.target == host.target) else {
            return Err(Error::NoArtifact {
                name: self.name.clone(),
                target: host.target.clone(),
                available: self.targets(),
            });
        };
        let refused = |refusal: Refusal| Error::Refused { file: artifact.file.clone().into(), refusal };
        check_interface(self.interface, host.interface).map_err(refused)?;
        check_glibc(artifact.glibc, host.glibc).map_err(refused)?;
        Ok(artifact)
    }

    fn targets(&self) -> String {
        let targets: Vec<&str> = self.artifacts.iter().map(|artifact| artifact.target.as_str()).collect();
        if targets.is_empty() { "none".to_owned() } else { targets.join(", ") }
    }

    /// What the types do not say; a failure is a clause.
    fn check(&self) -> Result<(), String> {
        check_mod_name(&self.name).map_err(|error| error.to_string())?;
        if self.artifacts.len() > MAX_ARTIFACTS {
            return Err(format!("expected at most {MAX_ARTIFACTS} artifacts, got: {}", self.artifacts.len()));
        }
        let mut targets = BTreeSet::new();
        for artifact in &self.artifacts {
            artifact.check()?;
            if !targets.insert(&artifact.target) {
                return Err(format!("expected one artifact for a target, got two for: {}", artifact.target));
            }
        }
        Ok(())
    }
}

impl Artifact {
    pub(crate) fn check(&self) -> Result<(), String> {
        let target_shape = self.target.contains('-')
            && self.target.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'));
        if !target_shape {
            return Err(format!("expected a Rust target triple, got: {:?}", self.target));
        }
        check_path(&self.file).map_err(|error| error.to_string())?;
        if !is_sha256(&self.sha256) {
            return Err(format!("expected a sha256 of 64 lower-case hex digits, got: {:?}", self.sha256));
        }
        Ok(())
    }
}

fn unknown_keys(raw: &Raw) -> Vec<String> {
    let top = raw.unknown.keys().map(String::clone);
    let nested = raw.artifact.iter().flat_map(|row| row.unknown.keys().map(|key| format!("artifact.{key}")));
    let keys: BTreeSet<String> = top.chain(nested).collect();
    keys.into_iter()
        .map(|key| format!("{FILE_NAME} has a key that this cmd does not know, it is ignored: {key}"))
        .collect()
}

fn broken(path: &Path, reason: String) -> Error {
    Error::Manifest { path: path.to_owned(), reason }
}

/// The message of a TOML error, without the drawing of the place.
pub(crate) fn one_line(error: &toml::de::Error) -> String {
    error.message().replace('\n', " ")
}

#[cfg(test)]
mod tests;

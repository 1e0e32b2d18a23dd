//! Signatures of packages: `mods.sums` in a package's root names all its files, `mods.sums.minisig` signs it.
//!
//! ```text
//! # review-mod 1.2.0
//! <sha256>  <size>  bin/x86_64-unknown-linux-gnu/libreview_guard.so
//! <sha256>  <size>  mod.toml
//! ```
//! The first line holds the package's name and version, so that the sums of one are not another's. The signature is
//! minisign's. Which keys count is a setting, see [`Signing`]: those of the setting, or, in mode `tofu`, the `signer`
//! of the package's `mod.toml`, which from then on must stay the same.

use crate::{
    Error, disk,
    filter::Glob,
    hash::{FileHash, files_text},
    lock,
    package::Contents,
    settings::{Signing, SigningMode},
};
use minisign_verify::{PublicKey, Signature};
use std::{collections::BTreeMap, path::Path};

/// The file that names all others.
pub(crate) const SUMS: &str = "mods.sums";
/// The signature of that file.
pub(crate) const SIGNATURE: &str = "mods.sums.minisig";
const MAX_BYTES: u64 = 8 * 1024 * 1024;

/// How far the key of a package is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyTrust {
    /// It has none.
    Unsigned,
    /// It is the one that the package came with at first.
    FirstUse(String),
    /// The user named it in the settings.
    Configured(String),
}

/// A package whose signature is looked at.
pub(crate) struct Subject<'a> {
    pub(crate) id: &'a str,
    pub(crate) root: &'a Path,
    pub(crate) files: &'a BTreeMap<String, FileHash>,
    pub(crate) contents: &'a Contents,
    /// The key of the package that is installed.
    pub(crate) known: Option<&'a str>,
}

impl Signing {
    /// How far the key of an installed package is known.
    pub fn trust_in(&self, package: &lock::Package) -> KeyTrust {
        match package.signer.clone() {
            None => KeyTrust::Unsigned,
            Some(key) if self.keys_of(&package.id).contains(&key.as_str()) => KeyTrust::Configured(key),
            Some(key) => KeyTrust::FirstUse(key),
        }
    }

    /// The configured keys of a package.
    fn keys_of(&self, id: &str) -> Vec<&str> {
        let matching = self.keys.iter().filter(|(pattern, _)| Glob::new(pattern).matches(id));
        matching.flat_map(|(_, keys)| keys).map(String::as_str).collect()
    }
}

/// Judges a package by a policy, and gives the key that it is signed with.
///
/// # Errors
/// `E_UNSIGNED`, `E_SIGNATURE`, `E_SIGNER_CHANGED`.
pub(crate) fn check(
    subject: &Subject<'_>,
    policy: &Signing,
    accept_change: bool,
) -> Result<Option<String>, Error> {
    if policy.mode == SigningMode::Off {
        return Ok(subject.known.map(str::to_owned));
    }
    let configured = policy.keys_of(subject.id);
    let must = policy.mode == SigningMode::Require || !configured.is_empty();
    let unsigned = || Error::Unsigned { package: subject.id.to_owned() };
    let changed = |found: &str| Error::SignerChanged {
        package: subject.id.to_owned(),
        expected: subject.known.unwrap_or_default().to_owned(),
        found: found.to_owned(),
    };
    let is_signed = subject.files.contains_key(SUMS) && subject.files.contains_key(SIGNATURE);
    let declared = subject.contents.mods.iter().find_map(|found| found.manifest.signer.as_deref());
    if must {
        return if is_signed { verify_any(subject, &configured).map(Some) } else { Err(unsigned()) };
    }
    match (declared.filter(|_| is_signed), subject.known) {
        (Some(key), Some(known)) if key != known && !accept_change => Err(changed(key)),
        (None, Some(_)) if !accept_change => Err(changed("no signature")),
        (Some(key), _) => verify_any(subject, &[key]).map(Some),
        (None, _) => Ok(None),
    }
}

/// The first of these keys that signed the package.
fn verify_any(subject: &Subject<'_>, keys: &[&str]) -> Result<String, Error> {
    let bad = |reason: String| Error::BadSignature { package: subject.id.to_owned(), reason };
    let sums = disk::read_bounded(&subject.root.join(SUMS), MAX_BYTES)?;
    let text = disk::read_bounded(&subject.root.join(SIGNATURE), MAX_BYTES)?;
    if sums != expected_sums(subject).into_bytes() {
        return Err(bad(format!("{SUMS} does not name exactly the files, name and version of the package")));
    }
    verify_text(subject.id, &sums, &String::from_utf8_lossy(&text), keys)
}

/// The first of these keys that made this signature of the sums.
pub(crate) fn verify_text(id: &str, sums: &[u8], text: &str, keys: &[&str]) -> Result<String, Error> {
    let bad = |reason: String| Error::BadSignature { package: id.to_owned(), reason };
    let signature = Signature::decode(text).map_err(|error| bad(error.to_string()))?;
    let signed_by = |key: &&&str| {
        PublicKey::from_base64(key).is_ok_and(|key| key.verify(sums, &signature, false).is_ok())
    };
    match keys.iter().find(signed_by) {
        Some(key) => Ok((**key).to_owned()),
        None => Err(bad(format!("it is not by one of these keys: {}", keys.join(", ")))),
    }
}

/// What `mods.sums` must hold.
fn expected_sums(subject: &Subject<'_>) -> String {
    let name = subject.contents.name.as_deref().unwrap_or_default();
    let version = subject.contents.version.as_deref().unwrap_or_default();
    sums_text(name, version, subject.files)
}

/// The text of `mods.sums` for these files.
pub(crate) fn sums_text(name: &str, version: &str, files: &BTreeMap<String, FileHash>) -> String {
    let others = files.iter().filter(|(path, _)| *path != SUMS && *path != SIGNATURE);
    format!("# {name} {version}\n{}", files_text(others))
}

#[cfg(test)]
mod tests;

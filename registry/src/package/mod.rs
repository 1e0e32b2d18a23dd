//! What a folder ships: an unpacked package, or a folder of mods that a person made.
//!
//! The first of these that is there counts: `commandcode.mods` of its `package.json`; its own `mod.toml`; its `mods/`
//! folder; a library called `index` (`libindex.so`, `index.dll`).
//!
//! ```json
//! {"name": "@team/review-mod", "version": "1.2.0", "commandcode": {"mods": ["./mods/review", "extra/*"]}}
//! ```
//! An entry of `commandcode.mods` is a mod directory, a folder of them, a library file, or a [`crate::filter::Glob`] of
//! such. What leads out of the folder is left out with a warning, and so is what is not there. A library file is a mod
//! by itself, named like the file without `lib` and extension, with `-` for `_`; its metadata stands in for a manifest.

mod library;
mod walk;

use crate::{
    Error, disk,
    filter::Glob,
    manifest::{self, Manifest},
    portable::{check_package_name, check_path},
};
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// The path of a mod whose directory is the package's root.
pub const ROOT: &str = ".";
const PACKAGE_JSON: &str = "package.json";
const CONVENTION: &str = "mods";

/// A mod of a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageMod {
    /// The mod's directory in the package, [`ROOT`] for the package itself; or its library, when that is all there is.
    /// This is what source filters match.
    pub path: String,
    /// Its manifest, or what its library says in place of one.
    pub manifest: Manifest,
}

/// What a folder ships.
#[derive(Debug, Default)]
pub struct Contents {
    /// The package's name.
    pub name: Option<String>,
    /// The package's version.
    pub version: Option<String>,
    /// Its mods.
    pub mods: Vec<PackageMod>,
    /// Mods that are there but cannot be used, by path.
    pub problems: Vec<(String, Error)>,
    /// One line each.
    pub warnings: Vec<String>,
}

#[derive(Deserialize, Default)]
struct PackageJson {
    name: Option<String>,
    version: Option<String>,
    commandcode: Option<Declared>,
    #[serde(default)]
    dependencies: serde_json::Map<String, serde_json::Value>,
}

#[derive(Deserialize)]
struct Declared {
    mods: Option<Vec<String>>,
}

impl PackageMod {
    /// The folder that the files of its artefacts are in, below the package's root.
    pub fn folder(&self, root: &Path) -> PathBuf {
        folder(root, &self.path)
    }

    /// The path of one of its files in the package.
    pub(crate) fn in_package(&self, file: &str) -> String {
        match (self.path.as_str(), library::is_library(&self.path)) {
            (ROOT, _) => file.to_owned(),
            (path, true) => path.to_owned(),
            (path, false) => format!("{path}/{file}"),
        }
    }
}

/// The folder of a mod's files.
pub(crate) fn folder(root: &Path, path: &str) -> PathBuf {
    match path {
        ROOT => root.to_owned(),
        path if library::is_library(path) => root.join(path).parent().unwrap_or(root).to_owned(),
        path => root.join(path),
    }
}

/// Reads the mod at a path of a package.
pub(crate) fn read_mod(root: &Path, path: &str) -> Result<manifest::Parsed, Error> {
    if library::is_library(path) {
        let manifest = library::manifest(&root.join(path))?;
        return Ok(manifest::Parsed { manifest, warnings: Vec::new() });
    }
    Manifest::read(&folder(root, path))
}

/// Reads what a folder ships. One mod that cannot be used hides no other.
///
/// # Errors
/// `E_MANIFEST` for a `package.json` that is broken, `E_IO`, `E_NO_MODS` when there is neither a mod nor a problem.
pub fn contents(root: &Path) -> Result<Contents, Error> {
    let json = package_json(root)?;
    let mut contents = Contents { name: json.name, version: json.version, ..Contents::default() };
    if !json.dependencies.is_empty() {
        contents.warnings.push(format!(
            "{PACKAGE_JSON} has dependencies, they are not installed: a mod brings what it needs"
        ));
    }
    match json.commandcode.and_then(|declared| declared.mods) {
        Some(entries) => entries.iter().for_each(|entry| contents.add_declared(root, entry)),
        None if walk::is_mod_dir(root) => contents.add(root, ROOT),
        None => {
            contents.add_folder(root, CONVENTION);
            if contents.is_empty()
                && let Some(index) = walk::index(root)
            {
                contents.add(root, &index);
            }
        }
    }
    if contents.name.is_none()
        && let [only] = contents.mods.as_slice()
    {
        contents.name = Some(only.manifest.name.clone());
        contents.version = Some(only.manifest.version.to_string());
    }
    if contents.is_empty() {
        let package = contents.name.unwrap_or_else(|| root.display().to_string());
        return Err(Error::NoMods { package });
    }
    Ok(contents)
}

impl Contents {
    /// The package's name, checked.
    pub(crate) fn package_name(&self) -> Result<&str, Error> {
        let name = self.name.as_deref().unwrap_or_default();
        check_package_name(name)?;
        Ok(name)
    }

    /// For an installation, which takes a package whole or not at all.
    pub(crate) fn whole(mut self) -> Result<Self, Error> {
        if self.problems.is_empty() { Ok(self) } else { Err(self.problems.swap_remove(0).1) }
    }

    fn is_empty(&self) -> bool {
        self.mods.is_empty() && self.problems.is_empty()
    }

    fn add_declared(&mut self, root: &Path, entry: &str) {
        let path = entry.trim_start_matches("./").trim_end_matches('/');
        let path = path.strip_suffix("/mod.toml").unwrap_or(path);
        if path.is_empty() || path == ROOT || path == manifest::FILE_NAME {
            return self.add(root, ROOT);
        }
        if path.contains(['*', '?', '[', '{', '\\']) {
            return self.add_matching(root, path, entry);
        }
        if let Err(error) = check_path(path) {
            self.warnings
                .push(format!("{PACKAGE_JSON} names a mod outside the package, it is left out: {error}"));
        } else if walk::is_mod_dir(&root.join(path))
            || (library::is_library(path) && root.join(path).is_file())
        {
            self.add(root, path);
        } else if root.join(path).is_dir() {
            self.add_folder(root, path);
        } else {
            self.warnings
                .push(format!("{PACKAGE_JSON} names a mod that is not there, it is left out: {entry}"));
        }
    }

    fn add_matching(&mut self, root: &Path, pattern: &str, entry: &str) {
        let glob = Glob::new(pattern);
        self.warnings
            .extend(glob.warning().map(|reason| format!("a pattern of {PACKAGE_JSON} {reason}: {entry}")));
        let found: Vec<String> = walk::all(root).into_iter().filter(|path| glob.matches(path)).collect();
        if found.is_empty() {
            self.warnings.push(format!("{PACKAGE_JSON} has a pattern that no mod matches: {entry}"));
        }
        found.iter().for_each(|path| self.add(root, path));
    }

    /// The mods one level below a folder.
    fn add_folder(&mut self, root: &Path, folder: &str) {
        walk::children(root, folder).iter().for_each(|path| self.add(root, path));
    }

    fn add(&mut self, root: &Path, path: &str) {
        if self.mods.iter().any(|found| found.path == path)
            || self.problems.iter().any(|(found, _)| found == path)
        {
            return;
        }
        let parsed = match read_mod(root, path) {
            Ok(parsed) => parsed,
            Err(error) => return self.problems.push((path.to_owned(), error)),
        };
        self.warnings.extend(parsed.warnings.iter().map(|warning| format!("{path}: {warning}")));
        let manifest = parsed.manifest;
        if self.mods.iter().any(|found| displaces(&found.manifest, &manifest)) {
            let name = manifest.name;
            self.warnings
                .push(format!("{path}: the package has two mods of a name, the second is left out: {name}"));
            return;
        }
        self.mods.push(PackageMod { path: path.to_owned(), manifest });
    }
}

/// Two mods of a name are one too many, unless they are libraries for different targets.
fn displaces(first: &Manifest, second: &Manifest) -> bool {
    let shared =
        |artifact: &manifest::Artifact| second.artifacts.iter().any(|other| other.target == artifact.target);
    first.name == second.name && (first.artifacts.is_empty() || first.artifacts.iter().any(shared))
}

fn package_json(root: &Path) -> Result<PackageJson, Error> {
    let path = root.join(PACKAGE_JSON);
    let Some(bytes) = disk::read_optional(&path, manifest::MAX_BYTES)? else {
        return Ok(PackageJson::default());
    };
    serde_json::from_slice(&bytes).map_err(|error| Error::Manifest { path, reason: error.to_string() })
}

#[cfg(test)]
mod tests;

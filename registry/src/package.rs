//! What an unpacked package ships: its name, and its mods.

use crate::{
    Error, disk,
    manifest::{self, Manifest},
    portable::{check_package_name, check_path},
};
use serde::Deserialize;
use std::{fs, path::Path};

/// The path of a mod whose directory is the package's root.
pub const ROOT: &str = ".";
const PACKAGE_JSON: &str = "package.json";
const CONVENTION: &str = "mods";

/// A mod of a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PackageMod {
    /// The mod's directory in the package.
    pub(crate) path: String,
    pub(crate) manifest: Manifest,
}

/// What a package ships, and what was odd about it.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    pub(crate) name: Option<String>,
    pub(crate) version: Option<String>,
    pub(crate) mods: Vec<PackageMod>,
    pub(crate) warnings: Vec<String>,
}

#[derive(Deserialize, Default)]
struct PackageJson {
    name: Option<String>,
    version: Option<String>,
    commandcode: Option<Declared>,
}

#[derive(Deserialize)]
struct Declared {
    mods: Option<Vec<String>>,
}

/// Reads a package: `commandcode.mods` of its `package.json`, else its `mod.toml`, else the folders in `mods/`.
///
/// # Errors
/// `E_MANIFEST` and its like for a manifest that is broken, `E_NO_MODS` when there is none.
pub(crate) fn read(root: &Path) -> Result<Contents, Error> {
    let json = package_json(root)?;
    let mut contents = Contents { name: json.name, version: json.version, ..Contents::default() };
    let declared = json.commandcode.and_then(|declared| declared.mods);
    if let Some(entries) = declared {
        for entry in entries {
            contents.add_declared(root, &entry)?;
        }
    } else if is_mod(root) {
        contents.add_mod(root, ROOT)?;
    } else {
        contents.add_children(root, CONVENTION)?;
    }
    if contents.name.is_none()
        && let [only] = contents.mods.as_slice()
    {
        contents.name = Some(only.manifest.name.clone());
        contents.version = Some(only.manifest.version.to_string());
    }
    if contents.mods.is_empty() {
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

    fn add_declared(&mut self, root: &Path, entry: &str) -> Result<(), Error> {
        let path = entry.trim_start_matches("./").trim_end_matches('/');
        let path = path.strip_suffix("/mod.toml").unwrap_or(path);
        if path.is_empty() || path == ROOT || path == manifest::FILE_NAME {
            return self.add_mod(root, ROOT);
        }
        if let Err(error) = check_path(path) {
            self.warnings
                .push(format!("{PACKAGE_JSON} names a mod outside the package, it is left out: {error}"));
            return Ok(());
        }
        if is_mod(&root.join(path)) {
            self.add_mod(root, path)
        } else if root.join(path).is_dir() {
            self.add_children(root, path)
        } else {
            self.warnings
                .push(format!("{PACKAGE_JSON} names a mod that is not there, it is left out: {entry}"));
            Ok(())
        }
    }

    /// The mods one level below a folder.
    fn add_children(&mut self, root: &Path, folder: &str) -> Result<(), Error> {
        let Ok(entries) = fs::read_dir(root.join(folder)) else {
            return Ok(());
        };
        let mut names: Vec<String> = entries
            .flatten()
            .filter(|entry| is_mod(&entry.path()))
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|name| !name.starts_with('.') && name != "node_modules")
            .collect();
        names.sort();
        names.iter().try_for_each(|name| self.add_mod(root, &format!("{folder}/{name}")))
    }

    fn add_mod(&mut self, root: &Path, path: &str) -> Result<(), Error> {
        if self.mods.iter().any(|found| found.path == path) {
            return Ok(());
        }
        let parsed = Manifest::read(&root.join(path))?;
        self.warnings.extend(parsed.warnings.into_iter().map(|warning| format!("{path}: {warning}")));
        let name = &parsed.manifest.name;
        if self.mods.iter().any(|found| found.manifest.name == *name) {
            self.warnings
                .push(format!("{path}: the package has two mods of a name, the second is left out: {name}"));
            return Ok(());
        }
        self.mods.push(PackageMod { path: path.to_owned(), manifest: parsed.manifest });
        Ok(())
    }
}

fn is_mod(folder: &Path) -> bool {
    folder.join(manifest::FILE_NAME).is_file()
}

fn package_json(root: &Path) -> Result<PackageJson, Error> {
    let path = root.join(PACKAGE_JSON);
    let Some(bytes) = disk::read_optional(&path, manifest::MAX_BYTES)? else {
        return Ok(PackageJson::default());
    };
    serde_json::from_slice(&bytes).map_err(|error| Error::Manifest { path, reason: error.to_string() })
}

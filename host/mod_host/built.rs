//! The library of a cargo package that was built: what `--mod` takes while a mod is being written.

use std::{
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

use serde::Deserialize;

use super::LoadError;

#[derive(Deserialize)]
struct Manifest {
    package: Named,
    lib: Option<LibName>,
}

#[derive(Deserialize)]
struct Named {
    name: String,
}

#[derive(Deserialize)]
struct LibName {
    name: Option<String>,
}

/// The newest library that was built of the package in `dir`.
pub(crate) fn library(dir: &Path) -> Result<PathBuf, LoadError> {
    let refused = |hint: String| LoadError::NotAMod { path: dir.to_owned(), hint };
    let manifest = dir.join("Cargo.toml");
    let text =
        fs::read_to_string(&manifest).map_err(|_| refused("there is no Cargo.toml either".to_owned()))?;
    let manifest: Manifest =
        toml::from_str(&text).map_err(|error| refused(format!("its Cargo.toml: {}", error.message())))?;
    let name = manifest.lib.and_then(|lib| lib.name).unwrap_or(manifest.package.name).replace('-', "_");
    let file = format!("{}{name}{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let dir = dir.canonicalize().map_err(|error| LoadError::Unreadable { path: dir.to_owned(), error })?;
    // A package of a workspace is built into the folder of the workspace's root.
    let targets = dir.ancestors().map(|ancestor| ancestor.join("target"));
    let built =
        targets.flat_map(|target| ["release", "debug"].map(|profile| target.join(profile).join(&file)));
    let newest = built.filter_map(|path| Some((modified(&path)?, path))).max();
    newest.map(|(_, path)| path).ok_or_else(|| refused(format!("no {file} below target; run `cargo build`")))
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).ok()?.modified().ok()
}

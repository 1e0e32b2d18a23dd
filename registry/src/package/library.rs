use crate::{
    Error, disk,
    hash::hash_bytes,
    manifest::{Artifact, Manifest},
    object::{self, Refusal},
};
use std::path::Path;

const MAX_LIBRARY: u64 = 256 * 1024 * 1024;

/// Whether a path names a shared library of any system.
pub(super) fn is_library(path: &str) -> bool {
    mod_name(path).is_some()
}

/// `mods/libreview_guard.so` is the mod `review-guard`.
pub(super) fn mod_name(path: &str) -> Option<String> {
    let file = path.rsplit('/').next()?;
    let stem = [".so", ".dylib", ".dll"].iter().find_map(|extension| file.strip_suffix(extension))?;
    let name = stem.strip_prefix("lib").unwrap_or(stem);
    (!name.is_empty()).then(|| name.replace('_', "-"))
}

/// The manifest that a library stands for. One that is called `index` has the name that it gives itself.
pub(super) fn manifest(path: &Path) -> Result<Manifest, Error> {
    let refused = |refusal: Refusal| Error::Refused { file: path.to_owned(), refusal };
    let bytes = disk::read_bounded(path, MAX_LIBRARY)?;
    let inspection = object::inspect(&bytes).map_err(refused)?;
    let metadata = object::metadata(&inspection).map_err(refused)?.clone();
    let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let hash = hash_bytes(&bytes);
    let name =
        mod_name(&file).filter(|name| name != super::walk::INDEX).unwrap_or_else(|| metadata.name.clone());
    let manifest = Manifest {
        name,
        version: metadata.version.clone(),
        interface: metadata.interface,
        description: None,
        license: None,
        signer: None,
        artifacts: vec![Artifact {
            glibc: inspection.glibc_floor.filter(|_| metadata.target.contains("-gnu")),
            target: metadata.target.clone(),
            file: file.clone(),
            sha256: hash.sha256,
            size: hash.size,
        }],
    };
    crate::install::check_identity(&manifest, &metadata, &file)?;
    Ok(manifest)
}

use crate::{
    Error, disk,
    hash::FileHash,
    manifest::{self, Artifact, Manifest},
    object::{self, HostFacts, Inspection, Metadata, Refusal},
    package::{Contents, PackageMod},
    version::{MajorMinor, show},
};
use std::{collections::BTreeMap, path::PathBuf};

/// A package that is unpacked but not installed.
pub(super) struct Staged {
    pub(super) root: PathBuf,
    pub(super) files: BTreeMap<String, FileHash>,
    pub(super) contents: Contents,
}

impl Staged {
    pub(super) fn check_artifact(
        &self,
        package_mod: &PackageMod,
        artifact: &Artifact,
        host: &HostFacts,
    ) -> Result<(), Error> {
        let path = package_mod.in_package(&artifact.file);
        let found = self.files.get(&path).ok_or_else(|| Error::Manifest {
            path: package_mod.in_package(manifest::FILE_NAME).into(),
            reason: format!("the package does not have the file: {path}"),
        })?;
        if (&found.sha256, found.size) != (&artifact.sha256, artifact.size) {
            return Err(Error::HashMismatch {
                path: path.into(),
                expected: format!("sha256 {} of {} bytes", artifact.sha256, artifact.size),
                found: format!("sha256 {} of {} bytes", found.sha256, found.size),
            });
        }
        let bytes = disk::read_bounded(&self.root.join(&path), found.size)?;
        let inspection = check_library(&bytes, &package_mod.manifest, &artifact.file, &artifact.target)?;
        if artifact.target == host.target {
            let refused = |refusal| Error::Refused { file: artifact.file.clone().into(), refusal };
            object::check(&inspection, host).map_err(refused)?;
        }
        Ok(())
    }
}

/// Looks into a library: it is for the target that the manifest declares, and it is the mod of the manifest.
pub(crate) fn check_library(
    bytes: &[u8],
    manifest: &Manifest,
    file: &str,
    target: &str,
) -> Result<Inspection, Error> {
    let refused = |refusal| Error::Refused { file: file.into(), refusal };
    let inspection = object::inspect(bytes).map_err(refused)?;
    let metadata = object::check_declared(&inspection, target).map_err(|refusal| match refusal {
        Refusal::Machine { .. } | Refusal::Target { .. } => {
            Error::TargetLies { file: file.to_owned(), target: target.to_owned(), refusal }
        }
        other => refused(other),
    })?;
    check_identity(manifest, &metadata, file)?;
    Ok(inspection)
}

/// Refuses a library that is another mod than its manifest says.
///
/// # Errors
/// `E_IDENTITY`.
pub fn check_identity(manifest: &Manifest, metadata: &Metadata, file: &str) -> Result<(), Error> {
    let expected = identity(&manifest.name, &manifest.version, manifest.interface);
    let found = identity(&metadata.name, &metadata.version, metadata.interface);
    if expected == found {
        return Ok(());
    }
    Err(Error::Identity { file: file.to_owned(), expected, found })
}

fn identity(name: &str, version: &semver::Version, interface: MajorMinor) -> String {
    format!("{name} {version} for interface {}", show(interface))
}

//! From an archive to a package in the store, in an order that a crash may cut anywhere:
//!
//! store locked → read → every entry judged → unpacked into `tmp` → every library compared with its manifest, and
//! looked into → moved into the store → `mods.lock` → pointer. The caller writes the settings last. What a crash
//! leaves is an unpacked package that nothing names, or a locked one that is not current; never half a package.
//! Removing goes the other way: the caller's settings first, then lock, then pointer.

use crate::{
    Error,
    archive::{MAX_ARCHIVE, unpack},
    disk,
    hash::{self, FileHash},
    lock::{self, Lock, LockedArtifact},
    manifest::{Artifact, Manifest},
    object::{self, HostFacts, Metadata, Refusal},
    package::{self, Contents, PackageMod},
    settings::Signing,
    signature::{self, Subject},
    store::{Held, Pointer, Store},
    version::{MajorMinor, show},
};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// What was installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    /// The package's id.
    pub id: String,
    /// Its version.
    pub resolved: Option<String>,
    /// The version that it takes the place of.
    pub previous: Option<String>,
    /// Digest of the unpacked package.
    pub tree: String,
    /// The same package was in the store already, and is whole.
    pub reused: bool,
    /// Its mods.
    pub mods: Vec<InstalledMod>,
    /// One line each.
    pub warnings: Vec<String>,
}

/// A mod of an installed package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstalledMod {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: semver::Version,
    /// The interface version it was built for.
    pub interface: MajorMinor,
    /// Its directory in the package, `.` for the root.
    pub path: String,
    /// The targets that it has a library for.
    pub targets: Vec<String>,
}

/// How far an installation is; each is told when it is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Another process has the store; waiting for it.
    Waiting,
    /// The store is ours.
    Held,
    /// The archive is unpacked.
    Unpacked,
    /// The package is as its manifests say.
    Checked,
    /// The package is in the store.
    Stored,
    /// The lock names it.
    Locked,
    /// The pointer names it.
    Pointed,
}

/// Installs into one scope and removes from it.
pub struct Installer<'a> {
    scope_root: &'a Path,
    store: Store,
    host: &'a HostFacts,
    wait: bool,
    accept_signer: bool,
    signing: Signing,
    progress: &'a dyn Fn(Step),
}

/// Installs an archive that `mods pack` made, waiting for other installers.
///
/// # Errors
/// Every code of the crate that is about an archive, a manifest, a library or the disk.
pub fn install_archive(
    scope_root: &Path,
    archive: &Path,
    host: &HostFacts,
) -> Result<Installed, Error> {
    Installer::new(scope_root, host).archive(archive)
}

/// Removes a package from the lock and the store, waiting for other installers. Its settings go first.
///
/// # Errors
/// `E_UNKNOWN_PACKAGE` when it is neither locked nor in the store; `E_LOCK`, `E_IO`.
pub fn remove(scope_root: &Path, id: &str) -> Result<(), Error> {
    let store = Store::at(scope_root);
    let held = store.hold(Some(&|| {}))?;
    let mut lock = Lock::read(scope_root)?;
    let locked = lock.remove(id).is_some();
    if !locked && store.pointer(id).is_ok_and(|pointer| pointer.is_none()) {
        return Err(Error::UnknownPackage {
            package: id.to_owned(),
        });
    }
    if locked {
        lock.write(scope_root)?;
    }
    held.remove_pointer(id)?;
    held.collect_garbage(&lock)
}

impl<'a> Installer<'a> {
    /// An installer for a scope's folder that waits for others and tells nobody how far it is.
    pub fn new(scope_root: &'a Path, host: &'a HostFacts) -> Self {
        Self {
            scope_root,
            store: Store::at(scope_root),
            host,
            wait: true,
            accept_signer: false,
            signing: Signing::default(),
            progress: &|_| {},
        }
    }

    /// Fails with `E_BUSY` where it would wait.
    pub fn no_wait(mut self) -> Self {
        self.wait = false;
        self
    }

    /// Asks of packages what this setting asks.
    pub fn signing(mut self, signing: Signing) -> Self {
        self.signing = signing;
        self
    }

    /// Takes a package whose signer is another one than before, which the user has said.
    pub fn accept_signer(mut self) -> Self {
        self.accept_signer = true;
        self
    }

    /// Tells how far it is.
    pub fn progress(mut self, progress: &'a dyn Fn(Step)) -> Self {
        self.progress = progress;
        self
    }

    /// Installs an archive that `mods pack` made. Its id is `file:<package name>`.
    ///
    /// # Errors
    /// Every code of the crate that is about an archive, a manifest, a library or the disk.
    pub fn archive(&self, archive: &Path) -> Result<Installed, Error> {
        let bytes = disk::read_bounded(archive, MAX_ARCHIVE)?;
        let held = self.hold()?;
        let stage = held.stage()?;
        let root = stage.path().join("package");
        let files = self.unpack(&bytes, &root)?;
        let contents = package::contents(&root)?.whole()?;
        let name = archive
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let entry = lock::Package {
            integrity: Some(hash::integrity_sha256(&bytes)),
            resolved: contents.version.clone(),
            ..lock::Package::new(format!("file:{}", contents.package_name()?), name)
        };
        self.commit(
            &held,
            Staged {
                root,
                files,
                contents,
            },
            entry,
        )
    }

    fn hold(&self) -> Result<Held<'_>, Error> {
        let waiting = || (self.progress)(Step::Waiting);
        let held = self
            .store
            .hold(self.wait.then_some(&waiting as &dyn Fn()))?;
        (self.progress)(Step::Held);
        Ok(held)
    }

    fn unpack(&self, bytes: &[u8], root: &Path) -> Result<BTreeMap<String, FileHash>, Error> {
        let files = unpack(bytes, root)?;
        (self.progress)(Step::Unpacked);
        Ok(files)
    }

    /// Checks a package that is unpacked in `tmp`, and makes it the current one of its id.
    fn commit(
        &self,
        held: &Held<'_>,
        staged: Staged,
        mut entry: lock::Package,
    ) -> Result<Installed, Error> {
        let mut lock = Lock::read(self.scope_root)?;
        let mut warnings = staged.contents.warnings.clone();
        entry.tree = hash::tree_digest(&staged.files);
        entry.artifacts = self.check(&staged, &mut warnings)?;
        entry.signer = self.check_signature(&staged, &entry.id, &lock)?;
        entry.check(&Lock::path(self.scope_root))?;
        (self.progress)(Step::Checked);
        let reused = held.commit(&staged.root, &staged.files)?;
        (self.progress)(Step::Stored);
        let pointed = self.store.pointer(&entry.id).ok().flatten();
        let replaced = lock.insert(entry.clone());
        lock.write(self.scope_root)?;
        (self.progress)(Step::Locked);
        let pointer = Pointer {
            current: entry.clone(),
            previous: previous(&entry, pointed),
        };
        held.write_pointer(&entry.id, &pointer)?;
        (self.progress)(Step::Pointed);
        held.collect_garbage(&lock)?;
        Ok(Installed {
            id: entry.id,
            resolved: entry.resolved,
            previous: replaced.and_then(|replaced| replaced.resolved),
            tree: entry.tree,
            reused,
            mods: staged.contents.mods.iter().map(installed_mod).collect(),
            warnings,
        })
    }

    fn check_signature(
        &self,
        staged: &Staged,
        id: &str,
        lock: &Lock,
    ) -> Result<Option<String>, Error> {
        let subject = Subject {
            id,
            root: &staged.root,
            files: &staged.files,
            contents: &staged.contents,
            known: lock.get(id).and_then(|package| package.signer.as_deref()),
        };
        signature::check(&subject, &self.signing, self.accept_signer)
    }

    /// Compares every library with its manifest, for all targets, and refuses what could not be loaded here.
    fn check(
        &self,
        staged: &Staged,
        warnings: &mut Vec<String>,
    ) -> Result<Vec<LockedArtifact>, Error> {
        let mut rows = Vec::new();
        let mut unusable = Vec::new();
        for package_mod in &staged.contents.mods {
            for artifact in &package_mod.manifest.artifacts {
                staged.check_artifact(package_mod, artifact, self.host)?;
                rows.push(locked(package_mod, artifact));
            }
            if let Err(error) = package_mod.manifest.choose(self.host) {
                unusable.push(error);
            }
        }
        let some_usable = unusable.len() < staged.contents.mods.len();
        for error in unusable {
            if !some_usable {
                return Err(error);
            }
            warnings.push(error.to_string());
        }
        Ok(rows)
    }
}

/// The package to go back to: the one that is current until now, or, when that is the same, the one before it.
fn previous(entry: &lock::Package, pointed: Option<Pointer>) -> Option<lock::Package> {
    pointed.and_then(|pointer| {
        if pointer.current.tree == entry.tree {
            pointer.previous
        } else {
            Some(pointer.current)
        }
    })
}

/// A package that is unpacked but not installed.
struct Staged {
    root: PathBuf,
    files: BTreeMap<String, FileHash>,
    contents: Contents,
}

impl Staged {
    fn check_artifact(
        &self,
        package_mod: &PackageMod,
        artifact: &Artifact,
        host: &HostFacts,
    ) -> Result<(), Error> {
        let path = package_mod.in_package(&artifact.file);
        let found = self.files.get(&path).ok_or_else(|| Error::Manifest {
            path: package_mod.in_package(crate::manifest::FILE_NAME).into(),
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
        check_library(&bytes, &package_mod.manifest, artifact, host)
    }
}

/// Looks into a library: it is for the target that the manifest declares, it is the mod of the manifest, and when it is
/// for this machine, it can be loaded.
fn check_library(
    bytes: &[u8],
    manifest: &Manifest,
    artifact: &Artifact,
    host: &HostFacts,
) -> Result<(), Error> {
    let refused = |refusal| Error::Refused {
        file: artifact.file.clone().into(),
        refusal,
    };
    let inspection = object::inspect(bytes).map_err(refused)?;
    let metadata =
        object::check_declared(&inspection, &artifact.target).map_err(|refusal| match refusal {
            Refusal::Machine { .. } | Refusal::Target { .. } => Error::TargetLies {
                file: artifact.file.clone(),
                target: artifact.target.clone(),
                refusal,
            },
            other => refused(other),
        })?;
    check_identity(manifest, &metadata, &artifact.file)?;
    if artifact.target == host.target {
        object::check(&inspection, host).map_err(refused)?;
    }
    Ok(())
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
    Err(Error::Identity {
        file: file.to_owned(),
        expected,
        found,
    })
}

fn identity(name: &str, version: &semver::Version, interface: MajorMinor) -> String {
    format!("{name} {version} for interface {}", show(interface))
}

fn installed_mod(package_mod: &PackageMod) -> InstalledMod {
    let manifest = &package_mod.manifest;
    InstalledMod {
        name: manifest.name.clone(),
        version: manifest.version.clone(),
        interface: manifest.interface,
        path: package_mod.path.clone(),
        targets: manifest
            .artifacts
            .iter()
            .map(|artifact| artifact.target.clone())
            .collect(),
    }
}

fn locked(package_mod: &PackageMod, artifact: &Artifact) -> LockedArtifact {
    LockedArtifact {
        mod_name: package_mod.manifest.name.clone(),
        path: package_mod.path.clone(),
        interface: package_mod.manifest.interface,
        artifact: artifact.clone(),
    }
}

#[cfg(test)]
mod tests;

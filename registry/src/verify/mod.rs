//! What a start needs to know about the installed packages, from files alone: no network, no process, nothing run.

use crate::{
    Error,
    hash::tree_digest,
    lock::{self, Lock, LockedArtifact},
    object::HostFacts,
    package,
    settings::Signing,
    signature::KeyTrust,
    store::{Store, tree_files},
    version::MajorMinor,
};
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

/// The folders that a store may have.
const KNOWN_FOLDERS: [&str; 5] = ["file", "git", "npm", "store", "tmp"];

/// A mod of an installed package, or what stands in the way of one.
#[derive(Debug)]
pub struct Candidate {
    /// The package's id; the name of the lock or of a folder when there is none.
    pub package: String,
    /// The mod's name, when it is known.
    pub mod_name: Option<String>,
    /// The mod, or the problem.
    pub state: State,
}

/// Whether a mod can be loaded, as far as files tell without hashing them.
#[derive(Debug)]
pub enum State {
    /// It is as it was locked.
    Ok(Mod),
    /// It must not be loaded.
    Problem(Error),
}

/// What a loader needs: it reads the library once, and compares those bytes with size and hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mod {
    /// The mod's name.
    pub name: String,
    /// Its version.
    pub version: semver::Version,
    /// The interface version it was built for.
    pub interface: MajorMinor,
    /// One line about it.
    pub description: Option<String>,
    /// Its directory in the package, which source filters match; `.` for the root.
    pub path: String,
    /// Its directory on disk.
    pub dir: PathBuf,
    /// The library for this machine.
    pub library: PathBuf,
    /// The hash that the lock has for the library.
    pub sha256: String,
    /// The size that the lock has for it.
    pub size: u64,
}

/// Lists the mods of the packages that are locked in a scope, in the order of the lock, and what lies in the store
/// without being locked. A bad package is one [`State::Problem`] and hides no other.
pub fn installed(scope_root: &Path, host: &HostFacts) -> Vec<Candidate> {
    let store = Store::at(scope_root);
    let lock = match Lock::read(scope_root) {
        Ok(lock) => lock,
        Err(error) => return vec![problem(lock::FILE_NAME, None, error)],
    };
    let mut found = Vec::new();
    for package in lock.packages() {
        found.extend(candidates(scope_root, &store, package, host));
    }
    found.extend(without_entry(&store, &lock));
    found
}

/// What `mods verify` shows of an installed package.
#[derive(Debug)]
pub struct Verdict {
    /// Its lock entry.
    pub package: lock::Package,
    /// Whether all its files, for all targets, are as they were locked.
    pub files: Result<(), Error>,
    /// How far its key is known.
    pub key: KeyTrust,
    /// Its mods on this machine.
    pub mods: Vec<Candidate>,
}

/// Hashes all that is installed in a scope, and says of each package what is known of it.
///
/// # Errors
/// `E_LOCK`, `E_LOCK_VERSION`, `E_IO` for a lock that cannot be read. A bad package is a bad verdict.
pub fn verdicts(scope_root: &Path, host: &HostFacts, signing: &Signing) -> Result<Vec<Verdict>, Error> {
    let store = Store::at(scope_root);
    let lock = Lock::read(scope_root)?;
    let verdict = |package: &lock::Package| Verdict {
        files: verify_tree(scope_root, package),
        key: signing.trust_in(package),
        mods: candidates(scope_root, &store, package, host),
        package: package.clone(),
    };
    Ok(lock.packages().iter().map(verdict).collect())
}

fn candidates(scope_root: &Path, store: &Store, package: &lock::Package, host: &HostFacts) -> Vec<Candidate> {
    let root = package.check(&Lock::path(scope_root)).and_then(|()| current(store, package));
    match root {
        Ok(root) => {
            let rows = mods(package, &host.target);
            rows.into_iter().map(|row| candidate(&root, package, row, host)).collect()
        }
        Err(error) => vec![problem(&package.id, None, error)],
    }
}

/// Hashes all files of an installed package and compares them with the lock.
///
/// # Errors
/// `E_NOT_INSTALLED`, `E_LOCK_DRIFT`, `E_PERMISSIONS`, `E_IO`.
pub fn verify_tree(scope_root: &Path, package: &lock::Package) -> Result<(), Error> {
    package.check(&Lock::path(scope_root))?;
    let store = Store::at(scope_root);
    current(&store, package)?;
    verify_store(&store, package)
}

/// The same for a package that is in the store, whether it is current or not.
pub(crate) fn verify_store(store: &Store, package: &lock::Package) -> Result<(), Error> {
    let root = store.tree_dir(&package.tree);
    if !root.is_dir() {
        return Err(Error::NotInstalled { package: package.id.clone() });
    }
    let found = tree_digest(&tree_files(&root)?);
    same(package, "the files", &package.tree, &found)
}

/// The folder of the tree that the lock names. What a start opens in it is what the lock names too: the manifest of each
/// mod, and its library, which is compared with the lock's hash. A file that was added to a tree is never opened; that it
/// is there is for [`verify_tree`] to find.
fn current(store: &Store, package: &lock::Package) -> Result<PathBuf, Error> {
    let missing = || Error::NotInstalled { package: package.id.clone() };
    if !store.root().exists() {
        return Err(missing());
    }
    store.check_permissions()?;
    let root = store.tree_dir(&package.tree);
    if root.is_dir() { Ok(root) } else { Err(missing()) }
}

/// One row for each mod of a package. A mod that is a bare library has one path for each target: that of this machine
/// stands for it, when there is one.
fn mods<'a>(package: &'a lock::Package, target: &str) -> Vec<&'a LockedArtifact> {
    let rows = &package.artifacts;
    let here = |row: &LockedArtifact| row.artifact.target == target;
    let elsewhere = |row: &LockedArtifact| {
        !here(row)
            && rows
                .iter()
                .any(|other| here(other) && other.mod_name == row.mod_name && other.path != row.path)
    };
    let mut seen = BTreeSet::new();
    rows.iter().filter(|row| !elsewhere(row) && seen.insert((&row.path, &row.mod_name))).collect()
}

fn candidate(root: &Path, package: &lock::Package, row: &LockedArtifact, host: &HostFacts) -> Candidate {
    match find(root, package, row, host) {
        Ok(found) => Candidate {
            package: package.id.clone(),
            mod_name: Some(found.name.clone()),
            state: State::Ok(found),
        },
        Err(error) => problem(&package.id, Some(&row.mod_name), error),
    }
}

/// The mod of a row, when its manifest says of this machine's library what the lock says.
fn find(root: &Path, package: &lock::Package, row: &LockedArtifact, host: &HostFacts) -> Result<Mod, Error> {
    let dir = package::folder(root, &row.path);
    let manifest = package::read_mod(root, &row.path)?.manifest;
    same(package, "the mod's name", &row.mod_name, &manifest.name)?;
    let chosen = manifest.choose(host)?;
    let found = LockedArtifact {
        mod_name: manifest.name.clone(),
        path: row.path.clone(),
        interface: manifest.interface,
        artifact: chosen.clone(),
    };
    if !package.artifacts.contains(&found) {
        let what = format!("the artifact for {}", host.target);
        let locked = package
            .artifacts
            .iter()
            .find(|locked| locked.path == row.path && locked.artifact.target == host.target);
        let expected = locked.map_or("none".to_owned(), |locked| locked.artifact.sha256.clone());
        return Err(drift(package, &what, &expected, &found.artifact.sha256));
    }
    let library = dir.join(&chosen.file);
    check_file(&library, chosen.size)?;
    Ok(Mod {
        library,
        sha256: chosen.sha256.clone(),
        size: chosen.size,
        path: row.path.clone(),
        dir,
        interface: manifest.interface,
        name: manifest.name,
        version: manifest.version,
        description: manifest.description,
    })
}

/// A library that is gone or has another size need not be hashed.
fn check_file(library: &Path, size: u64) -> Result<(), Error> {
    let found = match library.symlink_metadata() {
        Ok(metadata) if metadata.is_file() && metadata.len() == size => return Ok(()),
        Ok(metadata) if metadata.is_file() => format!("{} bytes", metadata.len()),
        Ok(_) => "no regular file".to_owned(),
        Err(error) => error.to_string(),
    };
    Err(Error::HashMismatch { path: library.to_owned(), expected: format!("{size} bytes"), found })
}

/// Pointers and folders that no lock entry stands for.
fn without_entry(store: &Store, lock: &Lock) -> Vec<Candidate> {
    let pointers = store.pointers().into_iter().filter(|(id, _)| lock.get(id).is_none());
    let mut found: Vec<Candidate> = pointers
        .map(|(id, path)| {
            let folder = path.parent().map(Path::to_owned).unwrap_or(path);
            problem(&id, None, Error::NoLockEntry { path: folder })
        })
        .collect();
    let Ok(entries) = store.root().read_dir() else {
        return found;
    };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.starts_with('.') && !KNOWN_FOLDERS.contains(&name.as_str()) {
            found.push(problem(&name, None, Error::NoLockEntry { path: entry.path() }));
        }
    }
    found.sort_by(|a, b| a.package.cmp(&b.package));
    found
}

fn problem(package: &str, mod_name: Option<&str>, error: Error) -> Candidate {
    Candidate {
        package: package.to_owned(),
        mod_name: mod_name.map(str::to_owned),
        state: State::Problem(error),
    }
}

pub(crate) fn same(package: &lock::Package, what: &str, expected: &str, found: &str) -> Result<(), Error> {
    if expected == found { Ok(()) } else { Err(drift(package, what, expected, found)) }
}

fn drift(package: &lock::Package, what: &str, expected: &str, found: &str) -> Error {
    Error::LockDrift {
        package: package.id.clone(),
        what: what.to_owned(),
        expected: expected.to_owned(),
        found: found.to_owned(),
    }
}

#[cfg(test)]
mod tests;

//! From an archive to a package in the store, in an order that a crash may cut anywhere:
//!
//! store locked → read → every entry judged → unpacked into `tmp` → every library compared with its manifest, and
//! looked into → moved into the store → `mods.lock` → pointer. The caller writes the settings last. What a crash
//! leaves is an unpacked package that nothing names, or a locked one that the settings do not name yet; never half a
//! package. Removing goes the other way: the caller's settings first, then pointer, then lock.

mod check;
mod commit;
mod remote;

use crate::{
    Error,
    archive::{MAX_ARCHIVE, unpack},
    disk,
    fetch::FetchOptions,
    hash,
    lock::{self, Lock},
    object::HostFacts,
    package::{self, Contents},
    settings::Signing,
    store::{Held, Store},
    version::MajorMinor,
};
use std::{
    cell::Cell,
    path::{Path, PathBuf},
};

use check::Staged;
pub use check::check_identity;
pub(crate) use check::check_library;
pub(crate) use remote::check_tag;
pub use remote::rollback;

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
    /// The package is fetched.
    Fetched,
    /// The package is unpacked.
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

/// What the user has said yes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Allowed {
    /// A package that is signed by another key than before.
    pub other_signer: bool,
    /// A version older than one seen before.
    pub downgrade: bool,
    /// A tag that names another commit than before.
    pub moved_tag: bool,
}

/// A package that passed every check and is about to be installed.
#[derive(Debug)]
pub struct Offer<'a> {
    /// What the lock will say of it.
    pub package: &'a lock::Package,
    /// The entry that it takes the place of.
    pub replaces: Option<&'a lock::Package>,
    /// Its mods.
    pub mods: &'a [InstalledMod],
    /// One line each.
    pub warnings: &'a [String],
    /// Where it is unpacked, for a trial load.
    pub root: &'a Path,
}

/// Says yes to an offer, or why not.
pub type Review<'a> = dyn Fn(&Offer<'_>) -> Result<(), Error> + 'a;

/// Installs into one scope and removes from it.
pub struct Installer<'a> {
    scope_root: &'a Path,
    store: Store,
    host: &'a HostFacts,
    wait: bool,
    allowed: Allowed,
    signing: Signing,
    fetching: FetchOptions,
    progress: &'a dyn Fn(Step),
    review: &'a Review<'a>,
}

/// Installs an archive that `mods pack` made, waiting for other installers.
///
/// # Errors
/// Every code of the crate that is about an archive, a manifest, a library or the disk.
pub fn install_archive(scope_root: &Path, archive: &Path, host: &HostFacts) -> Result<Installed, Error> {
    Installer::new(scope_root, host).archive(archive)
}

/// Removes a package from the lock and the store, waiting for other installers. Its settings go first.
///
/// # Errors
/// `E_UNKNOWN_PACKAGE` when it is neither locked nor in the store; `E_LOCK`, `E_IO`.
pub fn remove(scope_root: &Path, id: &str) -> Result<(), Error> {
    let store = Store::at(scope_root);
    let held = store.hold(Some(&|| Ok(())))?;
    let mut lock = Lock::read(scope_root)?;
    let locked = lock.remove(id).is_some();
    if !locked && store.pointer(id).is_ok_and(|pointer| pointer.is_none()) {
        return Err(Error::UnknownPackage { package: id.to_owned() });
    }
    held.remove_pointer(id)?;
    if locked {
        lock.write(scope_root)?;
    }
    held.collect_garbage(&lock)
}

/// Forgets which key signed a package, waiting for installers: the key of what is installed next is taken as if it were
/// the first. For archives, which nobody can look for anew.
///
/// # Errors
/// `E_UNKNOWN_PACKAGE` when it is not locked; `E_LOCK`, `E_IO`.
pub fn forget_signer(scope_root: &Path, id: &str) -> Result<(), Error> {
    let store = Store::at(scope_root);
    let _held = store.hold(Some(&|| Ok(())))?;
    let mut lock = Lock::read(scope_root)?;
    let locked = lock.get(id).ok_or_else(|| Error::UnknownPackage { package: id.to_owned() })?;
    let without = lock::Package { signer: None, ..locked.clone() };
    lock.insert(without);
    lock.write(scope_root)
}

impl<'a> Installer<'a> {
    /// An installer for a scope's folder that waits for others and tells nobody how far it is.
    pub fn new(scope_root: &'a Path, host: &'a HostFacts) -> Self {
        Self {
            scope_root,
            store: Store::at(scope_root),
            host,
            wait: true,
            allowed: Allowed::default(),
            signing: Signing::default(),
            fetching: FetchOptions::default(),
            progress: &|_| {},
            review: &|_| Ok(()),
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

    /// Takes what would be refused otherwise.
    pub fn allow(mut self, allowed: Allowed) -> Self {
        self.allowed = allowed;
        self
    }

    /// Shows each new package before it is installed, when everything is known of it and nothing is done yet: to ask the
    /// user, or to load it on trial. [`Error::Declined`] is how to say no. What is brought back as it is locked is not
    /// shown.
    pub fn review(mut self, review: &'a Review<'a>) -> Self {
        self.review = review;
        self
    }

    /// Fetches like this.
    pub fn fetching(mut self, fetching: FetchOptions) -> Self {
        self.fetching = fetching;
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
        let staged = self.unpack(&bytes, stage.path())?;
        let name = archive.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let id = format!("file:{}", staged.contents.package_name()?);
        let integrity = Some(hash::integrity_sha256(&bytes));
        self.commit(&held, staged, lock::Package { integrity, ..lock::Package::new(id, name) }, None)
    }

    fn hold(&self) -> Result<Held<'_>, Error> {
        let told = Cell::new(false);
        let waiting = || {
            if !told.replace(true) {
                (self.progress)(Step::Waiting);
            }
            self.fetching.go_on()
        };
        let held = self.store.hold(if self.wait { Some(&waiting) } else { None })?;
        self.reached(Step::Held)?;
        Ok(held)
    }

    /// Tells of a step before which nothing has been changed: here the user may still change their mind.
    fn reached(&self, step: Step) -> Result<(), Error> {
        (self.progress)(step);
        self.fetching.go_on()
    }

    fn unpack(&self, bytes: &[u8], stage: &Path) -> Result<Staged, Error> {
        let root = stage.join("package");
        let files = unpack(bytes, &root)?;
        self.reached(Step::Unpacked)?;
        let contents = contents(&root)?;
        Ok(Staged { root, files, contents })
    }
}

/// What an unpacked package ships. Where it is unpacked is nothing to tell the user, who cannot look there.
fn contents(root: &Path) -> Result<Contents, Error> {
    let inside = |path: PathBuf| path.strip_prefix(root).map(Path::to_owned).unwrap_or(path);
    package::contents(root).and_then(Contents::whole).map_err(|error| match error {
        Error::Manifest { path, reason } => Error::Manifest { path: inside(path), reason },
        Error::ManifestSchema { path, expected, found } => {
            Error::ManifestSchema { path: inside(path), expected, found }
        }
        Error::Refused { file, refusal } => Error::Refused { file: inside(file), refusal },
        Error::NoMods { package } if Path::new(&package) == root => {
            Error::NoMods { package: "a package without a name".to_owned() }
        }
        error => error,
    })
}

#[cfg(test)]
mod crash_tests;
#[cfg(test)]
mod refusal_tests;
#[cfg(test)]
mod tests;

//! The store of a scope: `<scope>/mods/.registry`, where unpacked packages live.
//!
//! ```text
//! .registry/               0700, with a .gitignore of "*"; a dot folder, so that mod discovery skips it
//!   .lock                  held by whoever installs; a start takes no lock
//!   tmp/                   half-made things, swept by the next one who holds the lock
//!   store/<tree hex>/      an unpacked package; never changed, files 0444, folders 0555
//!   file/review-mod/current   npm/@team/review-mod/current   git/github.com/owner/repo/current
//! ```
//! A `current` file is the pointer of a package, JSON of a [`Pointer`]: what going back needs. A start does not read it,
//! the lock alone says which tree counts.

use crate::{
    Error, disk,
    error::IoContext,
    hash::{self, FileHash, hash_file, is_sha256},
    lock,
    portable::check_path,
};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File, TryLockError},
    path::{Path, PathBuf},
    thread,
    time::Duration,
};
use tempfile::TempDir;

/// How often it is looked whether the lock is free.
const LOOK: Duration = Duration::from_millis(20);
const POINTER: &str = "current";
const MAX_POINTER: u64 = 4 * 1024 * 1024;
/// The kinds of packages that are unpacked into a store.
const KINDS: [&str; 3] = ["file", "git", "npm"];

/// What a `current` file holds: lock entries, so that going back needs nothing else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pointer {
    /// The package as it was installed here.
    pub current: lock::Package,
    /// The one before it.
    pub previous: Option<lock::Package>,
}

/// The store of one scope.
#[derive(Debug, Clone)]
pub struct Store {
    root: PathBuf,
}

impl Store {
    /// The store of a scope's folder (`~/.commandcode` or `<project>/.commandcode`). It need not be there.
    pub fn at(scope_root: &Path) -> Self {
        Self { root: scope_root.join("mods").join(".registry") }
    }

    /// The `.registry` folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The folder of an unpacked package.
    pub fn tree_dir(&self, tree: &str) -> PathBuf {
        self.trees().join(tree.strip_prefix("sha256:").unwrap_or(tree))
    }

    /// The pointer of a package, `None` when it is not installed.
    ///
    /// # Errors
    /// `E_IO`, and `E_NOT_INSTALLED` for a pointer that cannot be read.
    pub fn pointer(&self, id: &str) -> Result<Option<Pointer>, Error> {
        let path = self.root.join(pointer_path(id)?);
        let Some(bytes) = disk::read_optional(&path, MAX_POINTER)? else {
            return Ok(None);
        };
        serde_json::from_slice(&bytes).map(Some).map_err(|_| Error::NotInstalled { package: id.to_owned() })
    }

    /// The files of all pointers, with the ids they stand for.
    pub(crate) fn pointers(&self) -> Vec<(String, PathBuf)> {
        let mut found = Vec::new();
        for kind in KINDS {
            collect_pointers(&self.root.join(kind), kind, "", &mut found);
        }
        found
    }

    /// Refuses a store that another user could have changed.
    pub(crate) fn check_permissions(&self) -> Result<(), Error> {
        self.check_folder(&self.root)?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            let refuse = |reason| Err(Error::Permissions { path: self.root.clone(), reason });
            let metadata = self.root.symlink_metadata().at("look at", &self.root)?;
            if metadata.uid() != rustix::process::geteuid().as_raw() {
                return refuse("it belongs to another user, take it over with chown");
            }
            if metadata.mode() & 0o022 != 0 {
                return refuse("others may write to it, run chmod 700 on it");
            }
        }
        Ok(())
    }

    /// A folder of the store is a folder, or is not there yet. A repository could bring a link with it, that leads
    /// writing and sweeping to another place.
    fn check_folder(&self, path: &Path) -> Result<(), Error> {
        match path.symlink_metadata() {
            Ok(metadata) if !metadata.is_dir() => Err(Error::Permissions {
                path: path.to_owned(),
                reason: "expected a folder and no link, remove it and run cmd mods update",
            }),
            _ => Ok(()),
        }
    }

    /// Opens the file of the lock, which is made where it is missing. As with folders, a repository could bring
    /// something else with it.
    fn open_lock(&self, path: &Path) -> Result<File, Error> {
        if path.symlink_metadata().is_ok_and(|metadata| !metadata.is_file()) {
            return Err(Error::Permissions {
                path: path.to_owned(),
                reason: "expected a file and no link, remove it and run cmd mods update",
            });
        }
        disk::open_own(path).at("open", path)
    }

    /// Makes the folders, takes the lock, sweeps what a crash left. `wait` is called again and again while another
    /// process has the lock, until it fails; without it that is an error.
    pub(crate) fn hold(&self, wait: Option<Wait<'_>>) -> Result<Held<'_>, Error> {
        self.check_folder(&self.root)?;
        fs::create_dir_all(&self.root).at("create", &self.root)?;
        disk::set_mode(&self.root, 0o700)?;
        let path = self.root.join(".lock");
        let file = self.open_lock(&path)?;
        loop {
            match (file.try_lock(), wait) {
                (Ok(()), _) => break,
                (Err(TryLockError::WouldBlock), Some(wait)) => wait()?,
                (Err(TryLockError::WouldBlock), None) => return Err(Error::Busy { path }),
                (Err(TryLockError::Error(error)), _) => return Err(error).at("lock", &path),
            }
            thread::sleep(LOOK);
        }
        let held = Held { store: self, _lock: file };
        held.prepare()?;
        Ok(held)
    }

    fn trees(&self) -> PathBuf {
        self.root.join("store")
    }

    fn tmp(&self) -> PathBuf {
        self.root.join("tmp")
    }
}

/// Where the pointer of a package is, below the `.registry` folder.
pub(crate) fn pointer_path(id: &str) -> Result<PathBuf, Error> {
    let bad =
        || Error::Name { what: "package", expected: "an id like npm:@team/review-mod", name: id.to_owned() };
    let (kind, name) = id.split_once(':').ok_or_else(bad)?;
    if !KINDS.contains(&kind) || check_path(name).is_err() {
        return Err(bad());
    }
    Ok(Path::new(kind).join(name).join(POINTER))
}

fn collect_pointers(folder: &Path, kind: &str, name: &str, found: &mut Vec<(String, PathBuf)>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let Ok(part) = entry.file_name().into_string() else {
            continue;
        };
        if part == POINTER && entry.file_type().is_ok_and(|kind| kind.is_file()) {
            found.push((format!("{kind}:{name}"), entry.path()));
        } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            let name = if name.is_empty() { part } else { format!("{name}/{part}") };
            collect_pointers(&entry.path(), kind, &name, found);
        }
    }
}

/// What is done while another process has the lock, until it fails.
pub(crate) type Wait<'a> = &'a dyn Fn() -> Result<(), Error>;

/// The store, locked: the only way to change it.
pub(crate) struct Held<'a> {
    store: &'a Store,
    _lock: File,
}

impl Held<'_> {
    fn prepare(&self) -> Result<(), Error> {
        // The folders that are written to, but for those of pointers, whose files are made in `tmp`.
        let scope_root = self.store.root.ancestors().nth(2);
        [Some(&*self.store.root), scope_root].into_iter().flatten().for_each(disk::sweep);
        let ignore = self.store.root.join(".gitignore");
        if !ignore.exists() {
            disk::write_atomic(&ignore, b"*\n", 0o644)?;
        }
        let tmp = self.store.tmp();
        disk::remove_tree(&tmp)?;
        for folder in [tmp, self.store.trees()] {
            self.store.check_folder(&folder)?;
            fs::create_dir_all(&folder).at("create", &folder)?;
            disk::set_mode(&folder, 0o700)?;
        }
        Ok(())
    }

    /// A folder for half-made things; it goes away with the value.
    pub(crate) fn stage(&self) -> Result<TempDir, Error> {
        let tmp = self.store.tmp();
        tempfile::Builder::new()
            .prefix(&format!("{}-", std::process::id()))
            .tempdir_in(&tmp)
            .at("create a folder in", &tmp)
    }

    /// Moves an unpacked package into the store. One that is there already is verified and used again; a damaged one is
    /// replaced. True when it was there.
    pub(crate) fn commit(&self, staged: &Path, files: &BTreeMap<String, FileHash>) -> Result<bool, Error> {
        let target = self.store.tree_dir(&hash::tree_digest(files));
        self.store.check_folder(&target)?;
        if target.exists() {
            if tree_files(&target).is_ok_and(|found| found == *files) {
                return Ok(true);
            }
            let aside = self.stage()?;
            disk::set_mode(&target, 0o700)?;
            let place = aside.path().join("damaged");
            fs::rename(&target, &place).at("move away", &target)?;
            disk::remove_tree(&place)?;
        }
        seal(staged, true)?;
        fs::rename(staged, &target).at("move into the store", &target)?;
        disk::set_mode(&target, 0o555)?;
        disk::sync_folder(&self.store.trees())?;
        Ok(false)
    }

    pub(crate) fn write_pointer(&self, id: &str, pointer: &Pointer) -> Result<(), Error> {
        let place = pointer_path(id)?;
        place
            .ancestors()
            .skip(1)
            .try_for_each(|folder| self.store.check_folder(&self.store.root.join(folder)))?;
        let path = self.store.root.join(place);
        let bytes = serde_json::to_vec_pretty(pointer).map_err(|error| Error::Io {
            action: "write",
            path: path.clone(),
            source: error.into(),
        })?;
        disk::write_atomic_by(&self.store.tmp(), &path, &bytes, 0o600)
    }

    /// Removes the pointer of a package and the folders that this leaves empty.
    pub(crate) fn remove_pointer(&self, id: &str) -> Result<(), Error> {
        let path = self.store.root.join(pointer_path(id)?);
        match fs::remove_file(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            result => result.at("remove", &path)?,
        }
        let mut folder = path.parent();
        while let Some(empty) = folder.filter(|folder| *folder != self.store.root) {
            if fs::remove_dir(empty).is_err() {
                break;
            }
            folder = empty.parent();
        }
        Ok(())
    }

    /// Removes the unpacked packages that neither the lock nor a pointer names, now or as the one before.
    pub(crate) fn collect_garbage(&self, lock: &lock::Lock) -> Result<(), Error> {
        let mut used: BTreeSet<PathBuf> =
            lock.packages().iter().map(|package| self.store.tree_dir(&package.tree)).collect();
        for (id, _) in self.store.pointers() {
            let Ok(Some(pointer)) = self.store.pointer(&id) else {
                continue;
            };
            let both = [Some(pointer.current), pointer.previous];
            used.extend(both.iter().flatten().map(|package| self.store.tree_dir(&package.tree)));
        }
        let trees = self.store.trees();
        for entry in fs::read_dir(&trees).at("list", &trees)? {
            let entry = entry.at("list", &trees)?;
            let path = entry.path();
            if is_sha256(&entry.file_name().to_string_lossy()) && !used.contains(&path) {
                disk::remove_tree(&path)?;
            }
        }
        Ok(())
    }
}

/// Makes the folders of an unpacked package read-only and lasting, innermost first. The outermost is sealed after its
/// move, because moving a folder writes to it.
fn seal(folder: &Path, outermost: bool) -> Result<(), Error> {
    for entry in fs::read_dir(folder).at("list", folder)? {
        let path = entry.at("list", folder)?.path();
        if path.is_dir() {
            seal(&path, false)?;
        }
    }
    disk::sync_folder(folder)?;
    if outermost { Ok(()) } else { disk::set_mode(folder, 0o555) }
}

/// The hashes of all files of an unpacked package, by their paths in it.
///
/// # Errors
/// `E_IO`; `E_ENTRY_TYPE` for anything that is neither file nor folder.
pub(crate) fn tree_files(root: &Path) -> Result<BTreeMap<String, FileHash>, Error> {
    let mut files = BTreeMap::new();
    add_files(root, "", &mut files)?;
    Ok(files)
}

fn add_files(folder: &Path, prefix: &str, files: &mut BTreeMap<String, FileHash>) -> Result<(), Error> {
    for entry in fs::read_dir(folder).at("list", folder)? {
        let entry = entry.at("list", folder)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if prefix.is_empty() { name } else { format!("{prefix}/{name}") };
        let kind = entry.file_type().at("look at", &entry.path())?;
        if kind.is_dir() {
            add_files(&entry.path(), &path, files)?;
        } else if kind.is_file() {
            files.insert(path, hash_file(&entry.path())?);
        } else {
            return Err(Error::EntryType { path, found: "a link or a device".to_owned() });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;

use super::{Allowed, Installed, Installer, Staged, Step, commit::previous};
use crate::{
    Error, fetch,
    lock::{self, Lock},
    source::{GitSource, NpmSource, Source},
    store::Pointer,
    verify::{same, verify_store},
};
use std::path::Path;

impl Installer<'_> {
    /// Installs the package of a source: of npm, of git, or an archive. A folder is used where it is, and is nothing to
    /// install.
    ///
    /// # Errors
    /// `E_SOURCE` for a folder or a bad source; every code that is about fetching, an archive, a manifest, a library, a
    /// signature or the disk.
    pub fn add(&self, text: &str) -> Result<Installed, Error> {
        match Source::parse(text)? {
            Source::Npm(source) => self.npm(text, &source, None),
            Source::Git(source) => self.git(text, &source, None),
            Source::Archive(path) => self.archive(&path),
            Source::Path(_) => {
                Err(Error::Source { reason: "a folder is used where it is", text: text.to_owned() })
            }
            Source::File(name) => Err(Error::NotInstalled { package: format!("file:{name}") }),
        }
    }

    /// Brings back a locked package, exactly as it is locked: from the store when it is whole there, else from where it
    /// came from.
    ///
    /// # Errors
    /// As [`Installer::add`]; `E_LOCK_DRIFT` and `E_INTEGRITY` when what came is not what is locked.
    pub fn restore(&self, package: &lock::Package) -> Result<(), Error> {
        package.check(&Lock::path(self.scope_root))?;
        if verify_store(&self.store, package).is_ok() {
            return self.point_to(package);
        }
        let name = package.id.split_once(':').map_or("", |(_, name)| name);
        match Source::parse(&package.source) {
            Ok(Source::Git(source)) => self.git(&package.source, &source, Some(package)),
            _ if package.id.starts_with("npm:") => {
                let exact = NpmSource { name: name.to_owned(), version: package.resolved.clone() };
                self.npm(&package.source, &exact, Some(package))
            }
            _ => Err(Error::Fetch {
                what: package.id.clone(),
                reason: format!(
                    "it was installed from an archive, run cmd mods add with it again: {}",
                    package.source
                ),
            }),
        }
        .map(drop)
    }

    /// Makes a package of the store the current one again.
    fn point_to(&self, package: &lock::Package) -> Result<(), Error> {
        let held = self.hold()?;
        let previous = previous(package, self.store.pointer(&package.id).ok().flatten());
        held.write_pointer(&package.id, &Pointer { current: package.clone(), previous })
    }

    pub(crate) fn npm(
        &self,
        text: &str,
        source: &NpmSource,
        pin: Option<&lock::Package>,
    ) -> Result<Installed, Error> {
        let held = self.hold()?;
        let stage = held.stage()?;
        let fetched = fetch::npm(source, stage.path(), &self.fetching)?;
        self.reached(Step::Fetched)?;
        let entry = lock::Package {
            resolved: Some(fetched.version),
            registry: fetched.registry,
            integrity: Some(fetched.integrity),
            ..lock::Package::new(format!("npm:{}", source.name), text.to_owned())
        };
        let lock = Lock::read(self.scope_root)?;
        check_origin(&entry, pin.or(lock.get(&entry.id)), pin.is_some())?;
        let entry =
            ratchet(entry, lock.get(&lock_id(source)), self.allowed, pin.is_some() || source.is_pinned())?;
        let staged = self.unpack(&fetched.archive, stage.path())?;
        self.commit(&held, staged, entry, pin)
    }

    pub(crate) fn git(
        &self,
        text: &str,
        source: &GitSource,
        pin: Option<&lock::Package>,
    ) -> Result<Installed, Error> {
        let held = self.hold()?;
        let stage = held.stage()?;
        let root = stage.path().join("package");
        let commit = pin.and_then(|pin| pin.commit.as_deref());
        let fetched = fetch::git(source, commit, &root, &self.fetching)?;
        self.reached(Step::Fetched)?;
        let lock = Lock::read(self.scope_root)?;
        let locked = lock.get(&source.identity());
        let contents = super::contents(&root)?;
        let entry = lock::Package {
            resolved: contents.version.clone(),
            git_ref: source.reference.clone(),
            ref_kind: Some(fetched.ref_kind),
            commit: Some(fetched.commit),
            ..lock::Package::new(source.identity(), text.to_owned())
        };
        let exact = fetched.ref_kind == lock::RefKind::Tag || fetched.ref_kind == lock::RefKind::Commit;
        if pin.is_none() && !self.allowed.moved_tag {
            check_tag(&entry, locked)?;
        }
        let entry = ratchet(entry, locked, self.allowed, pin.is_some() || exact)?;
        self.reached(Step::Unpacked)?;
        self.commit(&held, Staged { root, files: fetched.files, contents }, entry, pin)
    }

    /// The commit that the tag of a locked package names now.
    pub(crate) fn tag_commit(&self, source: &GitSource, tag: &str) -> Result<Option<String>, Error> {
        let held = self.hold()?;
        let stage = held.stage()?;
        fetch::tag_commit(source, tag, stage.path(), &self.fetching)
    }

    pub(crate) fn scope_root(&self) -> &Path {
        self.scope_root
    }

    pub(crate) fn allowed(&self) -> Allowed {
        self.allowed
    }

    pub(crate) fn is_offline(&self) -> bool {
        self.fetching.offline
    }
}

fn lock_id(source: &NpmSource) -> String {
    format!("npm:{}", source.name)
}

/// A package comes from the registry that it came from before; one that is brought back has the same archive too.
fn check_origin(entry: &lock::Package, locked: Option<&lock::Package>, exact: bool) -> Result<(), Error> {
    let Some(locked) = locked else { return Ok(()) };
    if let (Some(expected), Some(found)) = (&locked.registry, &entry.registry)
        && expected != found
    {
        return Err(Error::RegistryChanged {
            package: entry.id.clone(),
            expected: expected.clone(),
            found: found.clone(),
        });
    }
    let republished = exact || locked.resolved == entry.resolved;
    match (&locked.integrity, &entry.integrity) {
        (Some(expected), Some(found)) if republished && expected != found => Err(Error::Integrity {
            package: entry.id.clone(),
            expected: expected.clone(),
            found: found.clone(),
        }),
        _ => Ok(()),
    }
}

/// A tag that was seen before names the commit that it named then.
pub(crate) fn check_tag(entry: &lock::Package, locked: Option<&lock::Package>) -> Result<(), Error> {
    let Some(locked) = locked else { return Ok(()) };
    let same_tag = locked.ref_kind == Some(lock::RefKind::Tag) && locked.git_ref == entry.git_ref;
    match (&locked.commit, &entry.commit, &entry.git_ref) {
        (Some(expected), Some(found), Some(tag)) if same_tag && expected != found => Err(Error::TagMoved {
            package: entry.id.clone(),
            tag: tag.clone(),
            expected: expected.clone(),
            found: found.clone(),
        }),
        _ => Ok(()),
    }
}

/// Remembers the highest version. What was resolved and not asked for by its exact name must not be lower.
fn ratchet(
    mut entry: lock::Package,
    locked: Option<&lock::Package>,
    allowed: Allowed,
    exact: bool,
) -> Result<lock::Package, Error> {
    let version = |text: Option<&String>| text.and_then(|text| semver::Version::parse(text).ok());
    let highest = version(locked.and_then(|locked| locked.highest.as_ref()));
    let found = version(entry.resolved.as_ref());
    if let (Some(highest), Some(found)) = (&highest, &found)
        && found < highest
        && !exact
        && !allowed.downgrade
    {
        return Err(Error::Downgrade {
            package: entry.id.clone(),
            expected: highest.to_string(),
            found: found.to_string(),
        });
    }
    let start_anew = exact || allowed.downgrade;
    entry.highest = if start_anew { found } else { found.max(highest) }.map(|version| version.to_string());
    Ok(entry)
}

/// Goes back to the package that was current before.
///
/// # Errors
/// `E_NO_PREVIOUS`, `E_UNKNOWN_PACKAGE`, `E_LOCK_DRIFT` when it is damaged.
pub fn rollback(scope_root: &Path, id: &str) -> Result<lock::Package, Error> {
    let store = crate::store::Store::at(scope_root);
    let held = store.hold(Some(&|| Ok(())))?;
    let mut lock = Lock::read(scope_root)?;
    let locked = lock.get(id).ok_or_else(|| Error::UnknownPackage { package: id.to_owned() })?.clone();
    let previous = previous(&locked, store.pointer(id)?);
    let previous = previous.ok_or_else(|| Error::NoPrevious { package: id.to_owned() })?;
    previous.check(&Lock::path(scope_root))?;
    same(&previous, "the id", id, &previous.id)?;
    verify_store(&store, &previous)?;
    lock.insert(previous.clone());
    lock.write(scope_root)?;
    held.write_pointer(id, &Pointer { current: previous.clone(), previous: Some(locked) })?;
    Ok(previous)
}

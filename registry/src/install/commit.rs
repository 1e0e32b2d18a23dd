use super::{Installed, InstalledMod, Installer, Offer, Staged, Step};
use crate::{
    Error, hash,
    lock::{self, Lock, LockedArtifact},
    manifest::Artifact,
    package::PackageMod,
    signature::{self, Subject},
    store::{Held, Pointer},
    verify::same,
};

impl Installer<'_> {
    /// Checks a package that is unpacked in `tmp`, and makes it the current one of its id. With a `pin` it must be that
    /// very package.
    pub(super) fn commit(
        &self,
        held: &Held<'_>,
        staged: Staged,
        mut entry: lock::Package,
        pin: Option<&lock::Package>,
    ) -> Result<Installed, Error> {
        let mut lock = Lock::read(self.scope_root)?;
        let mut warnings = staged.contents.warnings.clone();
        entry.tree = hash::tree_digest(&staged.files);
        entry.resolved = entry.resolved.or_else(|| staged.contents.version.clone());
        entry.artifacts = self.check(&staged, &mut warnings)?;
        entry.signer = self.check_signature(&staged, &entry.id, &lock)?;
        entry.check(&Lock::path(self.scope_root))?;
        if let Some(pin) = pin {
            same(pin, "the files", &pin.tree, &entry.tree)?;
            entry = pin.clone();
        }
        let mods: Vec<InstalledMod> = staged.contents.mods.iter().map(installed_mod).collect();
        self.reached(Step::Checked)?;
        if pin.is_none() {
            (self.review)(&Offer {
                package: &entry,
                replaces: lock.get(&entry.id),
                mods: &mods,
                warnings: &warnings,
                root: &staged.root,
            })?;
        }
        self.fetching.go_on()?;
        let reused = held.commit(&staged.root, &staged.files)?;
        (self.progress)(Step::Stored);
        let pointed = self.store.pointer(&entry.id).ok().flatten();
        let replaced = lock.insert(entry.clone());
        lock.write(self.scope_root)?;
        (self.progress)(Step::Locked);
        let pointer = Pointer { current: entry.clone(), previous: previous(&entry, pointed) };
        held.write_pointer(&entry.id, &pointer)?;
        (self.progress)(Step::Pointed);
        held.collect_garbage(&lock)?;
        Ok(Installed {
            id: entry.id,
            resolved: entry.resolved,
            previous: replaced.and_then(|replaced| replaced.resolved),
            tree: entry.tree,
            reused,
            mods,
            warnings,
        })
    }

    fn check_signature(&self, staged: &Staged, id: &str, lock: &Lock) -> Result<Option<String>, Error> {
        let subject = Subject {
            id,
            root: &staged.root,
            files: &staged.files,
            contents: &staged.contents,
            known: lock.get(id).and_then(|package| package.signer.as_deref()),
        };
        signature::check(&subject, &self.signing, self.allowed.other_signer)
    }

    /// Compares every library with its manifest, for all targets, and refuses what could not be loaded here.
    fn check(&self, staged: &Staged, warnings: &mut Vec<String>) -> Result<Vec<LockedArtifact>, Error> {
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
pub(super) fn previous(entry: &lock::Package, pointed: Option<Pointer>) -> Option<lock::Package> {
    pointed.and_then(|pointer| {
        if pointer.current.tree == entry.tree { pointer.previous } else { Some(pointer.current) }
    })
}

fn installed_mod(package_mod: &PackageMod) -> InstalledMod {
    let manifest = &package_mod.manifest;
    InstalledMod {
        name: manifest.name.clone(),
        version: manifest.version.clone(),
        interface: manifest.interface,
        path: package_mod.path.clone(),
        targets: manifest.artifacts.iter().map(|artifact| artifact.target.clone()).collect(),
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

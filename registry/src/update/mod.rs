//! Bringing what is installed in line with settings and lock.
//!
//! What is missing or damaged comes back exactly as it is locked. A source whose version or ref was changed in the
//! settings is resolved anew. What is not pinned (a range, a branch, no version at all) stays where it is, and moves
//! with `latest` only. A tag that was moved by its author is an error, and so is a version older than one seen before.
//! Each package is by itself: one that fails keeps what it has and holds up no other. Nothing is called done before the
//! files on disk have been hashed. With `locked` nothing is resolved at all.

use crate::{
    Error, Installer,
    install::check_tag,
    lock::{self, Lock, RefKind},
    source::{GitSource, Source, absolute},
    verify::verify_tree,
};
use std::{collections::BTreeSet, path::Path};

/// Which packages to move.
#[derive(Debug, Clone, Default)]
pub struct UpdateOptions {
    /// Resolve what is not pinned anew.
    pub latest: bool,
    /// Only bring back what is missing or damaged: `mods verify --fix`.
    pub repair_only: bool,
    /// What would change the lock is an error: for machines that install what others have locked.
    pub locked: bool,
    /// Only the package of this id.
    pub only: Option<String>,
}

/// What became of a package.
#[derive(Debug)]
pub struct Updated {
    /// Its id, or its source when that cannot be read.
    pub id: String,
    /// What was done.
    pub outcome: Outcome,
}

/// What was done.
#[derive(Debug)]
pub enum Outcome {
    /// It was not installed, and is now: at this version.
    Installed(String),
    /// It was missing or damaged, and is back as it was locked.
    Restored,
    /// It was as it should be.
    Unchanged,
    /// It moved from one version to another.
    Changed(String, String),
    /// Nothing was changed.
    Failed(Error),
}

/// Updates the packages of `mods.sources`. `base` is what relative paths start from, `home` the user's folder.
pub fn update<S: AsRef<str>>(
    installer: &Installer<'_>,
    sources: &[S],
    base: &Path,
    home: Option<&Path>,
    options: &UpdateOptions,
) -> Vec<Updated> {
    let mut done = Vec::new();
    for text in sources.iter().map(AsRef::as_ref) {
        let source = match Source::parse(text) {
            Ok(source) => source,
            Err(error) => {
                done.push(Updated { id: text.to_owned(), outcome: Outcome::Failed(error) });
                continue;
            }
        };
        let id = source.identity(base, home).unwrap_or_else(|| text.to_owned());
        if options.only.as_ref().is_some_and(|only| *only != id) {
            continue;
        }
        let place = || absolute(Path::new(text), base, home);
        let outcome = match &source {
            Source::Path(_) if !place().exists() => Err(missing_path(&place())),
            Source::Path(_) => Ok(Outcome::Unchanged),
            _ => one(installer, text, &source, &id, options),
        };
        done.push(Updated { id, outcome: outcome.unwrap_or_else(Outcome::Failed) });
    }
    done
}

fn one(
    installer: &Installer<'_>,
    text: &str,
    source: &Source,
    id: &str,
    options: &UpdateOptions,
) -> Result<Outcome, Error> {
    let lock = Lock::read(installer.scope_root())?;
    let outdated = |reason: String| Err(Error::LockOutdated { reason });
    let Some(locked) = lock.get(id) else {
        if options.locked {
            return outdated(format!("the lock has no entry for: {text}"));
        }
        let installed = installer.add(text)?;
        return on_disk(installer, id, Outcome::Installed(installed.resolved.unwrap_or_default()));
    };
    if !options.repair_only && !is_same_request(source, locked) {
        if options.locked {
            return outdated(format!("the settings ask for {text}, the lock has: {}", locked.source));
        }
        return resolve(installer, text, locked);
    }
    let mut outcome = Outcome::Unchanged;
    if verify_tree(installer.scope_root(), locked).is_err() {
        installer.restore(locked)?;
        outcome = on_disk(installer, id, Outcome::Restored)?;
    }
    if options.repair_only || options.locked {
        return Ok(outcome);
    }
    match source {
        Source::Git(git) if locked.ref_kind == Some(RefKind::Tag) => {
            tag(installer, text, git, locked, outcome)
        }
        _ if options.latest && !is_pinned(source, locked) => resolve(installer, text, locked),
        _ => Ok(outcome),
    }
}

/// Installs what the source means now.
fn resolve(installer: &Installer<'_>, text: &str, locked: &lock::Package) -> Result<Outcome, Error> {
    installer.add(text)?;
    let lock = Lock::read(installer.scope_root())?;
    let outcome = match lock.get(&locked.id) {
        Some(now) if now.tree == locked.tree => Outcome::Unchanged,
        Some(now) => Outcome::Changed(version(locked), version(now)),
        None => {
            return Err(Error::UnknownPackage { package: locked.id.clone() });
        }
    };
    on_disk(installer, &locked.id, outcome)
}

/// A tag must still name the commit that it named.
fn tag(
    installer: &Installer<'_>,
    text: &str,
    source: &GitSource,
    locked: &lock::Package,
    outcome: Outcome,
) -> Result<Outcome, Error> {
    let (false, Some(tag)) = (installer.is_offline(), &locked.git_ref) else {
        return Ok(outcome);
    };
    let found = installer.tag_commit(source, tag)?.unwrap_or_else(|| "no such tag".to_owned());
    if locked.commit.as_ref() == Some(&found) {
        return Ok(outcome);
    }
    if installer.allowed().moved_tag {
        return resolve(installer, text, locked);
    }
    check_tag(&lock::Package { commit: Some(found), ..locked.clone() }, Some(locked))?;
    Ok(outcome)
}

/// Looks at the disk before anything is called done.
fn on_disk(installer: &Installer<'_>, id: &str, outcome: Outcome) -> Result<Outcome, Error> {
    let lock = Lock::read(installer.scope_root())?;
    let package = lock.get(id).ok_or_else(|| Error::UnknownPackage { package: id.to_owned() })?;
    verify_tree(installer.scope_root(), package)?;
    Ok(outcome)
}

/// Whether the settings still ask for what the lock was resolved from.
fn is_same_request(source: &Source, locked: &lock::Package) -> bool {
    match (source, Source::parse(&locked.source)) {
        (Source::Npm(now), Ok(Source::Npm(then))) => now.version == then.version,
        (Source::Git(now), Ok(Source::Git(then))) => now.reference == then.reference,
        (Source::File(_), _) => true,
        _ => false,
    }
}

fn is_pinned(source: &Source, locked: &lock::Package) -> bool {
    match source {
        Source::Npm(npm) => npm.is_pinned(),
        Source::Git(_) => matches!(locked.ref_kind, Some(RefKind::Tag | RefKind::Commit)),
        Source::Path(_) | Source::Archive(_) | Source::File(_) => true,
    }
}

/// The version for people: for git the commit too, since a version need not change with it.
fn version(package: &lock::Package) -> String {
    let commit = package.commit.as_deref().map(|commit| commit.get(..12).unwrap_or(commit));
    match (package.resolved.as_deref(), commit) {
        (Some(version), Some(commit)) => format!("{version} ({commit})"),
        (Some(version), None) => version.to_owned(),
        (None, commit) => commit.unwrap_or_default().to_owned(),
    }
}

/// Compares settings, lock and store, and writes nothing: `mods lock --check`. Gives what differs.
pub fn check_lock<S: AsRef<str>>(
    scope_root: &Path,
    sources: &[S],
    base: &Path,
    home: Option<&Path>,
) -> Vec<Error> {
    let lock = match Lock::read(scope_root) {
        Ok(lock) => lock,
        Err(error) => return vec![error],
    };
    let outdated = |reason: String| Error::LockOutdated { reason };
    let (mut problems, mut wanted) = (Vec::new(), BTreeSet::new());
    for text in sources.iter().map(AsRef::as_ref) {
        let source = match Source::parse(text) {
            Ok(source) => source,
            Err(error) => {
                problems.push(error);
                continue;
            }
        };
        let Some(id) = source.identity(base, home).filter(|id| !id.starts_with("path:")) else {
            continue;
        };
        match lock.get(&id) {
            None => problems.push(outdated(format!("the lock has no entry for: {text}"))),
            Some(locked) if !is_same_request(&source, locked) => {
                problems
                    .push(outdated(format!("the settings ask for {text}, the lock has: {}", locked.source)));
            }
            Some(_) => {}
        }
        wanted.insert(id);
    }
    for package in lock.packages() {
        if !wanted.contains(&package.id) {
            problems.push(outdated(format!("the settings do not name what the lock has: {}", package.id)));
        }
        problems.extend(verify_tree(scope_root, package).err());
    }
    problems
}

fn missing_path(path: &Path) -> Error {
    Error::Io { action: "find", path: path.to_owned(), source: std::io::ErrorKind::NotFound.into() }
}

#[cfg(test)]
mod tests;

mod code;

use crate::object::Refusal;
use std::{
    io,
    path::{Path, PathBuf},
};

/// Everything that can go wrong with a package. Each has a stable code, see [`Error::code`], and one line of text that
/// says what was got, what was expected, and which command helps.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file system refused.
    #[error("could not {action} {}: {source}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On which file.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// A name that is not one.
    #[error("the {what} name is not usable, expected {expected}, got: {name:?}")]
    Name {
        /// What bears the name.
        what: &'static str,
        /// What it may look like.
        expected: &'static str,
        /// The name.
        name: String,
    },
    /// A source that cannot be read.
    #[error(
        "the package source is not usable, {reason}, expected npm:NAME[@VERSION], OWNER/REPO[@REF], git:HOST/PATH[@REF], https://HOST/PATH, or ./PATH, got: {text}"
    )]
    Source {
        /// What is wrong with it.
        reason: &'static str,
        /// The source, without what is secret in it.
        text: String,
    },
    /// A manifest that is missing or cannot be read.
    #[error("the manifest {} cannot be used, correct it or get the package anew: {reason}", path.display())]
    Manifest {
        /// The file.
        path: PathBuf,
        /// What is wrong, with got and expected.
        reason: String,
    },
    /// A manifest of a newer schema.
    #[error("the manifest {} needs a newer cmd, update cmd, expected schema {expected}, got: {found}", path.display())]
    ManifestSchema {
        /// The file.
        path: PathBuf,
        /// The schema that this version reads.
        expected: i64,
        /// The schema of the file.
        found: i64,
    },
    /// No artefact for this machine.
    #[error(
        "the mod {name} has no artifact for {target}, ask its author for one, has artifacts for: {available}"
    )]
    NoArtifact {
        /// The mod.
        name: String,
        /// This machine's target.
        target: String,
        /// The targets that it has.
        available: String,
    },
    /// A library that must not be loaded.
    #[error("{}: {refusal}", file.display())]
    Refused {
        /// The library.
        file: PathBuf,
        /// Why.
        refusal: Refusal,
    },
    /// A library that is not for the target its manifest names.
    #[error(
        "the manifest declares {file} for {target}, the file says otherwise, get the package anew from its author: {refusal}"
    )]
    TargetLies {
        /// The library, as the manifest names it.
        file: String,
        /// The target that the manifest names.
        target: String,
        /// What the file says.
        refusal: Refusal,
    },
    /// A library that is another mod, or another version, than its manifest says.
    #[error(
        "the manifest and the library {file} disagree, rebuild the package with cmd mods pack, expected {expected}, got: {found}"
    )]
    Identity {
        /// The library, as the manifest names it.
        file: String,
        /// Name, version and interface in the manifest.
        expected: String,
        /// Name, version and interface in the library.
        found: String,
    },
    /// A lock file that cannot be read.
    #[error("the lock file {} cannot be used, restore it, or delete it and run cmd mods add for each package: {reason}", path.display())]
    Lock {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A lock file of a newer version.
    #[error("the lock file {} needs a newer cmd, update cmd, expected version {expected}, got: {found}", path.display())]
    LockVersion {
        /// The file.
        path: PathBuf,
        /// The version that is read and written here.
        expected: i64,
        /// The version of the file.
        found: i64,
    },
    /// What is installed is not what is locked.
    #[error(
        "{package} is not installed as it is locked, run cmd mods update, {what}: expected {expected}, got: {found}"
    )]
    LockDrift {
        /// The package's id.
        package: String,
        /// What differs.
        what: String,
        /// What the lock says.
        expected: String,
        /// What was found.
        found: String,
    },
    /// Locked, but not in the store.
    #[error("the package is locked but not installed here, run cmd mods update: {package}")]
    NotInstalled {
        /// The package's id.
        package: String,
    },
    /// In the registry folder, but not in the lock.
    #[error("nothing in the lock file stands for this folder, run cmd mods add for its package, or remove it: {}", path.display())]
    NoLockEntry {
        /// The folder.
        path: PathBuf,
    },
    /// No such package.
    #[error("no such package is installed, see cmd mods list: {package}")]
    UnknownPackage {
        /// The package's id.
        package: String,
    },
    /// The registry folder could be written by others.
    #[error("others could change the installed mods, {reason}: {}", path.display())]
    Permissions {
        /// The folder.
        path: PathBuf,
        /// What is wrong and how to mend it.
        reason: &'static str,
    },
    /// Another process is installing.
    #[error("another cmd is changing the packages of this scope, wait for it and try again: {}", path.display())]
    Busy {
        /// The lock file that it holds.
        path: PathBuf,
    },
    /// An archive that is cut off or is none.
    #[error("the archive cannot be used, get it anew or make it anew with cmd mods pack: {reason}")]
    Archive {
        /// What is wrong.
        reason: String,
    },
    /// A path in a package that could be another one elsewhere.
    #[error(
        "the package has a path that cannot be used, {reason}, get the package anew from its author: {path:?}"
    )]
    EntryPath {
        /// The path.
        path: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A link, a device or another thing that is neither file nor folder.
    #[error(
        "the package has an entry that is neither a file nor a folder but {found}, its author must leave it out: {path:?}"
    )]
    EntryType {
        /// The path.
        path: String,
        /// What it is.
        found: String,
    },
    /// Two entries that are one file on some system.
    #[error(
        "the package has two entries that are one file on some systems, its author must rename one: {first:?}, {second:?}"
    )]
    EntryDuplicate {
        /// The first.
        first: String,
        /// The second.
        second: String,
    },
    /// Over a limit.
    #[error("the package is too big, {what}: expected at most {limit}, got: {found}")]
    TooBig {
        /// What is counted.
        what: &'static str,
        /// The limit.
        limit: u64,
        /// The count, or the first one over the limit.
        found: u64,
    },
    /// An archive that is not the one that is locked or announced.
    #[error(
        "the archive of {package} is not the expected one, get it anew from a source you trust, expected {expected}, got: {found}"
    )]
    Integrity {
        /// The package's id.
        package: String,
        /// The integrity that is locked or announced.
        expected: String,
        /// The integrity of the bytes.
        found: String,
    },
    /// A file that differs from its manifest or lock.
    #[error("the file {} is not the expected one, run cmd mods update, expected {expected}, got: {found}", path.display())]
    HashMismatch {
        /// The file.
        path: PathBuf,
        /// Hash and size in the manifest or lock.
        expected: String,
        /// Hash and size of the file.
        found: String,
    },
    /// Not signed where it must be.
    #[error(
        "the package must be signed and is not, ask its author for a signed one, or change mods.signing: {package}"
    )]
    Unsigned {
        /// The package's id.
        package: String,
    },
    /// A signature that is not good.
    #[error("the signature of {package} is not good, do not use the package, and tell its author: {reason}")]
    BadSignature {
        /// The package's id.
        package: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Another key than the first time.
    #[error(
        "{package} was signed by another key before, ask its author why, then run cmd mods trust {package}, expected {expected}, got: {found}"
    )]
    SignerChanged {
        /// The package's id.
        package: String,
        /// The key that is known.
        expected: String,
        /// The key it is signed with now.
        found: String,
    },
    /// npm or git is not installed.
    #[error(
        "the program that fetches this package is not installed, install it or use an archive or a path: {program}"
    )]
    ToolMissing {
        /// `npm` or `git`.
        program: &'static str,
    },
    /// npm or git took too long.
    #[error("fetching took more than {seconds} seconds, look at the network and try again: {program}")]
    Timeout {
        /// `npm` or `git`.
        program: &'static str,
        /// The limit.
        seconds: u64,
    },
    /// npm or git failed.
    #[error("could not fetch {what}, look at its name and version and at the network: {reason}")]
    Fetch {
        /// The package.
        what: String,
        /// What the program said.
        reason: String,
    },
    /// Not on this machine, and the network is not to be used.
    #[error("the package is not on this machine, run the command again without --offline: {package}")]
    Offline {
        /// The package's id.
        package: String,
    },
    /// A tag that names another commit than before.
    #[error(
        "the tag {tag} of {package} was moved by its author, ask why, then run cmd mods update --accept-moved, expected {expected}, got: {found}"
    )]
    TagMoved {
        /// The package's id.
        package: String,
        /// The tag.
        tag: String,
        /// The commit that is locked.
        expected: String,
        /// The commit that it names now.
        found: String,
    },
    /// Another registry than before.
    #[error(
        "{package} came from another registry before, look at your npm settings, or remove and add the package, expected {expected}, got: {found}"
    )]
    RegistryChanged {
        /// The package's id.
        package: String,
        /// The registry that is locked.
        expected: String,
        /// The registry that npm would use.
        found: String,
    },
    /// An older version than was seen before.
    #[error(
        "{package} would go back to an older version, run cmd mods update --allow-downgrade if you want that, expected at least {expected}, got: {found}"
    )]
    Downgrade {
        /// The package's id.
        package: String,
        /// The highest version that was seen.
        expected: String,
        /// The version that was resolved.
        found: String,
    },
    /// Nothing to go back to.
    #[error(
        "there is no earlier version of the package here to go back to, add the version that you want: {package}"
    )]
    NoPrevious {
        /// The package's id.
        package: String,
    },
    /// The settings name a package that the lock does not have, or the other way round.
    #[error("settings and lock do not agree, run cmd mods update: {reason}")]
    LockOutdated {
        /// What differs.
        reason: String,
    },
    /// The user, or a trial, said no.
    #[error("the package was not installed, and nothing was changed: {reason}")]
    Declined {
        /// Why.
        reason: String,
    },
    /// The user stopped it.
    #[error("it was interrupted before anything was changed, run the command again")]
    Interrupted,
    /// A package without mods.
    #[error(
        "the package ships no mod, expected a mod.toml, a mods/ folder, or commandcode.mods in its package.json: {package}"
    )]
    NoMods {
        /// The package.
        package: String,
    },
}

/// Puts the file and what was tried into an error of the file system.
pub(crate) trait IoContext<T> {
    fn at(self, action: &'static str, path: &Path) -> Result<T, Error>;
}

impl<T> IoContext<T> for io::Result<T> {
    fn at(self, action: &'static str, path: &Path) -> Result<T, Error> {
        self.map_err(|source| Error::Io { action, path: path.to_owned(), source })
    }
}

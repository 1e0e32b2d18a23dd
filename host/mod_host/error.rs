use std::{io, path::PathBuf, time::Duration};

/// Why a mod did not load. One bad mod never stops the others.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file cannot be read.
    #[error("cannot read the library, check its path and who may read it: {error}: {}", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A folder of mods cannot be read.
    #[error("cannot look for mods, make this a folder that you may read: {error}: {}", .path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A folder among the mods that is none.
    #[error("no mod here, expected a folder with a mod.toml; put it there or take the folder away: {}", .path.display())]
    NoManifest {
        /// The folder.
        path: PathBuf,
    },
    /// The settings name a package that is not there. A start fetches nothing.
    #[error("the settings name this package and it is not installed, run cmd mods update: {package}")]
    NotInstalled {
        /// Its identity.
        package: String,
    },
    /// The file is larger than any mod.
    #[error("a library of at most {most} bytes is expected, got {got}: {}", .path.display())]
    TooBig {
        /// The file.
        path: PathBuf,
        /// Its size.
        got: u64,
        /// The limit.
        most: u64,
    },
    /// The bytes cannot be put where nobody changes them.
    #[error("cannot put the library where nobody can change it: {error}: {}", .path.display())]
    CannotSeal {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The bytes are not those of the lock.
    #[error(
        "the library was changed after it was packed, install it again (cmd mods update, for an archive cmd mods add), expected sha256 {expected}, \
         got {got}: {}", .path.display()
    )]
    Hash {
        /// The file.
        path: PathBuf,
        /// The hash of the lock.
        expected: String,
        /// The hash of the bytes.
        got: String,
    },
    /// What is on disk is not what a package or a mod directory must be, or the library may not load.
    #[error(transparent)]
    Package(#[from] registry::Error),
    /// The system's loader refused it.
    #[error("the system cannot load the library: {error}: {}", .path.display())]
    CannotLoad {
        /// The file.
        path: PathBuf,
        /// The loader's words.
        error: String,
    },
    /// The library exports no root module that can be used.
    #[error(
        "the library has no root module that can be used, export the mod with export_mod!(factory), got {error}: {name}"
    )]
    NoRootModule {
        /// The mod.
        name: String,
        /// What was found.
        error: String,
    },
    /// The library was built against an interface that this host has not.
    #[error(
        "built against interface {got}, this cmd has {expected}; build the mod again, or update cmd: {name}"
    )]
    Interface {
        /// The mod.
        name: String,
        /// The mod's interface.
        got: String,
        /// The host's.
        expected: String,
    },
    /// The library says one interface and has another.
    #[error(
        "does not have the layout of the interface that it names; build it again, unchanged: {error}: {name}"
    )]
    Layout {
        /// The mod.
        name: String,
        /// The first difference.
        error: String,
    },
    /// The code calls itself otherwise than its manifest does.
    #[error("the library is {got}, its manifest says {expected}; pack or install it again")]
    Identity {
        /// Name and version of the library.
        got: String,
        /// Name and version of the manifest.
        expected: String,
    },
    /// Its code calls itself otherwise than its metadata does.
    #[error(
        "the library says that it is {expected} before it runs, and {got} once it does; build it anew with export_mod!"
    )]
    TwoIdentities {
        /// Name and version of the root module.
        got: String,
        /// Name and version of the metadata.
        expected: String,
    },
    /// Its factory failed.
    #[error("its factory failed, nothing of it is registered: {error}")]
    Factory {
        /// What the factory said.
        error: String,
    },
    /// Loading took too long.
    #[error(
        "did not load within {limit:?}, stuck in its {place}; start without it: take it out of `--mod`, \
         or put its name into `mods.disabled`: {name}"
    )]
    Stuck {
        /// The mod.
        name: String,
        /// `constructor` or `factory`.
        place: &'static str,
        /// How long it had.
        limit: Duration,
    },
    /// The name is one of the host's own.
    #[error("a built-in mod has that name; rename the mod: {name}")]
    BuiltinName {
        /// The mod.
        name: String,
    },
    /// Another mod of that name came first.
    #[error(
        "another mod of that name comes before it, from {first}; take one of them out or rename it: {name}"
    )]
    Duplicate {
        /// The mod.
        name: String,
        /// Where the first came from.
        first: String,
    },
    /// `--mod` names something that is no mod.
    #[error("no mod here: expected a library, a directory with mod.toml, or a package that was built ({hint}): {}", .path.display())]
    NotAMod {
        /// What was named.
        path: PathBuf,
        /// What to do.
        hint: String,
    },
}

impl LoadError {
    /// The code to search for, stable across versions.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unreadable { .. } | Self::Folder { .. } => "E_UNREADABLE",
            Self::NoManifest { .. } | Self::NotAMod { .. } => "E_NOT_A_MOD",
            Self::NotInstalled { .. } => "E_NOT_INSTALLED",
            Self::TooBig { .. } => "E_TOO_BIG",
            Self::CannotSeal { .. } => "E_SEAL",
            Self::Hash { .. } => "E_HASH_MISMATCH",
            Self::Package(error) => error.code(),
            Self::CannotLoad { .. } => "E_DLOPEN",
            Self::NoRootModule { .. } => "E_NO_ROOT_MODULE",
            Self::Interface { .. } => "E_INTERFACE",
            Self::Layout { .. } => "E_LAYOUT",
            Self::Identity { .. } | Self::TwoIdentities { .. } => "E_IDENTITY",
            Self::Factory { .. } => "E_FACTORY",
            Self::Stuck { .. } => "E_STUCK",
            Self::BuiltinName { .. } => "E_BUILTIN_NAME",
            Self::Duplicate { .. } => "E_DUPLICATE",
        }
    }
}

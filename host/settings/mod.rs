//! Settings of the user and of the project, and which workspaces are trusted.
//!
//! Two `settings.json` files, each JSON with comments: the user's in the home folder, the project's in
//! `<cwd>/.commandcode`. [`load`] reads both; [`Loaded::merge`] makes one value of them, and lets the
//! project say no more than its trust allows. [`edit`] changes a file and keeps what a person wrote
//! around the change.

mod edit;
mod error;
mod known;
mod layer;
mod merge;
mod places;
mod read;
mod trust;
mod twice;
mod write;

pub use edit::{Document, edit};
pub use error::Error;
pub use known::KnownMods;
pub use layer::{Api, Compaction, Layer, ModLayer, Permissions, Signing, SigningMode, Source, ToolExecution};
pub use merge::{Loaded, Mods, Settings};
pub use places::{Places, Scope};
pub(crate) use read::nearest;
pub use read::{load, read};
pub use trust::{ModHash, Trust, Verdict};

pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;

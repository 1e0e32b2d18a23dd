//! The misbehaving mod, once compiled in and once as a shared library.

#[path = "../mods/misbehaving/src/bad.rs"]
mod bad;

use std::path::{Path, PathBuf};

use host::{harness::HarnessBuilder, mod_host::Code, settings::Settings};
use mod_interface::{abi::ModRootRef, builtin_mod};
use serde_json::Value;
use tempfile::TempDir;

use super::{
    behaving::session,
    fixtures::Library,
    mods::{compiled_in, loose},
};

const NAME: &str = "misbehaving";

/// The options that make the mod do `how` at `at`.
pub(crate) fn options(at: &str, how: &str) -> [(String, String); 2] {
    [("at", at), ("how", how)].map(|(name, value)| (format!("{NAME}.{name}"), value.to_owned()))
}

fn root() -> ModRootRef {
    builtin_mod!(NAME, bad::misbehaving)
}

/// The shared library, small enough to be loaded often, and the same code compiled in.
pub(crate) struct Misbehaving {
    library: PathBuf,
    _dir: TempDir,
}

impl Misbehaving {
    pub(crate) fn new() -> Self {
        let dir = TempDir::new().unwrap();
        Self { library: Library::stripped(NAME).write(&dir.path().join("lib.so")), _dir: dir }
    }

    /// Both ways, for a mod host by itself.
    pub(crate) fn ways(&self) -> [Code; 2] {
        [compiled_in(NAME, root()), loose(&self.library)]
    }

    /// The events of a session in which the mod does `how` at `at`: the same both ways.
    pub(crate) async fn both(&self, turns: &Value, at: &str, how: &str, settings: &Settings) -> Vec<String> {
        let with = async |add: &dyn Fn(HarnessBuilder) -> HarnessBuilder| {
            let build = |builder: HarnessBuilder, _: &Path| {
                add(builder).mod_options(options(at, how)).settings(settings.clone())
            };
            session(turns, build).await
        };
        let compiled: Vec<_> = with(&|builder| builder.built_in(NAME, root())).await;
        let compiled: Vec<_> = compiled.iter().map(|line| as_built(line)).collect();
        let shared = with(&|builder| builder.mods([self.library.clone()])).await;
        assert_eq!(compiled, shared, "compiled in (left) and as a shared library (right), {how} at {at}");
        shared
    }
}

/// The place of a panic as it is in the library.
pub(crate) fn as_built(text: &str) -> String {
    text.replace("tests/it/../support/../mods", "tests/mods")
}

//! The `mods` key of a settings file, as far as it is about packages.
//!
//! ```json
//! {
//!   "mods": {
//!     "sources": ["npm:@team/review-mod@1.2.0", {"source": "owner/review-pack", "mods": ["review/*", "!review/slow"]}],
//!     "paths": ["tools/mods"],
//!     "disabled": ["titling"],
//!     "signing": {"mode": "tofu", "keys": {"npm:@team/*": ["RW…"]}}
//!   }
//! }
//! ```
//! These types read. Whoever writes a settings file changes its text in place, and keeps what people wrote by hand.

use crate::{Error, filter::Filter, source::Source};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, path::Path};

/// What the `mods` key holds about packages; other keys are left to others.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ModsSettings {
    /// The packages to load mods from.
    pub sources: Vec<SourceEntry>,
    /// Files and folders to load mods from, relative to the scope.
    pub paths: Vec<String>,
    /// Names of mods that are not loaded.
    pub disabled: Vec<String>,
    /// Whether packages must be signed.
    pub signing: Signing,
}

/// A package to load mods from: its source, or its source and which of its mods.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SourceEntry {
    /// All mods.
    Whole(String),
    /// The mods that a filter lets through.
    Part {
        /// The source.
        source: String,
        /// The patterns, see [`Filter`].
        #[serde(default)]
        mods: Vec<String>,
    },
    /// Neither: it is kept as it is, and spoils no other entry.
    Unknown(serde_json::Value),
}

/// The `mods.signing` setting.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Signing {
    /// What is asked of a package.
    pub mode: SigningMode,
    /// Public keys for packages whose ids match a pattern.
    pub keys: BTreeMap<String, Vec<String>>,
}

/// What is asked of a package.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SigningMode {
    /// Signatures are not looked at.
    Off,
    /// A signature must be good when there is one, and by the same key as the first time.
    #[default]
    Tofu,
    /// Every package must be signed by a configured key.
    Require,
}

impl SourceEntry {
    /// The source's text, as far as there is one.
    pub fn source(&self) -> Option<&str> {
        match self {
            Self::Whole(source) | Self::Part { source, .. } => Some(source),
            Self::Unknown(_) => None,
        }
    }

    /// The source, read.
    ///
    /// # Errors
    /// `E_SOURCE`.
    pub fn parse(&self) -> Result<Source, Error> {
        match self {
            Self::Whole(source) | Self::Part { source, .. } => Source::parse(source),
            Self::Unknown(value) => Err(Error::Source {
                reason: "an entry is a text, or an object with source and mods",
                text: value.to_string(),
            }),
        }
    }

    /// Which mods of the package are loaded.
    pub fn filter(&self) -> Filter {
        match self {
            Self::Whole(_) | Self::Unknown(_) => Filter::default(),
            Self::Part { mods, .. } => Filter::new(mods),
        }
    }
}

/// The entry of the same package, whatever version or ref either has. `mods add` puts the new text in its place, and
/// `mods remove` takes it out.
pub fn position(entries: &[SourceEntry], source: &Source, base: &Path, home: Option<&Path>) -> Option<usize> {
    let wanted = source.identity(base, home)?;
    let identity = |entry: &SourceEntry| entry.parse().ok()?.identity(base, home);
    entries.iter().position(|entry| identity(entry).as_deref() == Some(&wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_an_entry_are_read_and_written_back() {
        let json = serde_json::json!({
            "sources": ["npm:a", {"source": "owner/pack", "mods": ["review/*", "!review/slow"]}],
            "paths": ["tools"],
            "disabled": ["titling"],
            "signing": {"mode": "require", "keys": {"npm:@team/*": ["RW"]}},
        });
        let settings: ModsSettings = serde_json::from_value(json.clone()).unwrap();
        assert_eq!(serde_json::to_value(&settings).unwrap(), json);
        let filter = settings.sources[1].filter();
        assert_eq!(
            [
                filter.includes("review/a", "a"),
                filter.includes("review/slow", "slow"),
                filter.includes("lint", "lint")
            ],
            [true, false, false]
        );
        assert!(settings.sources[0].filter().includes("anything", "x"));
    }

    #[test]
    fn conformance_20_a_malformed_entry_spoils_no_other() {
        let json = serde_json::json!({"sources": [7, "npm:a", {"mods": []}, {"source": "b", "mods": "x"}]});
        let settings: ModsSettings = serde_json::from_value(json.clone()).unwrap();
        let codes: Vec<_> =
            settings.sources.iter().map(|entry| entry.parse().map_err(|error| error.code())).collect();
        assert_eq!([&codes[0], &codes[2], &codes[3]], [&Err("E_SOURCE"); 3]);
        assert_eq!(codes[1], Source::parse("npm:a").map_err(|error| error.code()));
        assert_eq!(serde_json::to_value(&settings).unwrap()["sources"], json["sources"]);
    }

    #[test]
    fn without_the_key_everything_has_its_default() {
        let settings: ModsSettings = serde_json::from_str("{\"hookTimeoutMs\": 5}").unwrap();
        assert_eq!(settings, ModsSettings::default());
        assert_eq!(settings.signing.mode, SigningMode::Tofu);
    }

    #[test]
    fn an_entry_is_found_by_its_identity() {
        let entries = [
            SourceEntry::Whole("not a source".to_owned()),
            SourceEntry::Part {
                source: "https://github.com/owner/repo@v1".to_owned(),
                mods: vec!["a".to_owned()],
            },
            SourceEntry::Whole("./tools".to_owned()),
        ];
        let at = |text| position(&entries, &Source::parse(text).unwrap(), Path::new("/p"), None);
        assert_eq!(
            [at("owner/repo@v2"), at("/p/tools"), at("owner/other"), at("npm:tools")],
            [Some(1), Some(2), None, None]
        );
    }
}

use std::{collections::BTreeMap, num::NonZeroU32};

use mod_interface::types::PermissionMode;
use serde::{Deserialize, Deserializer, Serialize, de};

/// What one settings file says. What it leaves out is `None`, or empty.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase", expecting = "an object")]
pub struct Layer {
    /// The model, `provider/id`.
    pub model: Option<String>,
    /// What runs unasked, and what never runs.
    pub permissions: Permissions,
    /// Which mods there are.
    pub mods: ModLayer,
    /// How model requests are retried.
    pub api: Api,
    /// After how many turns a run stops.
    pub max_turns: Option<NonZeroU32>,
    /// Whether the tool calls of a batch run one after another or at once.
    pub tool_execution: Option<ToolExecution>,
    /// When a conversation is compacted.
    pub compaction: Compaction,
}

/// The key `permissions`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase", expecting = "an object")]
pub struct Permissions {
    /// The mode that a session starts in.
    pub mode: Option<PermissionMode>,
    /// Rules for what runs unasked.
    pub allow: Vec<String>,
    /// Rules for what never runs.
    pub deny: Vec<String>,
}

/// The key `mods`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase", expecting = "an object")]
pub struct ModLayer {
    /// Names of mods that do not load.
    pub disabled: Vec<String>,
    /// Further files and folders, relative to the scope's folder.
    pub paths: Vec<String>,
    /// Packages.
    pub sources: Vec<Source>,
    /// How long a hook may take of its own time; 0 is for ever.
    pub hook_timeout_ms: Option<u64>,
    /// How long a mod's tool may take of its own time; 0 is for ever.
    pub tool_timeout_ms: Option<u64>,
    /// How long a mod may take to load.
    pub load_timeout_ms: Option<NonZeroU32>,
    /// How packages must be signed.
    pub signing: Signing,
}

/// An entry of `mods.sources`: a text, or an object that also filters the package's mods.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Source {
    /// Where the package comes from.
    pub source: String,
    /// Which of its mods load; empty filters nothing.
    pub mods: Vec<String>,
}

/// The key `mods.signing`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase", expecting = "an object")]
pub struct Signing {
    /// How strict it is.
    pub mode: Option<SigningMode>,
    /// The keys that may sign, by package pattern.
    pub keys: BTreeMap<String, Vec<String>>,
}

/// How strict signing is, from lax to strict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SigningMode {
    /// Signatures are not looked at.
    Off,
    /// The first key seen is the package's from then on.
    Tofu,
    /// Every package must be signed by a known key.
    Require,
}

/// The key `compaction`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase", expecting = "an object")]
pub struct Compaction {
    /// From how many tokens on; 0 is never.
    pub threshold_tokens: Option<u64>,
}

/// The key `api`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase", expecting = "an object")]
pub struct Api {
    /// How often a request is tried in all.
    pub max_attempts: Option<NonZeroU32>,
    /// How long to wait before the second attempt; later waits grow from it.
    pub base_delay_ms: Option<u64>,
}

/// How the tool calls of a batch run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolExecution {
    /// One after another.
    Sequential,
    /// At once.
    Parallel,
}

impl<'de> Deserialize<'de> for Source {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SourceVisitor)
    }
}

/// Accepts both forms. Not an untagged enum: its errors would name neither key nor value.
struct SourceVisitor;

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct SourceObject {
    source: String,
    #[serde(default)]
    mods: Vec<String>,
}

impl<'de> de::Visitor<'de> for SourceVisitor {
    type Value = Source;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a package source, or an object with `source` and `mods`")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Source, E> {
        Ok(Source { source: text.to_owned(), mods: Vec::new() })
    }

    fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Source, A::Error> {
        let SourceObject { source, mods } =
            SourceObject::deserialize(de::value::MapAccessDeserializer::new(map))?;
        Ok(Source { source, mods })
    }
}

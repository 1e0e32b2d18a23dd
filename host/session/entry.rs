use std::{borrow::Cow, collections::BTreeMap, path::Path, sync::Arc};

use mod_interface::types::Message;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The version of the format. A reader ignores entries of a type that it does not know; what it would
/// get wrong by ignoring it needs a new version.
pub(super) const VERSION: u32 = 1;

/// The first line of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "session", rename_all = "camelCase")]
pub(super) struct Header {
    /// The format's version.
    pub(super) version: u32,
    /// The session's id.
    pub(super) id: Arc<str>,
    /// When it began.
    pub(super) timestamp: String,
    /// The workspace that it belongs to.
    pub(super) cwd: String,
    /// The bytes of its path in hex, where that is no text: `cwd` is then what can be shown of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) cwd_bytes: Option<String>,
}

impl Header {
    pub(super) fn new(id: Arc<str>, timestamp: String, cwd: &Path) -> Self {
        let bytes = cwd.as_os_str().as_encoded_bytes();
        let hex = || bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let cwd_bytes = cwd.to_str().is_none().then(hex);
        Self { version: VERSION, id, timestamp, cwd: cwd.to_string_lossy().into_owned(), cwd_bytes }
    }
}

/// A line after the first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Entry<'a> {
    /// Unique in the file; ids grow.
    pub(super) id: Cow<'a, str>,
    /// The entry before this one; none before the first.
    pub(super) parent_id: Option<Cow<'a, str>>,
    /// When it was written, in RFC 3339.
    pub(super) timestamp: Cow<'a, str>,
    /// What it says.
    #[serde(flatten)]
    pub(super) body: Body,
}

/// What an entry says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(super) enum Body {
    /// A message is appended to the conversation.
    Message {
        /// The message.
        message: Arc<Message>,
    },
    /// A mod changed what had been said: only the first `keep` messages still hold, and those that
    /// follow in the file come after them.
    Rewrite {
        /// How many hold.
        keep: usize,
    },
    /// All entries since the last commit hold from here on.
    Commit {
        /// The slots of mods that changed.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        mod_state: BTreeMap<String, Value>,
        /// The slots that are gone.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        removed: Vec<String>,
    },
    /// An entry of a type that this version does not know.
    #[serde(other)]
    Other,
}

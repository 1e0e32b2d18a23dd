use std::{borrow::Cow, collections::BTreeMap, path::Path, sync::Arc};

use mod_interface::types::Message;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The version of the format. A reader ignores entries of a type that it does not know; what it would
/// get wrong by ignoring it needs a new version. The first version knew no branches.
pub(super) const VERSION: u32 = 2;

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

/// A line after the first, as it is read.
#[derive(Debug, PartialEq)]
pub(super) struct Entry {
    /// A number in hex; numbers grow.
    pub(super) id: String,
    /// The entry that this one follows. None at the start of a branch, and for what is about the session
    /// as a whole.
    pub(super) parent_id: Option<String>,
    /// What it says.
    pub(super) body: Body,
}

/// What every line begins with.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head<'a> {
    id: String,
    parent_id: Option<String>,
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Said {
    message: Arc<Message>,
}

impl Entry {
    /// Reads a line twice, its head and then its body: an enum whose tag stands among its fields is collected before it
    /// is read, and messages are nearly all of a file.
    pub(super) fn read(line: &[u8]) -> serde_json::Result<Self> {
        let Head { id, parent_id, kind } = serde_json::from_slice(line)?;
        let body = match &*kind {
            "message" => Body::Message { message: serde_json::from_slice::<Said>(line)?.message },
            _ => serde_json::from_slice(line)?,
        };
        Ok(Self { id, parent_id, body })
    }

    pub(super) fn closes_a_turn(&self) -> bool {
        matches!(self.body, Body::Commit { .. })
    }
}

/// A line after the first, as it is written.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Line<'a> {
    pub(super) id: String,
    pub(super) parent_id: Option<String>,
    /// When it was written, in RFC 3339.
    pub(super) timestamp: &'a str,
    #[serde(flatten)]
    pub(super) body: &'a Body,
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
    /// What a mod keeps for itself. The model never sees it.
    Custom {
        /// The mod's id.
        owner: String,
        /// What it is to the mod.
        custom_type: String,
        /// What is kept.
        data: Arc<Value>,
    },
    /// What a mod says to the model beside the conversation. It becomes a message of it in a turn that follows.
    CustomMessage {
        /// The mod's id.
        owner: String,
        /// What it is to the mod.
        custom_type: String,
        /// What is said.
        content: String,
        /// Whether people see it too.
        display: bool,
        /// What the mod keeps with it.
        #[serde(default, skip_serializing_if = "Value::is_null")]
        details: Value,
    },
    /// The session goes on from another node of its tree.
    Leaf {
        /// The node.
        target_id: String,
    },
    /// A person's or a mod's name for a node.
    Label {
        /// The node.
        target_id: String,
        /// The name; none takes it away.
        label: Option<String>,
    },
    /// The session has a name.
    SessionInfo {
        /// The name.
        name: String,
    },
    /// An entry of a type that this version does not know.
    #[serde(other)]
    Other,
}

/// How an entry stands in the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// It holds once a commit closes it.
    InTurn,
    /// It holds, and others may follow it.
    Node,
    /// It is about the session as a whole, and is not in the tree.
    Aside,
}

impl Body {
    pub(super) fn standing(&self) -> Standing {
        match self {
            Self::Message { .. } | Self::Rewrite { .. } => Standing::InTurn,
            Self::Commit { .. } | Self::Custom { .. } | Self::CustomMessage { .. } | Self::Other => {
                Standing::Node
            }
            Self::Leaf { .. } | Self::Label { .. } | Self::SessionInfo { .. } => Standing::Aside,
        }
    }

    /// What a node is, for those who look at the tree.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Message { .. } => "message",
            Self::Rewrite { .. } => "rewrite",
            Self::Commit { .. } => "turn",
            Self::Custom { .. } => "custom",
            Self::CustomMessage { .. } => "custom_message",
            Self::Leaf { .. } => "leaf",
            Self::Label { .. } => "label",
            Self::SessionInfo { .. } => "session_info",
            Self::Other => "other",
        }
    }
}

/// The id of the entry of this number.
pub(super) fn entry_id(number: u64) -> String {
    format!("{number:08x}")
}

/// The number of an id.
pub(super) fn entry_number(id: &str) -> Option<u64> {
    // A number that has none behind it is no entry's.
    u64::from_str_radix(id, 16).ok().filter(|number| *number < u64::MAX / 2 && !id.starts_with('+'))
}

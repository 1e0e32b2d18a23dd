use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A node of a session's tree: what can be gone back to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TreeNode {
    /// Its id, which stays. The root's is the session's.
    pub id: String,
    /// The node that it follows; none for the root.
    pub parent_id: Option<String>,
    /// The name that somebody gave it.
    pub label: Option<String>,
    /// What it is: `session` (the root), `turn`, `custom`, `custom_message`, or what a later version has.
    pub kind: String,
}

/// What is known of a session.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct SessionInfo {
    /// Its id.
    pub id: String,
    /// Its name, once it has one.
    pub name: Option<String>,
    /// What a person said first on the branch that is active, once that turn is committed.
    pub first_prompt: Option<String>,
    /// Whether it is written to a file, and can go on later.
    pub recorded: bool,
}

/// What a mod says to the model beside the conversation: a message of the next turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CustomMessage {
    /// What it is to the mod.
    pub custom_type: String,
    /// The text.
    pub content: String,
    /// Whether people see it too.
    #[serde(default)]
    pub display: bool,
    /// What the mod keeps with it; the model does not see it.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub details: Value,
}

impl CustomMessage {
    /// A text that the model alone sees.
    pub fn new(custom_type: impl Into<String>, content: impl Into<String>) -> Self {
        Self {
            custom_type: custom_type.into(),
            content: content.into(),
            display: false,
            details: Value::Null,
        }
    }

    /// Says whether people see it too.
    #[must_use]
    pub fn display(mut self, display: bool) -> Self {
        self.display = display;
        self
    }

    /// Keeps something with it.
    #[must_use]
    pub fn details(mut self, details: Value) -> Self {
        self.details = details;
        self
    }
}

/// Where a session shall go on.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Navigation {
    /// The node behind which it goes on.
    pub target_id: String,
    /// Whether the new branch begins with a summary of what is left behind.
    #[serde(default)]
    pub summarize: bool,
    /// What the summary shall look at, beside what it always does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom_instructions: Option<String>,
}

impl Navigation {
    /// Goes to a node, without a summary.
    pub fn to(target_id: impl Into<String>) -> Self {
        Self { target_id: target_id.into(), ..Self::default() }
    }

    /// Begins the new branch with a summary of what is left behind.
    #[must_use]
    pub fn summarize(mut self) -> Self {
        self.summarize = true;
        self
    }

    /// Says what the summary shall look at.
    #[must_use]
    pub fn custom_instructions(mut self, instructions: impl Into<String>) -> Self {
        self.custom_instructions = Some(instructions.into());
        self
    }
}

use serde::{Deserialize, Serialize};

/// How much a run may do without asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PermissionMode {
    /// Asks before everything that is not read-only.
    #[default]
    Default,
    /// Only read-only tools run.
    Plan,
    /// File edits run unasked; the rest asks.
    AcceptEdits,
    /// Nothing asks. Deny rules still hold.
    Bypass,
}

impl PermissionMode {
    /// The name on the wire and on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Plan => "plan",
            Self::AcceptEdits => "accept-edits",
            Self::Bypass => "bypass",
        }
    }
}

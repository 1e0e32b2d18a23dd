use serde::{Deserialize, Serialize};

/// Where a widget stands on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// Right above the field where prompts are typed.
    AboveEditor,
    /// Right below it.
    BelowEditor,
}

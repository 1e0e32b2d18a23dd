use std::sync::Arc;

use mod_interface::types::ToolSpec;
use serde_json::Value;

use crate::tools::Tool;

/// Knows which tools there are now.
pub trait ToolSource: Send + Sync {
    /// The tools as they stand; what is added, removed or switched off later does not show in it.
    fn snapshot(&self) -> Arc<dyn Toolbox>;
}

/// The tools of one round: what the model is told of is what it can call.
pub trait Toolbox: Send + Sync {
    /// What the model is told, in an order that stays the same.
    fn specs(&self) -> Arc<[ToolSpec]>;

    /// The tool of that name.
    ///
    /// # Errors
    /// Says, for the model, that there is none or that it is switched off.
    fn find(&self, name: &str) -> Result<Arc<dyn Tool>, String>;

    /// Checks `input` against the schema of the tool of that name.
    ///
    /// # Errors
    /// Says, for the model, what is wrong with it.
    fn check_input(&self, name: &str, input: &Value) -> Result<(), String>;
}

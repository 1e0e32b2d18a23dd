use serde_json::{Value, json};

use super::{ModApi, Registration, Result, services};

/// Which tools the model has.
impl ModApi {
    /// The names of all tools: the host's, and those of mods that are loaded so far.
    ///
    /// # Errors
    /// The harness is gone.
    pub fn get_all_tools(&self) -> Result<Vec<String>> {
        names(services::now(self.frame(), "tools.all", &Value::Null)?)
    }

    /// The names of the tools that the model has at its next call.
    ///
    /// # Errors
    /// The harness is gone.
    pub fn get_active_tools(&self) -> Result<Vec<String>> {
        names(services::now(self.frame(), "tools.active", &Value::Null)?)
    }

    /// Allows these tools alone, from the next model call on, in place of what this mod allowed before.
    ///
    /// A tool is in force while every mod that ever said something allows it. What is not is not offered to the
    /// model, and a call of it fails without a question of permission. A name that no tool has is no error. Disposing
    /// it, as the end of the mod, lifts the restriction; disposing an earlier one does nothing.
    ///
    /// ```
    /// # use mod_interface::prelude::*;
    /// async fn no_shell(cmd: ModApi) -> Result<()> {
    ///     let tools = cmd.get_all_tools()?.into_iter().filter(|name| name != "shell_command");
    ///     cmd.set_active_tools(tools)?;
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    /// The harness is gone, or the mod did not load.
    pub fn set_active_tools<S: Into<String>>(
        &self,
        names: impl IntoIterator<Item = S>,
    ) -> Result<Registration> {
        let names: Vec<String> = names.into_iter().map(Into::into).collect();
        Registration::asked(self.frame(), "tools.set_active", &json!({ "names": names }))
    }
}

fn names(answer: Value) -> Result<Vec<String>> {
    Ok(serde_json::from_value(answer)?)
}

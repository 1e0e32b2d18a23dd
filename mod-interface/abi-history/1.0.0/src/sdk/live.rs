use serde_json::json;

use super::{ModApi, Result, services};
use crate::types::{DeliverAs, Effort};

/// What a mod can do to the session that goes on. In the factory there is none yet: what is asked there is kept,
/// and done in order when the session is bound, before `on_session_start`.
impl ModApi {
    /// Queues a message for the model, as if somebody had typed it.
    ///
    /// One that steers lands behind the results of the tool calls that run now, or at the beginning of the next
    /// run; one that follows up when the run would stop, ahead of all that the loop itself would go on with.
    /// What people queued comes first. It begins no run: with none going on it waits for the next.
    ///
    /// ```
    /// # use mod_interface::prelude::*;
    /// async fn tests_last(cmd: ModApi) -> Result<()> {
    ///     let api = cmd.clone();
    ///     cmd.on(EventKind::RunStart, move |_| {
    ///         api.queue_message("Run the tests before you end.", DeliverAs::FollowUp)
    ///     })?;
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    /// The text is empty, too much is asked before the session begins, or the harness is gone.
    pub fn queue_message(&self, content: &str, deliver_as: DeliverAs) -> Result<()> {
        let args = json!({ "content": content, "deliverAs": deliver_as });
        services::now(self.frame(), "queue_message", &args).map(drop)
    }

    /// Takes another model, written `provider/id`, from the next model call on. A `prepare_next_turn` hook that
    /// chose one for the rest of a run stands above it. A model that cannot be called is told as a `mod_error`, and
    /// nothing changes.
    ///
    /// ```
    /// # use mod_interface::prelude::*;
    /// async fn prefers(cmd: ModApi) -> Result<()> {
    ///     if let Some(model) = cmd.get_flag::<String>("prefer")? {
    ///         cmd.set_model(&model)?;
    ///     }
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    /// Too much is asked before the session begins, or the harness is gone.
    pub fn set_model(&self, model: &str) -> Result<()> {
        services::now(self.frame(), "set_model", &json!({ "model": model })).map(drop)
    }

    /// Takes another effort, or with `None` the model's own default, from the next model call on. As for
    /// [`Self::set_model`], a hook's choice stands above it.
    ///
    /// ```
    /// # use mod_interface::prelude::*;
    /// async fn think_hard(cmd: ModApi) -> Result<()> {
    ///     cmd.set_effort(Some(Effort::High))
    /// }
    /// ```
    ///
    /// # Errors
    /// As for [`Self::set_model`].
    pub fn set_effort(&self, effort: Option<Effort>) -> Result<()> {
        services::now(self.frame(), "set_effort", &json!({ "effort": effort })).map(drop)
    }

    /// Names the session, in place of the name that it had: one line, for the list of sessions. The event
    /// `session_titled` says so. A name that is blank, or has more than 1000 bytes, is told as a `mod_error`, and
    /// nothing changes; nor does anything for the name that it has already.
    ///
    /// ```
    /// # use mod_interface::prelude::*;
    /// async fn named_by_branch(cmd: ModApi) -> Result<()> {
    ///     let git = cmd.exec("git").args(["branch", "--show-current"]).await?;
    ///     match git.stdout.trim() {
    ///         "" => Ok(()),
    ///         branch => cmd.set_session_name(branch),
    ///     }
    /// }
    /// ```
    ///
    /// # Errors
    /// As for [`Self::set_model`].
    pub fn set_session_name(&self, name: &str) -> Result<()> {
        services::now(self.frame(), "set_session_name", &json!({ "name": name })).map(drop)
    }
}

use serde_json::{Value, json};

use super::{ModApi, Result, SessionTree, services};
use crate::types::Navigation;

/// Controls of the session that goes on, from [`ModApi::sessions`]. Before a session is bound, so in the factory, each
/// of them fails and says so.
#[derive(Clone, Copy)]
pub struct Sessions<'a>(&'a ModApi);

impl ModApi {
    /// The controls of the session: its tree, and where it goes on.
    ///
    /// ```
    /// # use mod_interface::prelude::*;
    /// async fn back_to_the_start(cmd: &ModApi) -> Result<()> {
    ///     let tree = cmd.sessions().tree()?;
    ///     let first = tree.root().children().next();
    ///     if let Some(first) = first {
    ///         cmd.sessions().navigate_tree(Navigation::to(first.id())).await?;
    ///     }
    ///     Ok(())
    /// }
    /// ```
    pub fn sessions(&self) -> Sessions<'_> {
        Sessions(self)
    }
}

impl Sessions<'_> {
    /// The tree of the session, all branches: a node for each turn that was committed, and one for each entry of a
    /// mod. Their ids stay what they are.
    ///
    /// # Errors
    /// No session is bound, or the harness is gone.
    pub fn tree(&self) -> Result<SessionTree> {
        SessionTree::new(serde_json::from_value(services::now(
            self.0.frame(),
            "sessions.tree",
            &Value::Null,
        )?)?)
    }

    /// The node behind which the session goes on.
    ///
    /// # Errors
    /// As for [`Self::tree`].
    pub fn leaf_id(&self) -> Result<String> {
        let leaf = services::now(self.0.frame(), "sessions.leaf_id", &Value::Null)?;
        Ok(serde_json::from_value(leaf)?)
    }

    /// Compacts the conversation: from the next model call on its beginning, as of the last commit, is sent as a summary
    /// that the session's model makes. The conversation itself stays whole, for mods, for the record and for
    /// [`Self::navigate_tree`]. Raises `compaction_start`, and `compaction_done` whatever comes of it.
    ///
    /// It may be awaited anywhere, in a hook of the run too: that run takes the summary at its next model call. Between
    /// runs it is committed at once. The mod's time does not run meanwhile.
    ///
    /// ```
    /// # use mod_interface::prelude::*;
    /// async fn compact(cmd: ModApi) -> Result<()> {
    ///     let api = cmd.clone();
    ///     cmd.add_command(Command::new("compact", "Sends a summary of what was said").run(move |_| {
    ///         let compacting = api.sessions().compact();
    ///         async move {
    ///             compacting.await?;
    ///             Ok(CommandOutcome::message("compacted"))
    ///         }
    ///     }))?;
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    /// There is nothing to compact, it is being done already, it was interrupted, the model gave no summary, it cannot
    /// be written, no session is bound, or the harness is gone. The conversation is sent as before then.
    pub fn compact(&self) -> impl Future<Output = Result<()>> + Send + 'static + use<> {
        let compacting = services::later(self.0.frame(), "sessions.compact", &Value::Null);
        async move { compacting.await.map(drop) }
    }

    /// Goes on behind another node: what is said next is a branch of its own. The conversation, every mod's
    /// `mod_state`, and what is [kept](super::Session) are then what they were at the last commit on the way to it.
    ///
    /// With [`Navigation::summarize`] the new branch begins with a message that says what is left behind, notes that the
    /// session's model makes; where nothing was said since, there is none. The mod's time does not run meanwhile.
    ///
    /// It is for between runs: for a command, an event, or a thread of the mod's own. The next prompt starts from
    /// there; the prompt that a command answers with does so too.
    ///
    /// ```
    /// # use mod_interface::prelude::*;
    /// async fn undo(cmd: ModApi) -> Result<()> {
    ///     let api = cmd.clone();
    ///     cmd.add_command(Command::new("undo", "Takes the last turn back").run(move |_| {
    ///         let api = api.clone();
    ///         async move {
    ///             let (tree, leaf) = (api.sessions().tree()?, api.sessions().leaf_id()?);
    ///             let Some(before) = tree.node(&leaf).and_then(|leaf| leaf.parent()) else {
    ///                 return Ok(CommandOutcome::message("there is nothing to take back"));
    ///             };
    ///             api.sessions().navigate_tree(Navigation::to(before.id())).await?;
    ///             Ok(CommandOutcome::message("taken back"))
    ///         }
    ///     }))?;
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    /// A run goes on, there is no such node, the model gave no summary, the session went on while it did, it was
    /// interrupted, it cannot be written, no session is bound, or the harness is gone. Nothing has changed then; where
    /// the summary alone cannot be written, it has gone there without.
    pub fn navigate_tree(
        &self,
        navigation: Navigation,
    ) -> impl Future<Output = Result<()>> + Send + 'static + use<> {
        let args = serde_json::to_value(navigation).unwrap_or_default();
        let moving = services::later(self.0.frame(), "sessions.navigate_tree", &args);
        async move { moving.await.map(drop) }
    }

    /// Names a node, in place of the name that it had; a blank name takes it away.
    ///
    /// ```
    /// # use mod_interface::prelude::*;
    /// fn remember(cmd: &ModApi, why: &str) -> Result<()> {
    ///     cmd.sessions().set_label(&cmd.sessions().leaf_id()?, why)
    /// }
    /// ```
    ///
    /// # Errors
    /// There is no such node, the name has more than 1000 bytes, it cannot be written, no session is bound, or the
    /// harness is gone.
    pub fn set_label(&self, target_id: &str, label: &str) -> Result<()> {
        let args = json!({ "targetId": target_id, "label": label });
        services::now(self.0.frame(), "sessions.set_label", &args).map(drop)
    }
}

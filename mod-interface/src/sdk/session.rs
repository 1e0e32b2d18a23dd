use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::{ModApi, Result, services};
use crate::{
    abi::{Ctx, Frame},
    types::{CustomMessage, Message, SessionInfo},
};

/// What a mod keeps in the session's record, from [`ModApi::session`] and [`Ctx::session`].
///
/// The record is a tree of entries, in the one file in which the conversation stands too. What is appended follows the
/// last entry of the branch that is active; it outlives the process, and is on the disk for good with the next commit,
/// or when the session ends. Nobody but the mod itself reads its entries back, and a branch that is left behind takes
/// its entries along. In a run with `--no-session` all of it works, in memory.
///
/// For what is one value that follows the conversation, [`StatePatch::mod_state`](crate::types::StatePatch) is less
/// work; entries are for what grows, and for what is to be kept outside of a turn.
#[derive(Clone, Copy)]
pub struct Session<'a>(&'a Frame);

/// An entry that a mod kept.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct CustomEntry<T> {
    /// Its id, a node of the [tree](super::Sessions::tree).
    pub id: String,
    /// What was kept.
    pub data: T,
}

/// What came of a message that was appended to the record.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CustomMessageEntry {
    /// Its id, a node of the [tree](super::Sessions::tree).
    pub entry_id: String,
    /// The message that the model will see.
    pub message: Message,
}

impl ModApi {
    /// The record of the session; `None` before the session is bound, so in the factory.
    ///
    /// ```
    /// # use mod_interface::prelude::*;
    /// async fn bookmarks(cmd: ModApi) -> Result<()> {
    ///     let api = cmd.clone();
    ///     cmd.add_command(Command::new("bookmark", "Keeps a line").run(move |args| {
    ///         let api = api.clone();
    ///         async move {
    ///             let Some(session) = api.session() else { return Ok(CommandOutcome::Done) };
    ///             session.append_custom_entry("bookmarks/line", &args.args())?;
    ///             let lines = session.get_custom_entries::<String>("bookmarks/line")?;
    ///             Ok(CommandOutcome::message(format!("{} lines are kept", lines.len())))
    ///         }
    ///     }))?;
    ///     Ok(())
    /// }
    /// ```
    pub fn session(&self) -> Option<Session<'_>> {
        Session::of(self.frame())
    }
}

impl Ctx {
    /// The record of the session; `None` where no session is bound, as in a test without one. A sub-agent's hooks get
    /// that of the session, for it has none of its own.
    ///
    /// ```
    /// # use mod_interface::prelude::*;
    /// let hooks = Hooks::new().on_turn_start_sync(|_, ctx| {
    ///     let Some(session) = ctx.session() else { return Ok(StatePatch::default()) };
    ///     let before = session.get_custom_entries::<Value>("turn-counter/count")?.len();
    ///     session.append_custom_entry("turn-counter/count", &json!({ "count": before + 1 }))?;
    ///     Ok(StatePatch::default())
    /// });
    /// # assert_eq!(hooks.set().iter().count(), 1);
    /// ```
    pub fn session(&self) -> Option<Session<'_>> {
        Session::of(self.frame())
    }
}

impl<'a> Session<'a> {
    fn of(frame: &'a Frame) -> Option<Self> {
        let bound = services::now(frame, "session.bound", &Value::Null);
        bound.is_ok_and(|bound| bound == true).then_some(Self(frame))
    }

    /// Keeps `data` under a type of the mod's own choice; gives the entry's id. The model never sees it, and nobody
    /// is shown it.
    ///
    /// # Errors
    /// The type has not 1 to 200 bytes, `data` is not JSON or has more than 4 MiB of it, it cannot be written, or the
    /// harness is gone.
    pub fn append_custom_entry(&self, custom_type: &str, data: &impl Serialize) -> Result<String> {
        let entry = json!({ "customType": custom_type, "data": serde_json::to_value(data)? });
        Ok(serde_json::from_value(services::now(self.0, "session.append", &entry)?)?)
    }

    /// Says something to the model beside the conversation, once: a message of the user's side at the beginning of
    /// the next turn, of this run or of the next, also after a resume. With
    /// [`display`](CustomMessage::display) people see it too, at once: drawn by the renderer of its type, which gets
    /// `content` and `details`, or as its text.
    ///
    /// A hook that changes the state can put the message there itself, for the model to see it in this turn: then it
    /// comes no second time. What is said goes to the session's own agent, from a hook of a sub-agent too: there, do
    /// not put it into the state, which is the sub-agent's.
    ///
    /// ```
    /// # use mod_interface::prelude::*;
    /// let hooks = Hooks::new().on_turn_start_sync(|turn, ctx| {
    ///     let is_first = turn.turn_number() == 1 && ctx.agent_id() == MAIN_AGENT;
    ///     let (true, Some(session)) = (is_first, ctx.session()) else { return Ok(StatePatch::default()) };
    ///     let digest = CustomMessage::new("memory/digest", "The user prefers short answers.");
    ///     let said = session.append_custom_message_entry(digest)?;
    ///     Ok(StatePatch::default().append(said.message))
    /// });
    /// # assert_eq!(hooks.set().iter().count(), 1);
    /// ```
    ///
    /// # Errors
    /// As for [`Self::append_custom_entry`]; also where the text is blank, and where too much waits for the next turn
    /// already: 1024 messages or 4 MiB.
    pub fn append_custom_message_entry(&self, said: CustomMessage) -> Result<CustomMessageEntry> {
        let said = serde_json::to_value(said)?;
        Ok(serde_json::from_value(services::now(self.0, "session.append_message", &said)?)?)
    }

    /// What this mod kept under that type on the branch that is active, in the order in which it did. It costs what
    /// the answer holds, however long the session is.
    ///
    /// # Errors
    /// The data of one is not a `T`, or the harness is gone.
    pub fn get_custom_entries<T: DeserializeOwned>(&self, custom_type: &str) -> Result<Vec<CustomEntry<T>>> {
        let entries = services::now(self.0, "session.entries", &json!({ "customType": custom_type }))?;
        Ok(serde_json::from_value(entries)?)
    }

    /// What is known of the session. [`ModApi::set_session_name`] gives it a name.
    ///
    /// # Errors
    /// The harness is gone.
    pub fn info(&self) -> Result<SessionInfo> {
        Ok(serde_json::from_value(services::now(self.0, "session.info", &Value::Null)?)?)
    }
}

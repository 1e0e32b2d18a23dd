//! The record of the session as mods reach it: what each keeps in it, its tree, and where it goes on.

use std::sync::Arc;

use futures::future::BoxFuture;
use mod_interface::types::{CustomMessage, Message, Navigation, SessionInfo, TreeNode};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{
    live::Live,
    screen::check_type,
    services::{Answer, Asker, parse, unknown},
};

/// What is said where there is no session yet.
const UNBOUND: &str = "no session is bound yet; ask in a hook, an event or a command, not in the factory";

/// The record of a session that is bound, for mods. What is asked at once waits for one write to the disk at most.
pub trait SessionRecord: Send + Sync {
    /// Keeps `data` of the mod `owner` on the branch of the leaf; gives the entry's id.
    ///
    /// # Errors
    /// It cannot be written.
    fn append_custom(&self, owner: &str, custom_type: &str, data: Value) -> Result<String, String>;

    /// Takes what the mod `owner` says to the model in the next turn: gives the entry's id, and the message that it
    /// becomes.
    ///
    /// # Errors
    /// Too much waits for the next turn already, or it cannot be written.
    fn append_custom_message(&self, owner: &str, said: CustomMessage) -> Result<(String, Message), String>;

    /// The ids and data of what the mod `owner` keeps on the branch of the leaf, in the order of the file.
    fn custom_entries(&self, owner: &str, custom_type: &str) -> Vec<(String, Arc<Value>)>;

    /// What is known of it.
    fn info(&self) -> SessionInfo;

    /// Names the session; gives the name, unless it has that one already.
    ///
    /// # Errors
    /// The name is blank or too long, or it cannot be written.
    fn set_name(&self, name: &str) -> Result<Option<String>, String>;

    /// The nodes of the tree, parents before their children, the root first.
    fn tree(&self) -> Vec<TreeNode>;

    /// The node behind which the session goes on.
    fn leaf_id(&self) -> String;

    /// Names a node; an empty name takes its name away.
    ///
    /// # Errors
    /// There is no such node, the name is too long, or it cannot be written.
    fn set_label(&self, target_id: &str, label: &str) -> Result<(), String>;

    /// Compacts the conversation as of its last commit: from the next model call on, its beginning is sent as a
    /// summary.
    ///
    /// # Errors
    /// There is nothing to compact, it is being done, `cancel` fired, the model gave no summary, or it cannot be
    /// written.
    fn compact(&self, cancel: CancellationToken) -> BoxFuture<'static, Result<(), String>>;

    /// Goes on behind another node, in the state of the last commit on the way to it.
    ///
    /// # Errors
    /// A run goes on, there is no such node, or it cannot be written. Nothing has changed then.
    fn navigate(
        &self,
        navigation: Navigation,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, Result<(), String>>;
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Kept {
    custom_type: String,
    #[serde(default)]
    data: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Kind {
    custom_type: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Label {
    target_id: String,
    #[serde(default)]
    label: String,
}

/// Answers a service about the record at once.
pub(super) fn now(asker: &Asker, service: &str, args: &str) -> Answer {
    if service == "session.bound" {
        return Ok(session(asker).is_ok().to_string());
    }
    let owner = &*asker.owner.id;
    let answer = match service {
        "session.append" => {
            let Kept { custom_type, data } = parse(service, args)?;
            check_type(&custom_type)?;
            json!(session(asker)?.record().append_custom(owner, &custom_type, data)?)
        }
        "session.append_message" => append_message(asker, parse(service, args)?)?,
        "session.entries" => {
            let kind: Kind = parse(service, args)?;
            let entries = session(asker)?.record().custom_entries(owner, &kind.custom_type);
            entries.iter().map(|(id, data)| json!({ "id": id, "data": &**data })).collect()
        }
        "session.info" => json!(session(asker)?.record().info()),
        "sessions.tree" => json!(session(asker)?.record().tree()),
        "sessions.leaf_id" => json!(session(asker)?.record().leaf_id()),
        "sessions.set_label" => {
            let Label { target_id, label } = parse(service, args)?;
            json!(session(asker)?.record().set_label(&target_id, &label)?)
        }
        _ => return Err(unknown(service)),
    };
    Ok(answer.to_string())
}

/// Answers a service about the record later.
pub(super) fn later(
    asker: &Asker,
    service: &str,
    args: &str,
) -> Result<BoxFuture<'static, Result<Value, String>>, String> {
    match service {
        "sessions.compact" => {
            let compacting = session(asker)?.record().compact(asker.cancel());
            Ok(Box::pin(async move { compacting.await.map(|()| Value::Null) }))
        }
        "sessions.navigate_tree" => {
            let moving = session(asker)?.record().navigate(parse(service, args)?, asker.cancel());
            Ok(Box::pin(async move { moving.await.map(|()| Value::Null) }))
        }
        _ => Err(unknown(service)),
    }
}

fn append_message(asker: &Asker, said: CustomMessage) -> Result<Value, String> {
    check_type(&said.custom_type)?;
    if said.content.trim().is_empty() {
        return Err("a message to the model needs a text, got none".to_owned());
    }
    let shown = said.display.then(|| said.clone());
    let (entry_id, message) = session(asker)?.record().append_custom_message(&asker.owner.id, said)?;
    if let Some(said) = shown {
        asker.core.show_message(said);
    }
    Ok(json!({ "entryId": entry_id, "message": message }))
}

/// The session of who asks.
fn session(asker: &Asker) -> Result<Arc<dyn Live>, String> {
    asker.core.registrations().check_open(&asker.owner).map_err(|refusal| refusal.to_string())?;
    asker.core.orders.session().ok_or_else(|| UNBOUND.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mod_host::fixture::{NoRecord, World};

    const ASKED: [(&str, &str); 7] = [
        ("session.append", r#"{"customType":"n","data":1}"#),
        ("session.append_message", r#"{"customType":"n","content":"x"}"#),
        ("session.entries", r#"{"customType":"n"}"#),
        ("session.info", "null"),
        ("sessions.tree", "null"),
        ("sessions.leaf_id", "null"),
        ("sessions.set_label", r#"{"targetId":"1","label":"x"}"#),
    ];

    #[tokio::test]
    async fn without_a_session_and_for_a_mod_that_did_not_load_all_but_one_question_fails() {
        let world = World::new();
        let go = r#"{"targetId":"1"}"#;
        let bound = || world.now("session.bound", "null");
        let all = || ASKED.map(|(service, args)| world.now(service, args));
        let unbound = Err(UNBOUND.to_owned());
        assert_eq!((bound(), all()), (Ok("false".to_owned()), ASKED.map(|_| unbound.clone())));
        assert_eq!(world.later("sessions.navigate_tree", go).await, unbound);

        let session: Arc<dyn Live> = Arc::new(NoRecord);
        world.core.bind(&session);
        let full = || Err("the disk is full".to_owned());
        let empty = |text: &str| Ok(text.to_owned());
        let info = r#"{"firstPrompt":null,"id":"","name":null,"recorded":false}"#;
        let answers = [full(), full(), empty("[]"), empty(info), empty("[]"), empty("\"\""), full()];
        assert_eq!((bound(), all()), (Ok("true".to_owned()), answers));
        assert_eq!(world.later("sessions.navigate_tree", go).await, full());

        world.core.close(&world.owner);
        assert_eq!(bound(), Ok("false".to_owned()));
        assert!(all().iter().all(Result::is_err));
    }

    #[tokio::test]
    async fn bad_arguments_are_told_by_the_service_that_got_them() {
        let world = World::new();
        let told = |service: &str, reason: &str| Err(format!("bad arguments for {service}: {reason}"));
        let missing = "missing field `customType` at line 1 column 2";
        assert_eq!(world.now("session.append", "{}"), told("session.append", missing));
        assert_eq!(world.now("session.entries", "{}"), told("session.entries", missing));
        let deep = format!(r#"{{"customType":"n","data":{}{}}}"#, "[".repeat(200), "]".repeat(200));
        let reason = "recursion limit exceeded at line 1 column 152";
        assert_eq!(world.now("session.append", &deep), told("session.append", reason));
    }
}

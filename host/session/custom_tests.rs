use std::{fs, time::Duration};

use mod_interface::types::{CustomMessage, Message, MessageSource};
use serde_json::{Value, json};

use super::*;

const ID: &str = "01938000-0000-7000-8000-000000000000";

fn clock() -> Clock {
    Arc::new(|| SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000))
}

fn session(dir: &Path) -> Session {
    Session::create(dir, Path::new("/project"), ID.into(), clock()).unwrap()
}

fn says(content: &str) -> CustomMessage {
    CustomMessage::new("n", content)
}

fn of_a_mod(text: &str) -> Message {
    Message::user_from(MessageSource::Mod, text)
}

/// What the mod keeps under `n`, and what the model was not told yet.
fn kept(session: &Session, owner: &str) -> Vec<(String, Value)> {
    let entries = session.custom_entries(owner, "n").into_iter();
    entries.map(|(id, data)| (id, (*data).clone())).collect()
}

fn unsaid(session: &Session, state: &AgentState) -> Vec<String> {
    session.tree.branch().unsaid_in(state).iter().map(|message| message.text()).collect()
}

#[test]
fn decision_32_entries_are_read_back_by_their_owner_and_type_in_the_order_of_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let mut session = session(dir.path());
    session.append_custom("mod:a", "n", json!(1)).unwrap();
    session.append_custom("mod:b", "n", json!("other")).unwrap();
    session.append_custom("mod:a", "m", json!(null)).unwrap();
    session.commit(&AgentState::new(ID)).unwrap();
    session.append_custom("mod:a", "n", json!({"two": 2})).unwrap();
    let ours = [("00000001".to_owned(), json!(1)), ("00000004".to_owned(), json!({"two": 2}))];
    assert_eq!((kept(&session, "mod:a"), kept(&session, "mod:c")), (ours.to_vec(), vec![]));
    let path = session.path().unwrap().to_owned();
    let last = fs::read_to_string(&path).unwrap().lines().last().unwrap().to_owned();
    assert_eq!(
        last,
        r#"{"id":"00000004","parentId":"00000003","timestamp":"2001-09-09T01:46:40.000Z","type":"custom","owner":"mod:a","customType":"n","data":{"two":2}}"#
    );
    drop(session);
    let (session, _) = Session::open(&path, clock()).unwrap();
    assert_eq!(kept(&session, "mod:a"), ours);
    assert_eq!(kept(&session, "mod:b"), [("00000002".to_owned(), json!("other"))]);
}

#[test]
fn entries_of_an_abandoned_branch_are_not_seen_and_those_of_one_gone_back_to_are() {
    let mut session = Session::in_memory(ID.into());
    session.append_custom("mod:a", "n", json!(1)).unwrap();
    let second = session.append_custom("mod:a", "n", json!(2)).unwrap();
    session.append_custom_message("mod:a", says("old")).unwrap();
    session.navigate("00000001").unwrap();
    session.append_custom("mod:a", "n", json!(3)).unwrap();
    let data =
        |session: &Session| kept(session, "mod:a").into_iter().map(|(_, data)| data).collect::<Vec<_>>();
    let state = AgentState::new(ID);
    assert_eq!((data(&session), unsaid(&session, &state)), (vec![json!(1), json!(3)], vec![]));
    session.navigate(&second).unwrap();
    assert_eq!(data(&session), [json!(1), json!(2)]);
    let kinds: Vec<_> = session.tree().into_iter().map(|node| node.kind).collect();
    assert_eq!(kinds, ["session", "custom", "custom", "custom_message", "custom"]);
}

#[test]
fn decision_32_a_custom_message_waits_until_the_conversation_has_it_once() {
    let dir = tempfile::tempdir().unwrap();
    let mut session = session(dir.path());
    let path = session.path().unwrap().to_owned();
    let told = session.append_custom_message("mod:a", says("x")).unwrap();
    assert_eq!(told, ("00000001".to_owned(), of_a_mod("x")));
    session.append_custom_message("mod:b", says("x")).unwrap();
    session.append_custom_message("mod:a", says("y")).unwrap();
    let mut state = AgentState::new(ID);
    assert_eq!(unsaid(&session, &state), ["x", "x", "y"]);
    // One is folded onto the state, by hand.
    state.push(Message::user("x"));
    state.push(of_a_mod("x"));
    assert_eq!(unsaid(&session, &state), ["x", "y"]);
    session.commit(&state).unwrap();
    assert_eq!(unsaid(&session, &state), ["x", "y"]);
    drop(session);

    let (mut session, mut state) = Session::open(&path, clock()).unwrap();
    assert_eq!(unsaid(&session, &state), ["x", "y"], "after a resume");
    session.give_unsaid(&state).into_iter().for_each(|message| state.push(message));
    assert_eq!(unsaid(&session, &state), [""; 0], "told, and not committed yet");
    session.commit(&state).unwrap();
    drop(session);
    let (session, state) = Session::open(&path, clock()).unwrap();
    assert_eq!((unsaid(&session, &state), state.messages.len()), (vec![], 4));
}

#[test]
fn decision_32_a_message_that_a_turn_was_given_was_said_whatever_a_mod_made_of_it() {
    let mut session = Session::in_memory(ID.into());
    session.append_custom_message("mod:a", says("secret")).unwrap();
    session.append_custom_message("mod:a", says("kept")).unwrap();
    let mut state = AgentState::new(ID);
    let given = session.give_unsaid(&state);
    state.push(Message::user("[redacted]"));
    state.push(Arc::clone(&given[1]));
    session.append_custom_message("mod:a", says("later")).unwrap();
    assert_eq!(unsaid(&session, &AgentState::new(ID)), ["secret", "kept", "later"], "nothing is committed");
    session.commit(&state).unwrap();
    assert_eq!(unsaid(&session, &state), ["later"]);
}

#[test]
fn what_waits_for_the_next_turn_is_bounded() {
    let mut session = Session::in_memory(ID.into());
    let many = "too many messages of mods wait for the next turn, this one is dropped; at most: 1024";
    let mut said = |content: &str| {
        let said = session.append_custom_message("mod:a", says(content));
        said.map(drop).map_err(|error| error.to_string())
    };
    assert_eq!(said(&"x".repeat((4 << 20) + 1)), Err(many.to_owned()));
    (0..1024).for_each(|_| said("x").unwrap());
    assert_eq!(said("x"), Err(many.to_owned()));
}

#[test]
fn the_first_prompt_is_what_a_person_said_first() {
    let mut session = Session::in_memory(ID.into());
    let mut state = AgentState::new(ID);
    state.push(of_a_mod("digest"));
    state.push(Message::user(" "));
    session.commit(&state).unwrap();
    let mut info = session.info();
    assert_eq!(
        (&*info.id, info.name.take(), info.first_prompt.take(), info.recorded),
        (ID, None, None, false)
    );
    state.push(Message::user("go"));
    state.push(Message::user("on"));
    session.commit(&state).unwrap();
    session.set_name("a name").unwrap();
    let info = session.info();
    assert_eq!((info.name.as_deref(), info.first_prompt.as_deref()), (Some("a name"), Some("go")));
}

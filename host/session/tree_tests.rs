use std::{fs, time::Duration};

use mod_interface::types::Message;
use serde_json::json;

use super::*;

const ID: &str = "01938000-0000-7000-8000-000000000000";

fn clock() -> Clock {
    Arc::new(|| SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000))
}

fn said(texts: &[&str], slot: u32) -> AgentState {
    let mut state = AgentState::new(ID);
    texts.iter().for_each(|text| state.push(Message::user(*text)));
    state.set_mod_state("mod:a", json!(slot));
    state
}

/// The nodes as `id < parent`, with their labels.
fn nodes(session: &Session) -> Vec<String> {
    let short = |id: &str| if id == ID { "root".to_owned() } else { id.to_owned() };
    let nodes = session.tree().into_iter().map(|node| {
        let parent = node.parent_id.map(|id| format!(" < {}", short(&id))).unwrap_or_default();
        let label = node.label.map(|label| format!(" {label:?}")).unwrap_or_default();
        format!("{}{parent}{label}", short(&node.id))
    });
    nodes.collect()
}

/// Two turns, back to the first, and another second one.
fn branched(sessions: &Path) -> Session {
    let mut session = Session::create(sessions, Path::new("/project"), ID.into(), clock()).unwrap();
    session.commit(&said(&["a"], 1)).unwrap();
    session.commit(&said(&["a", "b"], 2)).unwrap();
    session.set_label("2", "the\nfirst").unwrap();
    session.navigate("00000002").unwrap();
    assert_eq!((session.state(), session.leaf_id().as_str()), (said(&["a"], 1), "00000002"));
    session.commit(&said(&["a", "c"], 3)).unwrap();
    session
}

#[test]
fn decision_33_after_navigating_the_state_is_that_of_the_last_commit_of_the_branch() {
    let dir = tempfile::tempdir().unwrap();
    let mut session = branched(dir.path());
    let path = session.path().unwrap().to_owned();
    let tree = ["root", "00000002 < root \"the first\"", "00000004 < 00000002", "00000008 < 00000002"];
    assert_eq!(nodes(&session), tree);
    assert_eq!((session.state(), session.leaf_id().as_str()), (said(&["a", "c"], 3), "00000008"));
    let left: Vec<_> = session.left_behind("00000004").unwrap().iter().map(|it| it.text()).collect();
    assert_eq!(left, ["c"]);
    session.navigate("00000004").unwrap();
    drop(session);

    let (mut session, state) = Session::open(&path, clock()).unwrap();
    assert_eq!((nodes(&session), state), (tree.map(str::to_owned).to_vec(), said(&["a", "b"], 2)));
    session.commit(&said(&["a", "b", "d"], 2)).unwrap();
    assert_eq!(nodes(&session).last().unwrap(), "0000000b < 00000004");
    session.navigate(ID).unwrap();
    drop(session);
    assert_eq!(Session::open(&path, clock()).unwrap().1, AgentState::new(ID), "the root");
}

#[test]
fn only_a_node_can_be_gone_to_or_named() {
    let mut session = Session::in_memory(ID.into());
    session.commit(&said(&["a"], 1)).unwrap();
    let told = "the session has no such node, its tree lists those that there are, got: ";
    for id in ["00000001", "00000009", "x", ""] {
        assert_eq!(session.navigate(id).unwrap_err().to_string(), format!("{told}{id}"));
        assert_eq!(session.set_label(id, "l").unwrap_err().to_string(), format!("{told}{id}"));
    }
    session.set_label(ID, "start").unwrap();
    assert_eq!(nodes(&session), ["root \"start\"", "00000002 < root"]);
    session.set_label(ID, " ").unwrap();
    assert_eq!(nodes(&session), ["root", "00000002 < root"]);
    assert_eq!(session.state(), said(&["a"], 1));
}

#[test]
fn a_session_keeps_its_last_name() {
    let dir = tempfile::tempdir().unwrap();
    let mut session = branched(dir.path());
    let path = session.path().unwrap().to_owned();
    assert_eq!(session.set_name(" \n").unwrap_err().to_string(), "a session's name may not be blank");
    let long = session.set_name(&"x".repeat(1001)).unwrap_err().to_string();
    assert_eq!(long, "a name is too long, expected at most 1000 bytes, got: 1001");
    session.set_name("one").unwrap();
    session.set_name("two").unwrap();
    drop(session);
    assert_eq!(Session::open(&path, clock()).unwrap().0.name().map(|name| &**name), Some("two"));
}

#[test]
fn a_branched_file_cut_at_any_byte_opens_and_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let session = branched(dir.path());
    let path = session.path().unwrap().to_owned();
    drop(session);
    let whole = fs::read(&path).unwrap();
    let lines: Vec<_> = whole.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::len).collect();
    let header = lines[0];
    // After these lines of the file, the state is this.
    let states = [(1, AgentState::new(ID)), (3, said(&["a"], 1)), (5, said(&["a", "b"], 2))];
    let after = [(7, said(&["a"], 1)), (9, said(&["a", "c"], 3))];
    let cut = dir.path().join("cut.jsonl");
    for len in header..=whole.len() {
        fs::write(&cut, &whole[..len]).unwrap();
        let held = whole[..len].iter().filter(|byte| **byte == b'\n').count();
        let expected = states.iter().chain(&after).rev().find(|(lines, _)| *lines <= held).unwrap();
        let (mut session, mut state) = Session::open(&cut, clock()).unwrap();
        assert_eq!(state, expected.1, "cut at {len}");
        state.push(Message::user("on"));
        session.commit(&state).unwrap();
        drop(session);
        assert_eq!(Session::open(&cut, clock()).unwrap().1, state, "goes on after a cut at {len}");
    }
}

#[test]
fn a_file_of_the_first_format_goes_on_in_this_one() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("old.jsonl");
    let first = concat!(
        "{\"type\":\"session\",\"version\":1,\"id\":\"s\",\"timestamp\":\"t\",\"cwd\":\"/w\"}\n",
        "{\"id\":\"00000001\",\"parentId\":null,\"timestamp\":\"t\",\"type\":\"message\",\"message\":",
        "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\"}]}}\n",
        "{\"id\":\"00000002\",\"parentId\":\"00000001\",\"timestamp\":\"t\",\"type\":\"commit\"}\n",
    );
    fs::write(&file, first).unwrap();
    let (mut session, mut state) = Session::open(&file, clock()).unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), first, "to open it changes nothing");
    state.push(Message::user("b"));
    session.commit(&state).unwrap();
    drop(session);
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.starts_with(&first.replace("\"version\":1", "\"version\":2")), "{text}");
    assert_eq!(Session::open(&file, clock()).unwrap().1, state);
}

#[test]
fn what_a_later_version_says_of_the_session_as_a_whole_moves_nothing_and_an_id_without_a_next_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let session = branched(dir.path());
    let (path, state) = (session.path().unwrap().to_owned(), session.state());
    drop(session);
    let file = fs::read_to_string(&path).unwrap();
    let later = |id: &str| {
        format!("{file}{{\"id\":\"{id}\",\"parentId\":null,\"timestamp\":\"t\",\"type\":\"pinned\"}}\n")
    };
    fs::write(&path, later("00000009")).unwrap();
    let (mut session, resumed) = Session::open(&path, clock()).unwrap();
    assert_eq!((&resumed, &*session.leaf_id()), (&state, "00000008"));
    session.commit(&said(&["a", "c", "d"], 3)).unwrap();
    assert_eq!(session.leaf_id(), "0000000b");
    drop(session);
    for id in ["ffffffffffffffff", "+9"] {
        fs::write(&path, later(id)).unwrap();
        let refused = Session::open(&path, clock()).map(drop).unwrap_err().to_string();
        assert!(refused.ends_with(&format!("ids are hex numbers that grow, got: {id}")), "{refused}");
    }
}

use std::{fs, time::Duration};

use mod_interface::types::{ContentBlock, Message};
use serde_json::{Value, json};

use super::*;

const ID: &str = "01938000-0000-7000-8000-000000000000";

fn clock() -> Clock {
    Arc::new(|| SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000))
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn session(&self) -> Session {
        Session::create(&self.0.path().join("sessions"), Path::new("/project"), ID.into(), clock()).unwrap()
    }

    fn bare(&self, error: &Error) -> String {
        error.to_string().replace(&format!("{}/", self.0.path().display()), "")
    }
}

fn open(path: &Path) -> AgentState {
    Session::open(path, clock()).unwrap().1
}

fn said(texts: &[&str]) -> AgentState {
    let mut state = AgentState::new(ID);
    texts.iter().for_each(|text| state.push(Message::user(*text)));
    state
}

#[test]
fn a_commit_writes_what_is_new_as_one_json_line_each() {
    let folder = Folder::new();
    let mut session = folder.session();
    let mut state = said(&["hi"]);
    state.push(Message::assistant(vec![ContentBlock::text("hello")]));
    session.commit(&state).unwrap();
    session.commit(&state).unwrap();
    state.set_mod_state("mod:a", json!({"n": 1}));
    session.commit(&state).unwrap();
    let path = session.path().unwrap().to_owned();
    assert_eq!(
        path.strip_prefix(folder.0.path()).unwrap(),
        Path::new(
            "sessions/project-ea0135bc/2001-09-09T01-46-40-000Z-01938000-0000-7000-8000-000000000000.jsonl"
        )
    );
    assert_eq!(
        fs::read_to_string(path).unwrap(),
        r#"{"type":"session","version":2,"id":"01938000-0000-7000-8000-000000000000","timestamp":"2001-09-09T01:46:40.000Z","cwd":"/project"}
{"id":"00000001","parentId":null,"timestamp":"2001-09-09T01:46:40.000Z","type":"message","message":{"role":"user","content":[{"type":"text","text":"hi"}]}}
{"id":"00000002","parentId":"00000001","timestamp":"2001-09-09T01:46:40.000Z","type":"message","message":{"role":"assistant","content":[{"type":"text","text":"hello"}]}}
{"id":"00000003","parentId":"00000002","timestamp":"2001-09-09T01:46:40.000Z","type":"commit"}
{"id":"00000004","parentId":"00000003","timestamp":"2001-09-09T01:46:40.000Z","type":"commit","modState":{"mod:a":{"n":1}}}
"#
    );
}

#[test]
#[cfg(unix)]
fn a_workspace_whose_path_is_no_text_has_sessions_too() {
    let folder = Folder::new();
    let cwd: &std::ffi::OsStr = std::os::unix::ffi::OsStrExt::from_bytes(b"/w\xff");
    let cwd = Path::new(cwd);
    let mut session = Session::create(&folder.0.path().join("sessions"), cwd, ID.into(), clock()).unwrap();
    session.commit(&said(&["hi"])).unwrap();
    let path = session.path().unwrap().to_owned();
    drop(session);
    let text = fs::read_to_string(&path).unwrap();
    let header: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!(
        header,
        json!({
            "type": "session",
            "version": 2,
            "id": ID,
            "timestamp": "2001-09-09T01:46:40.000Z",
            "cwd": "/w\u{fffd}",
            "cwdBytes": "2f77ff",
        })
    );
    assert_eq!(open(&path).messages.len(), 1);
}

#[test]
fn a_session_goes_on_where_it_was_left() {
    let folder = Folder::new();
    let mut session = folder.session();
    let path = session.path().unwrap().to_owned();
    let mut state = said(&["one"]);
    state.set_mod_state("mod:a", json!(1));
    state.set_mod_state("mod:b", json!(null));
    session.commit(&state).unwrap();
    drop(session);

    let (mut session, mut state) = Session::open(&path, clock()).unwrap();
    assert_eq!((&**session.id(), state.messages.len()), (ID, 1));
    state.push(Message::user("two"));
    let slots = Arc::make_mut(&mut state.mod_state);
    slots.remove("mod:a");
    slots.insert("mod:b".into(), json!("changed"));
    session.commit(&state).unwrap();
    drop(session);
    assert_eq!(open(&path), state);
    let last = fs::read_to_string(&path).unwrap().lines().last().unwrap().to_owned();
    assert_eq!(
        last,
        r#"{"id":"00000004","parentId":"00000003","timestamp":"2001-09-09T01:46:40.000Z","type":"commit","modState":{"mod:b":"changed"},"removed":["mod:a"]}"#
    );
}

#[test]
fn a_rewritten_conversation_is_read_back_as_it_was_rewritten() {
    let folder = Folder::new();
    let mut session = folder.session();
    let path = session.path().unwrap().to_owned();
    session.commit(&said(&["a", "b", "c"])).unwrap();
    session.commit(&said(&["a", "B", "c", "d"])).unwrap();
    session.commit(&said(&["a", "B"])).unwrap();
    session.commit(&said(&["x"])).unwrap();
    session.commit(&said(&["x", "y"])).unwrap();
    drop(session);
    assert_eq!(open(&path), said(&["x", "y"]));
    let text = fs::read_to_string(&path).unwrap();
    let rewrites = text.lines().filter(|line| line.contains(r#""type":"rewrite""#)).count();
    assert_eq!((rewrites, text.lines().count()), (3, 1 + 4 + 5 + 2 + 3 + 2));
}

#[test]
fn a_file_cut_at_any_byte_holds_all_that_was_committed_before() {
    let folder = Folder::new();
    let mut session = folder.session();
    let path = session.path().unwrap().to_owned();
    let mut states = vec![(fs::metadata(&path).unwrap().len(), AgentState::new(ID))];
    for mut state in [said(&["one"]), said(&["one", "two", "tröis"]), said(&["1", "two"])] {
        state.set_mod_state("mod:a", json!(states.len()));
        session.commit(&state).unwrap();
        states.push((fs::metadata(&path).unwrap().len(), state));
    }
    drop(session);
    let whole = fs::read(&path).unwrap();
    assert_eq!(whole.len() as u64, states[3].0);

    let cut = folder.0.path().join("cut.jsonl");
    for len in 0..=whole.len() {
        fs::write(&cut, &whole[..len]).unwrap();
        let Some((end, expected)) = states.iter().rev().find(|(end, _)| *end <= len as u64) else {
            assert_eq!(
                folder.bare(&Session::open(&cut, clock()).err().unwrap()),
                "cut.jsonl is not a session file: it has no whole line"
            );
            continue;
        };
        let (mut session, mut state) = Session::open(&cut, clock()).unwrap();
        assert_eq!((&state, fs::metadata(&cut).unwrap().len()), (expected, *end), "cut at {len}");
        state.push(Message::user("on"));
        session.commit(&state).unwrap();
        drop(session);
        assert_eq!(open(&cut), state, "goes on after a cut at {len}");
    }
}

#[test]
fn a_session_has_one_writer() {
    let folder = Folder::new();
    let mut session = folder.session();
    let path = session.path().unwrap().to_owned();
    session.commit(&said(&["a"])).unwrap();
    let error = Session::open(&path, clock()).err().unwrap();
    assert_eq!(
        error.to_string(),
        format!("the session is open in another process; end that one first: {}", path.display())
    );
    drop(session);
    assert_eq!(open(&path), said(&["a"]));
}

#[test]
fn a_session_without_a_commit_leaves_no_file() {
    let folder = Folder::new();
    let session = folder.session();
    let path = session.path().unwrap().to_owned();
    assert!(path.exists());
    drop(session);
    assert!(!path.exists());
}

#[test]
fn a_session_in_memory_touches_no_file() {
    let mut session = Session::in_memory(ID.into());
    session.commit(&said(&["a"])).unwrap();
    assert_eq!((session.path(), &**session.id()), (None, ID));
}

#[test]
fn damage_before_the_last_commit_is_told_and_the_file_is_left_alone() {
    let folder = Folder::new();
    let mut session = folder.session();
    let path = session.path().unwrap().to_owned();
    session.commit(&said(&["a"])).unwrap();
    session.commit(&said(&["a", "b"])).unwrap();
    drop(session);
    let damaged = fs::read_to_string(&path).unwrap().replace(r#""text":"a""#, r#""text":"a"#);
    let file = folder.0.path().join("damaged.jsonl");
    fs::write(&file, &damaged).unwrap();
    assert_eq!(
        folder.bare(&Session::open(&file, clock()).err().unwrap()),
        "the session file damaged.jsonl is damaged at line 2: EOF while parsing a string at column 153"
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), damaged);
}

#[test]
fn other_files_and_newer_sessions_are_refused_and_unknown_entries_ignored() {
    let folder = Folder::new();
    let file = folder.0.path().join("file.jsonl");
    let error = |text: &str| {
        fs::write(&file, text).unwrap();
        folder.bare(&Session::open(&file, clock()).err().unwrap())
    };
    assert_eq!(error("hello\n"), "file.jsonl is not a session file: expected value at line 1 column 1");
    assert_eq!(
        error("{\"type\":\"session\",\"version\":9,\"id\":\"x\",\"timestamp\":\"\",\"cwd\":\"/\"}\n"),
        "the session file file.jsonl needs a newer version of cmd: expected format 2 or older, got: 9"
    );
    let known = concat!(
        "{\"type\":\"session\",\"version\":1,\"id\":\"x\",\"timestamp\":\"\",\"cwd\":\"/\",\"more\":1}\n",
        "{\"id\":\"1\",\"parentId\":null,\"timestamp\":\"\",\"type\":\"later\",\"label\":\"new\"}\n",
        "{\"id\":\"2\",\"parentId\":\"1\",\"timestamp\":\"\",\"type\":\"commit\"}\n",
    );
    fs::write(&file, known).unwrap();
    assert_eq!(open(&file), AgentState::new("x"));
}

#[test]
fn a_folder_that_cannot_be_made_is_told_with_the_way_around() {
    let folder = Folder::new();
    let file = folder.0.path().join("file");
    fs::write(&file, "").unwrap();
    let error = Session::create(&file, Path::new("/project"), ID.into(), clock()).err().unwrap();
    assert_eq!(
        folder.bare(&error),
        "cannot make the session file file/project-ea0135bc/2001-09-09T01-46-40-000Z-01938000-0000-7000-8000-000000000000.jsonl (--no-session runs without one): Not a directory (os error 20)"
    );
}

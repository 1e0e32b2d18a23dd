//! A session goes on in a later run, through the program.

use std::fs;

use serde_json::{Value, json};

use crate::support::{run::says, session::Folders};

/// What the session's file holds, without what differs from run to run.
fn recorded(folders: &Folders) -> Vec<String> {
    assert_eq!(folders.session_files().len(), 1);
    let entries = folders.session_lines().into_iter();
    let shown = entries.map(|entry| match entry["message"]["content"][0]["text"].as_str() {
        Some(text) => format!("{} {} {text}", entry["id"], entry["message"]["role"]),
        None => entry["type"].to_string(),
    });
    shown.map(|line| line.replace('"', "")).collect()
}

/// An answer to a conversation that has so many messages, the last of which says this.
fn answers(messages: usize, last_user: &str, text: &str) -> Value {
    let expect = json!({ "messages_count": messages, "last_user_contains": last_user });
    json!({ "turns": [{ "text": text, "expect": expect }] })
}

#[test]
fn the_last_session_of_a_folder_goes_on_where_it_ended() {
    let folders = Folders::new();
    let first = folders.play(&says("One."), &["--output-format", "json"]).run();
    let second =
        folders.play(&answers(3, "go", "Two."), &["--continue", "--output-format", "stream-json"]).run();
    assert_eq!((first.code(), second.code()), (0, 0), "{}{}", first.stderr, second.stderr);
    let starts = json!({ "type": "session_start", "source": "resume", "agentId": "main" });
    assert_eq!(second.stdout.lines().next().map(|line| serde_json::from_str(line).unwrap()), Some(starts));
    let lines = [
        "session",
        "00000001 user go",
        "00000002 assistant One.",
        "commit",
        "session_info",
        "00000005 user go",
        "00000006 assistant Two.",
        "commit",
    ];
    assert_eq!(recorded(&folders), lines);
}

#[test]
fn a_session_goes_on_by_its_id() {
    let folders = Folders::new();
    assert_eq!(folders.play(&says("One."), &[]).run().told(), (0, "One.\n", ""));
    let file = folders.session_files().remove(0);
    let name = file.to_str().unwrap().trim_end_matches(".jsonl");
    let (id, end) = (&name[name.len() - 36..], &name[name.len() - 6..]);
    assert_eq!(folders.play(&answers(3, "go", "Two."), &["--resume", id]).run().told(), (0, "Two.\n", ""));
    assert_eq!(folders.play(&answers(5, "go", "Three."), &["-r", end]).run().told(), (0, "Three.\n", ""));
    assert_eq!(recorded(&folders).len(), 11, "one file, a title, three turns");
}

#[test]
fn a_session_that_is_not_there() {
    let folders = Folders::new();
    let none = "error: there is no session to continue in DIR/work yet; run without --continue\n";
    assert_eq!(folders.play(&says("One."), &["--continue"]).run().told(), (1, "", none));
    let none = "error: there is no such session in DIR/work; --continue takes the last one, got: f00\n";
    assert_eq!(folders.play(&says("One."), &["--resume", "f00"]).run().told(), (1, "", none));
    assert!(!folders.home().join("sessions").exists());
}

#[test]
fn a_turn_that_was_cut_off_is_not_gone_on_with() {
    let folders = Folders::new();
    assert_eq!(folders.play(&says("One."), &[]).run().told(), (0, "One.\n", ""));
    let file = folders.session_files().remove(0);
    let whole = fs::read_to_string(&file).unwrap();
    let torn =
        r#"{"id":"00000005","parentId":"00000003","timestamp":"2026-11-30T00:00:00.000Z","type":"mess"#;
    fs::write(&file, format!("{whole}{torn}")).unwrap();
    assert_eq!(folders.play(&answers(3, "go", "Two."), &["-c"]).run().told(), (0, "Two.\n", ""));
    assert_eq!(recorded(&folders).len(), 8, "the torn line is gone");
}

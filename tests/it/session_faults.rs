//! A session whose disk fails, or that somebody else has open: clear errors, and what was safe stays.

use host::harness::Recording;
use serde_json::json;

use crate::support::{
    run::{Program, can, says},
    scribe::Desk,
    session::{Folders, library},
};

/// A run of the command `/tools` alone, under an injected fault.
fn faulty(folders: &Folders, inject: &str) -> Program {
    let (tools, model) = (library("tools"), folders.scenario(&json!({ "turns": [] })));
    let args = ["-p", "/tools grep", "--continue", "--model", &model, "--mod", tools.to_str().unwrap()];
    folders.cmd(&args).wrapped("strace", &["-f", "-qq", "-o", "/dev/null", "-e", inject])
}

/// A session of one turn, where faults can be injected.
fn recorded() -> Option<Folders> {
    let folders = Folders::new();
    let here = can("strace", &["-f", "-qq", "-o", "/dev/null", "-e", "inject=fsync:error=EIO", "true"]);
    here.then(|| {
        assert_eq!(folders.play(&says("One."), &[]).run().told(), (0, "One.\n", ""));
        folders
    })
}

/// What the session's file is called in messages.
fn file(folders: &Folders) -> String {
    let file = folders.session_files().remove(0);
    file.display().to_string().replace(&folders.dir().display().to_string(), "DIR")
}

#[test]
fn an_entry_that_cannot_be_brought_to_the_disk_at_the_end_of_a_session_is_told() {
    let Some(folders) = recorded() else { return };
    let ran = faulty(&folders, "inject=fdatasync:error=EIO").run();
    let told = format!(
        "warning: cannot write to the session file {}; what is new is not saved: Input/output error (os error 5)\n",
        file(&folders)
    );
    assert_eq!(ran.told(), (0, "off: grep\n", &*told));
    assert_eq!(folders.play(&says("Two."), &["--continue"]).run().told(), (0, "Two.\n", ""));
}

#[test]
fn an_entry_that_cannot_be_written_is_an_error_of_the_call_and_the_session_is_as_it_was() {
    let Some(folders) = recorded() else { return };
    let before = folders.session_lines();
    // The first is of the start.
    let ran = faulty(&folders, "inject=ftruncate:error=ENOSPC:when=2+").run();
    let told = format!(
        "warning: mod:tools failed in command:tools: cannot write to the session file {}; what is new is not saved: \
         No space left on device (os error 28)\n",
        file(&folders)
    );
    assert_eq!((ran.code(), &*ran.stdout, &*ran.stderr), (1, "", &*told));
    assert_eq!(folders.session_lines(), before);
    assert_eq!(folders.play(&says("Two."), &["--continue"]).run().told(), (0, "Two.\n", ""));
}

#[tokio::test]
async fn a_session_is_open_in_one_process_at_a_time() {
    let folders = Folders::new();
    let desk = Desk::open(&folders, Recording::New, &["one", "two"]).await;
    desk.ask("go").await;
    let ran = folders.cmd(&["-p", "go", "--continue", "--model", &folders.scenario(&says("x"))]).run();
    let told =
        format!("error: the session is open in another process; end that one first: {}\n", file(&folders));
    assert_eq!(ran.told(), (1, "", &*told));
    desk.ask("/keep n 1").await;
    desk.close().await;
    assert_eq!(folders.session_lines().len(), 5);
}

//! The record of a session when something goes wrong outside of the program: it is killed at a system call, or the
//! disk is full. What was committed is there afterwards, and the session goes on.

use std::{fs, path::Path, time::SystemTime};

use host::session::Session;
use mod_interface::types::AgentState;
use serde_json::{Value, json};

use crate::support::{
    run::{Program, can, says},
    session::Folders,
    told::told,
};

const KILLS: [&str; 6] = ["-f", "-qq", "-o", "/dev/null", "-e", "inject=fsync:signal=KILL"];

/// A call of a tool, and then an answer: two turns.
fn two_turns() -> Value {
    let call = json!({ "id": "c1", "name": "read_file", "input": { "path": "a.txt" } });
    json!({ "turns": [{ "tool_calls": [call] }, { "text": "Two." }] })
}

/// The session that a file holds.
fn recorded(file: &Path) -> AgentState {
    Session::open(file, std::sync::Arc::new(SystemTime::now)).unwrap().1
}

/// The program, killed when a thread of it makes a system call for the `when`th time. What it calls goes to `trace`.
fn killed(program: Program, call: &str, when: usize, trace: &Path, file: Option<&Path>) -> Program {
    let (trace, inject) = (trace.to_str().unwrap(), format!("inject={call}:signal=KILL:when={when}"));
    let mut args =
        vec!["-f", "-qq", "-o", trace, "-e", "trace=write,ftruncate,fsync,fdatasync", "-e", &inject];
    args.extend(file.iter().flat_map(|file| ["-P", file.to_str().unwrap()]));
    program.wrapped("strace", &args)
}

#[test]
fn a_run_that_is_killed_at_any_step_of_its_commits_leaves_all_that_was_committed_and_goes_on() {
    if !can("strace", &[&KILLS[..], &["true"]].concat()) {
        return;
    }
    let folders = Folders::new();
    fs::write(folders.work().join("a.txt"), "x").unwrap();
    assert_eq!(folders.play(&says("One."), &[]).run().told(), (0, "One.\n", ""));
    let (file, trace) = (folders.session_files().remove(0), folders.dir().join("trace"));
    let before = fs::read(&file).unwrap();
    // How many messages there are before the run, after its first turn and after its second.
    let lengths = [2, 5, 6];
    let run = |call: &str, when: usize| {
        fs::write(&file, &before).unwrap();
        let run = folders.play(&two_turns(), &["--continue"]);
        killed(run, call, when, &trace, Some(&file)).run().code() != 0
    };
    for call in ["ftruncate", "write", "fdatasync"] {
        let kills = (1..).take_while(|when| {
            let killed = run(call, *when);
            let steps = fs::read_to_string(&trace).unwrap();
            let synced =
                steps.lines().filter(|line| line.contains("fdatasync(") && line.ends_with("= 0")).count();
            let told = told(&recorded(&file).messages);
            let commits = lengths.iter().position(|messages| *messages == told.len());
            // What was synced is there; a turn whose sync was killed may be.
            assert!(
                commits.is_some_and(|commits| (synced..=synced + 1).contains(&commits)),
                "{told:?} {steps}"
            );
            let goes_on = folders.play(&says("Three."), &["--continue"]).run();
            assert_eq!(goes_on.told(), (0, "Three.\n", ""), "{steps}");
            assert_eq!(recorded(&file).messages.len(), told.len() + 2, "{steps}");
            killed
        });
        assert!(kills.count() > 0, "it was not killed at {call}");
    }
}

#[test]
fn a_run_that_is_killed_while_it_makes_its_session_leaves_one_that_goes_on_or_none() {
    if !can("strace", &[&KILLS[..], &["true"]].concat()) {
        return;
    }
    let mut gone_on = Vec::new();
    for call in ["fsync", "ftruncate", "fdatasync"] {
        for when in 1.. {
            let folders = Folders::new();
            let run = folders.play(&says("One."), &[]);
            if killed(run, call, when, &folders.dir().join("trace"), None).run().code() == 0 {
                break;
            }
            let ran = folders.play(&says("Two."), &["--continue"]).run();
            let none = "error: there is no session to continue in DIR/work yet; run without --continue\n";
            let goes_on = ran.told() == (0, "Two.\n", "");
            assert!(goes_on || ran.told() == (1, "", none), "{call} {when}: {ran:?}");
            gone_on.push((call, goes_on));
            assert_eq!(folders.play(&says("Three."), &[]).run().told(), (0, "Three.\n", ""), "{call} {when}");
        }
    }
    // Only where the first turn was written.
    assert!(gone_on.contains(&("fsync", false)) && gone_on.contains(&("fdatasync", true)), "{gone_on:?}");
}

#[test]
fn a_disk_that_is_full_is_told_and_what_was_committed_before_is_there() {
    if !can("unshare", &["-rm", "sh", "-c", "mount -t tmpfs tmpfs /tmp"]) {
        return;
    }
    let folders = Folders::new();
    assert_eq!(folders.play(&says("One."), &[]).run().told(), (0, "One.\n", ""));
    let kept = folders.dir().join("kept");
    // The sessions are on a disk of 64 KiB, and are taken from there before it goes away.
    let script = format!(
        "cp -r \"$COMMANDCODE_HOME/sessions\" {kept} && mount -t tmpfs -o size=64k tmpfs \"$COMMANDCODE_HOME/sessions\" && \
         cp -r {kept}/. \"$COMMANDCODE_HOME/sessions\" || exit 9\n\
         \"$@\"; code=$?\n\
         rm -r {kept} && cp -r \"$COMMANDCODE_HOME/sessions\" {kept}; exit $code",
        kept = kept.display()
    );
    let long = json!({ "turns": [{ "text": "x".repeat(100_000) }] });
    let ran =
        folders.play(&long, &["--continue"]).wrapped("unshare", &["-rm", "sh", "-c", &script, "sh"]).run();
    let file = folders.session_files().remove(0);
    let name = file.strip_prefix(folders.dir()).unwrap().display();
    let error = format!(
        "error: turn 1 could not be saved, so the run ends: cannot write to the session file DIR/{name}; \
         what is new is not saved: No space left on device (os error 28)\n"
    );
    assert_eq!((ran.code(), &*ran.stderr), (1, &*error));
    let on_the_disk = kept.join(file.strip_prefix(folders.home().join("sessions")).unwrap());
    assert_eq!(told(&recorded(&on_the_disk).messages), ["user[user]: go", "assistant: One."]);
}

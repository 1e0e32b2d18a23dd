//! Signals: what a run leaves behind when it is interrupted, ended or killed.

use std::{
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use host::session::Session;
use mod_interface::types::Message;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{
    run::{Program, Ran, Running, says},
    session::{Folders, copy_to, library},
};

const HINT: &str = "interrupting the run; once more ends it at once\n";

fn stream(folders: &Folders, scenario: &Value) -> Program {
    folders.play(scenario, &["--dangerously-skip-permissions", "--output-format", "stream-json"])
}

/// Interrupts a run where its output ends in `moment`.
fn interrupt_at(running: Running, moment: &str, signal: Signal) -> Ran {
    running.wait_for_out(|out| out.contains(moment));
    running.signal(signal);
    running.end()
}

/// The last kinds of events of a run, after those that stream the answer. Whether the session got a title depends on what was committed.
fn last_kinds(ran: &Ran, count: usize) -> Vec<String> {
    let kinds = ran.events().into_iter().map(|event| event["type"].as_str().unwrap().to_owned());
    let kinds: Vec<_> = kinds.filter(|kind| kind != "session_titled").collect();
    kinds[kinds.len() - count..].to_vec()
}

fn stop_reason(ran: &Ran) -> Value {
    ran.events_of("run_end")[0]["result"]["stopReason"].clone()
}

#[test]
fn a_command_that_is_interrupted_takes_all_that_it_started_with_it() {
    let command =
        "sleep 600 & (trap '' TERM; sleep 600 & setsid sleep 600 & echo begun; exec sleep 600) & wait";
    let scenario = json!({ "turns": [
        { "tool_calls": [
            { "id": "c1", "name": "shell_command", "input": { "command": command } },
            { "id": "c2", "name": "shell_command", "input": { "command": "echo second" } },
        ]},
        { "text": "never" },
    ]});
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let folders = Folders::new();
        // Whatever this process has been told to ignore.
        let running = stream(&folders, &scenario).wrapped("env", &["--default-signal=HUP"]).start();
        running.wait_for_out(|out| out.contains("tool_update"));
        assert!(folders.processes().len() >= 6, "{:?}", folders.processes());
        running.signal(signal);
        let ran = running.end();
        assert_eq!(folders.processes(), [""; 0]);
        assert_eq!((ran.code(), &*ran.stderr), (1, HINT));
        let kinds = ["tool_errored", "turn_end", "interrupted", "run_end", "session_shutdown"];
        assert_eq!(last_kinds(&ran, 5), kinds);
        assert_eq!(stop_reason(&ran), "interrupted");
        let error = &ran.events_of("tool_errored")[0]["error"];
        assert_eq!(error, "begun\n[interrupted, and ended with all that it had started]");

        let result = |id: &str, text: &str| json!({ "type": "tool_result", "tool_use_id": id, "content": [{ "type": "text", "text": text }], "is_error": true });
        let results = [
            result("c1", "begun\n[interrupted, and ended with all that it had started]"),
            result("c2", "This call did not run, because the user interrupted."),
        ];
        let lines = folders.session_lines();
        let lines: Vec<_> = lines.iter().filter(|line| line["type"] != "session_info").collect();
        assert_eq!(lines[lines.len() - 2]["message"]["content"], json!(results));
        assert_eq!(lines[lines.len() - 1]["type"], "commit");
    }
}

#[test]
fn a_model_call_that_is_interrupted_leaves_no_record() {
    let scenario = json!({ "turns": [{ "delay_ms": 600_000, "text": "never" }] });
    for signal in [Signal::INT, Signal::TERM] {
        let folders = Folders::new();
        let ran = interrupt_at(stream(&folders, &scenario).start(), "model_request_start", signal);
        assert_eq!((ran.code(), &*ran.stderr), (1, HINT));
        assert_eq!(
            last_kinds(&ran, 4),
            ["model_request_start", "interrupted", "run_end", "session_shutdown"]
        );
        assert_eq!(stop_reason(&ran), "interrupted");
        assert_eq!(folders.session_lines(), [Value::Null; 0]);
    }
}

#[test]
fn a_run_that_nohup_started_does_not_end_with_the_terminal() {
    let folders = Folders::new();
    let scenario = json!({ "turns": [{ "delay_ms": 300, "text": "done" }] });
    let running = stream(&folders, &scenario).wrapped("nohup", &[]).start();
    let ran = interrupt_at(running, "model_request_start", Signal::HUP);
    assert_eq!((ran.code(), stop_reason(&ran)), (0, "end_turn".into()));
}

/// A run with a mod that does something bad at a place.
fn misbehave(folders: &Folders, at: &str, how: &str) -> Program {
    let library = library("misbehaving");
    let options = [format!("misbehaving.at={at}"), format!("misbehaving.how={how}")];
    let scenario = json!({ "turns": [{ "tool_calls": [{ "id": "c1", "name": "misbehave", "input": {} }] }, { "text": "done" }] });
    let mods = ["--mod", library.to_str().unwrap(), "--mod-option", &options[0], "--mod-option", &options[1]];
    folders.play(&scenario, &[&["--output-format", "stream-json"], &mods[..]].concat())
}

/// How many journals the next start would look into.
fn journals(folders: &Folders) -> usize {
    std::fs::read_dir(folders.home().join("journal")).unwrap().count()
}

#[test]
fn a_mod_that_never_answers_is_given_up_soon_after_an_interruption() {
    let cases = [
        ("onSessionStart", "hang", "session_start"),
        ("transformInput", "hang", "session_start"),
        ("onTurnStart", "hang", "run_start"),
        ("beforeToolCall", "hang", "tool_queued"),
        ("tool", "hang", "tool_running"),
        ("tool", "block:entered", "tool_running"),
        ("afterToolCall", "hang", "tool_running"),
        ("onStop", "hang", "\"turnNumber\":2,\"hadToolCalls\""),
    ];
    let started: Vec<_> = cases
        .map(|(at, how, moment)| {
            let folders = Folders::new();
            let running = misbehave(&folders, at, how).start();
            running.wait_for_out(|out| out.contains(moment));
            running.signal(Signal::INT);
            (folders, at, running, Instant::now())
        })
        .into_iter()
        .collect();
    for (folders, at, running, start) in started {
        let ran = running.end();
        // Its own limit is ten seconds.
        assert!(start.elapsed() < Duration::from_secs(8), "{at}: {:?}", start.elapsed());
        assert_eq!((ran.code(), &*ran.stderr), (1, HINT), "{at}");
        assert_eq!(last_kinds(&ran, 3), ["interrupted", "run_end", "session_shutdown"], "{at}");
        assert_eq!(stop_reason(&ran), "interrupted", "{at}");
        assert_eq!(ran.events_of("mod_error"), [Value::Null; 0], "{at}: nobody is at fault");
        for line in folders.session_lines() {
            assert_ne!(line["type"], "rewrite");
        }
        assert_eq!(journals(&folders), 0, "{at}: it ended well, although the mod is still inside");
    }
}

#[test]
fn a_mod_that_does_not_let_go_at_the_end_is_named_and_given_up() {
    let cases = [("onRunEnd", "interrupted"), ("onSessionEnd", "run_end")];
    let started = cases.map(|(at, moment)| {
        let folders = Folders::new();
        let running = misbehave(&folders, at, "hang").start();
        running.wait_for_out(|out| out.contains("run_start"));
        running.signal(Signal::INT);
        running.wait_for_out(|out| out.contains(moment));
        (folders, at, running, Instant::now())
    });
    for (_folders, at, running, start) in started {
        let ran = running.end();
        // Its own limit is sixty seconds.
        assert!(start.elapsed() < Duration::from_secs(12), "{at}: {:?}", start.elapsed());
        assert_eq!((ran.code(), &*ran.stderr), (1, HINT), "{at}");
        let told = format!(
            "mod:misbehaving is given up: its {at} is not done in the 5 s that all mods share for it after an interruption"
        );
        let notice = json!({ "type": "notice", "level": "warning", "message": told, "agentId": "main" });
        assert_eq!(ran.events_of("notice"), [notice], "{at}");
        assert_eq!(last_kinds(&ran, 1), ["session_shutdown"], "{at}");
    }
}

#[test]
fn a_start_that_is_interrupted_ends_at_once() {
    for how in ["hang", "spin"] {
        let folders = Folders::new();
        let pipe = folders.home().join("constructed");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let running = misbehave(&folders, "factory", how).env("MISBEHAVING_CONSTRUCTOR", &pipe).start();
        // It can be read when the mod's constructor writes it.
        assert_eq!(std::fs::read_to_string(&pipe).unwrap(), "the constructor ran");
        let start = Instant::now();
        running.signal(Signal::INT);
        let ran = running.end();
        assert!(start.elapsed() < Duration::from_secs(2), "{how}: {:?}", start.elapsed());
        let told = "interrupted before the run began";
        let event = json!({ "type": "run_error", "error": told, "agentId": "main" });
        assert_eq!((ran.code(), ran.events()), (1, vec![event]), "{how}");
        assert_eq!(ran.stderr, format!("{HINT}error: {told}\n"), "{how}");
        assert_eq!(folders.session_lines(), [Value::Null; 0]);
    }
}

/// Whether a process waits for somebody else to let go of a file.
fn waits_for_a_lock(running: &Running) -> bool {
    let pid = format!(" {} ", running.pid().as_raw_nonzero());
    let locks = std::fs::read_to_string("/proc/locks").unwrap();
    locks.lines().any(|lock| lock.contains(" -> ") && lock.contains(&pid))
}

#[test]
fn a_start_that_hangs_ends_with_the_first_signal() {
    let folders = Folders::new();
    std::fs::create_dir(folders.home().join("mods")).unwrap();
    copy_to(&library("observe-events"), "libobserve_events.so", &folders.home().join("mods"));
    // What the hash of a loose mod is written down with.
    let held = std::fs::File::open(folders.home()).unwrap();
    held.lock().unwrap();
    let running = stream(&folders, &says("never")).start();
    while !waits_for_a_lock(&running) {
        std::thread::yield_now();
    }
    let start = Instant::now();
    running.signal(Signal::INT);
    let ran = running.end();
    assert_eq!(ran.told(), (130, "", HINT));
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
}

/// Such a constructor holds the system's loader, and code of the other mods may wait for that when it is
/// dropped.
#[test]
fn a_start_that_is_interrupted_in_a_constructor_waits_for_nobody() {
    let folders = Folders::new();
    let pipe = folders.home().join("constructed");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let (first, bad) = (library("with-runtime"), library("misbehaving"));
    let mods = ["--mod", first.to_str().unwrap(), "--mod", bad.to_str().unwrap()];
    let hangs = format!("hang:{}", pipe.display());
    let running = folders.play(&says("never"), &mods).env("MISBEHAVING_CONSTRUCTOR", hangs).start();
    assert_eq!(std::fs::read_to_string(&pipe).unwrap(), "the constructor ran");
    running.signal(Signal::INT);
    let told = format!("{HINT}error: interrupted before the run began\n");
    assert_eq!(running.end().told(), (1, "", &*told));
}

#[test]
fn a_constructor_that_never_returns_ends_the_start_and_not_the_program_for_ever() {
    // It holds the system's loader, which a backtrace would wait for, and so would an exit handler.
    let hangs = |settings: Value| {
        let folders = Folders::new();
        folders.settings(&settings);
        let program = misbehave(&folders, "nowhere", "hang");
        (folders, program.env("MISBEHAVING_CONSTRUCTOR", "hang").env("RUST_BACKTRACE", "1").start())
    };
    let (_folders, running) = hangs(json!({ "mods": { "loadTimeoutMs": 300 } }));
    let ran = running.end();
    let told = "did not load within 300ms, stuck in its constructor; start without it: take it out of `--mod`, or put \
                its name into `mods.disabled`: misbehaving [E_STUCK]";
    assert_eq!((ran.code(), &*ran.stderr), (1, &*format!("error: {told}\n")));
    assert_eq!(ran.events(), [json!({ "type": "run_error", "error": told, "agentId": "main" })]);
}

/// As `timeout` does it, which signals its child and then the group.
#[test]
fn a_signal_that_comes_twice_interrupts_once() {
    let folders = Folders::new();
    let running = misbehave(&folders, "tool", "hang").start();
    running.wait_for_out(|out| out.contains("tool_running"));
    // Two of a kind could be one for the system.
    running.signal(Signal::TERM);
    running.signal(Signal::INT);
    let ran = running.end();
    assert_eq!((ran.code(), &*ran.stderr), (1, HINT));
    assert_eq!(last_kinds(&ran, 3), ["interrupted", "run_end", "session_shutdown"]);
}

#[test]
fn a_second_signal_ends_the_process_at_once() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let folders = Folders::new();
        let running = misbehave(&folders, "beforeToolCall", "spin").start();
        // The watchdog says that the hook is inside of the mod: before that, one signal ends the run well.
        running.wait_for_out(|out| out.contains(r#""type":"notice""#));
        running.signal(signal);
        running.wait_for_err(|err| err == HINT);
        running.signal_again(signal);
        let ran = running.end();
        assert_eq!((ran.code(), &*ran.stderr), (code, HINT));
        assert_eq!(ran.events().last().unwrap()["type"], "notice");
    }
}

#[test]
fn a_second_signal_kills_what_does_not_listen() {
    let command = "trap '' TERM; setsid sleep 600 & sleep 600 & echo begun; wait; sleep 600";
    let folders = Folders::new();
    let scenario = json!({ "turns": [{ "tool_calls": [{ "name": "shell_command", "input": { "command": command } }] }] });
    let running = stream(&folders, &scenario).start();
    running.wait_for_out(|out| out.contains("tool_update"));
    running.signal(Signal::INT);
    running.wait_for_err(|err| err == HINT);
    running.signal_again(Signal::INT);
    let ran = running.end();
    assert_eq!((ran.code(), folders.processes()), (130, vec![]));
}

#[test]
fn what_a_mods_own_task_has_started_ends_with_the_program() {
    let folders = Folders::new();
    let library = library("with-runtime");
    let option = "with-runtime.background=trap '' TERM; echo begun > ../begun; sleep 600; sleep 600";
    let mods = ["--mod", library.to_str().unwrap(), "--mod-option", option];
    // It is there before the run is over: the model's command waits for it.
    let wait = "while [ ! -s ../begun ]; do sleep 0.01; done";
    let scenario = json!({ "turns": [{ "tool_calls": [{ "name": "shell_command", "input": { "command": wait } }] }, { "text": "done" }] });
    let skip = "--dangerously-skip-permissions";
    let ran = folders.play(&scenario, &[&[skip], &mods[..]].concat()).run();
    assert_eq!((ran.told(), folders.processes()), ((0, "done\n", ""), vec![]));
}

/// No file can grow, as on a disk that is full.
#[test]
fn a_session_that_cannot_be_begun_leaves_no_file() {
    let folders = Folders::new();
    let full = ["-c", "trap '' XFSZ; ulimit -f 0; exec \"$@\"", "sh"];
    let ran = folders.play(&says("never"), &[]).wrapped("sh", &full).run();
    assert_eq!(ran.code(), 1);
    let told = "(--no-session runs without one): File too large (os error 27)\n";
    assert!(
        ran.stderr.starts_with("error: cannot make the session file DIR/home/sessions/"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.ends_with(told), "{}", ran.stderr);
    assert!(folders.session_files().is_empty());
}

/// Several turns that call a tool, and an answer.
fn long_talk() -> Value {
    let turn = |number: usize| {
        let call = json!({ "id": format!("c{number}"), "name": "list_directory", "input": {} });
        json!({ "text": format!("{number} ").repeat(5_000), "chunks": 4, "tool_calls": [call] })
    };
    let turns: Vec<_> = (1..=6).map(turn).chain([json!({ "text": "done" })]).collect();
    json!({ "turns": turns })
}

/// How many turns are surely on disk: the event after a turn's end comes when it is. Of a line that was
/// cut off nothing counts.
fn turns_promised(ran: &Ran) -> u64 {
    let whole = ran.stdout.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    let events = whole.map(|line| serde_json::from_str::<Value>(line).unwrap());
    let promised = events.map(|event| match event["type"].as_str().unwrap() {
        "turn_start" => event["turnNumber"].as_u64().unwrap() - 1,
        "run_end" => event["result"]["turnCount"].as_u64().unwrap(),
        _ => 0,
    });
    promised.max().unwrap_or_default()
}

/// The conversation that a session file holds.
fn recorded(folders: &Folders) -> Vec<Message> {
    let files = folders.session_files();
    let [file] = &files[..] else { panic!("one session has one file: {files:?}") };
    let (_, state) = Session::open(file, Arc::new(SystemTime::now)).unwrap();
    state.messages.iter().map(|message| Message::clone(message)).collect()
}

#[test]
fn a_run_that_is_killed_loses_no_turn_that_the_next_event_has_followed() {
    let whole = Folders::new();
    let ran = stream(&whole, &long_talk()).run();
    let (lines, conversation) = (ran.stdout.lines().count(), recorded(&whole));
    assert_eq!((ran.code(), turns_promised(&ran), conversation.len()), (0, 7, 14));
    for number in 1..=20 {
        let folders = Folders::new();
        let running = stream(&folders, &long_talk()).start();
        let at = number * lines / 20;
        running.wait_for_out(|out| out.lines().count() >= at);
        running.signal(Signal::KILL);
        let ran = running.end();
        let messages = recorded(&folders);
        assert_eq!(messages, conversation[..messages.len()], "killed at line {at}");
        // The prompt, and an answer with its results a turn; or all of it, or nothing.
        let is_at_commit = messages.len() % 2 == 1 || [0, conversation.len()].contains(&messages.len());
        let turns = u64::try_from(messages.len() / 2).unwrap();
        assert!(is_at_commit && turns >= turns_promised(&ran), "killed at line {at}: {turns} turns, {ran:?}");
    }
}

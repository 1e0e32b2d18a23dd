//! Mods in a session: what they change, and that what goes wrong in one stays there.

use host::{harness::HarnessBuilder, settings::Settings};
use mod_interface::types::{Hook, PermissionMode};
use serde_json::json;

use crate::support::{
    asked::with_fault,
    behaving::{echoes, session},
    misbehaving::Misbehaving,
    session::{Folders, library, play},
};

fn bypass(builder: HarnessBuilder) -> HarnessBuilder {
    builder.permission_mode(Some(PermissionMode::Bypass))
}

#[tokio::test(flavor = "multi_thread")]
async fn sample_mods_act_in_a_session() {
    let folders = Folders::new();
    std::fs::write(folders.work().join("a.rs"), "// TODO one\n// TODO two\n").unwrap();
    let scenario = json!({ "turns": [
        { "tool_calls": [{ "name": "count_todos", "input": {} }],
          "expect": { "tools_include": ["count_todos", "read_file"] } },
        { "tool_calls": [{ "name": "shell_command", "input": { "command": "rm -rf ." } }],
          "expect": { "tool_result_contains": { "text": "2 TODO markers in 1 files\n2 in ./a.rs" } } },
        { "text": "done",
          "expect": { "tool_result_contains": { "text": "Blocked by block-dangerous-commands" } } },
    ] });
    let record = play(&folders, &scenario, |builder| {
        let names = ["block-dangerous-commands", "custom-tool", "observe-events"];
        bypass(builder).mods(names.map(library))
    })
    .await;
    let expected = [
        &["session_start", "run_start"][..],
        &turn(&["tool_queued count_todos", "tool_running count_todos", "tool_completed count_todos"]),
        &turn(&["tool_queued shell_command", "tool_hook_blocked shell_command"]),
        &turn(&[]),
        &["run_end", "session_titled", "notice observe-events: 3 turns, 1 tools run, 1 calls blocked"],
        &["session_shutdown"],
    ]
    .concat();
    let lines = record.lines();
    let told: Vec<_> = lines.iter().map(String::as_str).filter(|line| !is_streaming(line)).collect();
    assert_eq!(told, expected);
    assert_eq!(record.warnings, [""; 0]);
    assert!(folders.work().join("a.rs").exists());
}

fn turn(middle: &[&'static str]) -> Vec<&'static str> {
    let before = ["turn_start", "message_start", "model_request_start"];
    let after = ["model_request_end", "message_end"];
    [&before[..], &after, middle, &["turn_end"]].concat()
}

fn is_streaming(line: &str) -> bool {
    ["text_delta", "message_update"].contains(&line)
}

/// The line of the misbehaving mod's source with this text.
fn line_of(text: &str) -> usize {
    let source = include_str!("../mods/misbehaving/src/bad.rs");
    source.lines().position(|line| line.contains(text)).unwrap() + 1
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_of_any_kind_at_any_hook_is_told_with_its_place_and_the_run_goes_on() {
    let (misbehaving, turns) = (Misbehaving::new(), json!([echoes(&["x"]), { "text": "done" }]));
    let without = session(&turns, |builder, _| builder).await;
    let nameless = "panicked: a panic without a text";
    let hows = [
        ("panic-called", "panicked: called", "panic!(\"called\")"),
        ("panic-payload", nameless, "panic_any(Bomb)"),
        ("panic-polled", "panicked: polled", "panic!(\"polled\")"),
        ("panic-polled-later", "panicked: polled again", "panic!(\"polled again\")"),
        ("panic-dropped", nameless, "panic_any(Pin::new"),
        ("panic-dropped-later", nameless, "panic_any(Pin::new"),
        ("error", "went wrong", ""),
    ];
    for (how, said, source) in hows {
        let place = format!(" at tests/mods/misbehaving/src/bad.rs:{}", line_of(source));
        let error = format!("{said}{}", if source.is_empty() { "" } else { &place });
        for hook in Hook::ALL {
            let told = misbehaving.both(&turns, hook.wire_name(), how, &Settings::default()).await;
            assert_eq!(told, with_fault(&without, "mod:misbehaving", hook, &error), "{how} {hook}");
        }
    }
}

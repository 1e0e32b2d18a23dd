//! Mods in a session: what they change, and that what goes wrong in one stays there.

use host::harness::HarnessBuilder;
use mod_interface::types::{PermissionMode, StopReason};
use serde_json::{Value, json};

use crate::support::session::{Folders, Record, library, play};

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
        &["run_end", "notice observe-events: 3 turns, 1 tools run, 1 calls blocked", "session_shutdown"],
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

/// A session in which the misbehaving mod is reached at every hook.
async fn misbehave(at: &str, how: &str) -> Record {
    let scenario: Value = json!({ "turns": [
        { "tool_calls": [{ "id": "c1", "name": "misbehave", "input": {} }] },
        { "text": "done" },
    ] });
    let options =
        [("at", at), ("how", how)].map(|(name, value)| (format!("misbehaving.{name}"), value.to_owned()));
    play(&Folders::new(), &scenario, |builder| {
        bypass(builder).mods([library("misbehaving")]).mod_options(options)
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_of_any_kind_is_told_with_its_place_and_the_run_goes_on() {
    let hows = [
        ("panic-called", "panicked: called at "),
        ("panic-payload", "panicked: a panic without a text at "),
        ("panic-polled", "panicked: polled at "),
        ("panic-polled-later", "panicked: polled again at "),
        ("panic-dropped", "panicked: a panic without a text at "),
        ("panic-dropped-later", "panicked: a panic without a text at "),
        ("error", "went wrong"),
    ];
    for hook in ["beforeToolCall", "afterToolCall", "onTurnEnd"] {
        for (how, said) in hows {
            let record = misbehave(hook, how).await;
            let errors = record.mod_errors();
            assert_eq!(errors.len(), 1, "{hook} {how}: told once, though it fails each time: {errors:?}");
            assert_eq!(errors[0][..2], ["mod:misbehaving", hook]);
            assert!(errors[0][2].starts_with(said), "{how}: {}", errors[0][2]);
            if how.starts_with("panic") {
                assert!(errors[0][2].contains("misbehaving/src/lib.rs:"), "{how}: {}", errors[0][2]);
            }
            assert_eq!(
                record.result.map(|result| result.stop_reason),
                Some(StopReason::EndTurn),
                "{hook} {how}"
            );
        }
    }
}

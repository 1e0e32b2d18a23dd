//! Calls into the host from where nobody expects them: from drops, panics, threads and futures that were given up.
//! They are answered, and the session goes on as without them.

use host::settings::Settings;
use mod_interface::types::Hook;
use serde_json::{Value, json};

use crate::support::{
    asked::{each_time, first_time},
    behaving::{echoes, session},
    misbehaving::Misbehaving,
};

fn turns() -> Value {
    json!([echoes(&["x"]), { "text": "done" }])
}

/// What the mod tells of its calls, when all are answered.
fn answered(from: &str) -> Vec<String> {
    let refused = "a tool's name must be 1 to 64 letters, digits, _ or -, got: \"no name\"";
    [
        format!("notice {from}"),
        format!("mod_error mod:misbehaving tool:no name: {refused}"),
        format!(
            r#"mod_event mod:misbehaving/{from} [{{"Ok":true}},{{"Ok":true}},{{"Ok":false}},{{"Ok":true}}]"#
        ),
    ]
    .into()
}

/// The events of a session in which `hook` makes the calls of a drop, and fails with `error` each time.
fn failing_behind_calls(without: &[String], hook: Hook, error: &str) -> Vec<String> {
    let calls = answered("dropped");
    let mut lines = each_time(without, hook, &calls);
    let behind: Vec<_> = (0..lines.len()).filter(|at| lines[*at] == calls[2]).map(|at| at + 1).collect();
    if behind.len() > 1 {
        let end = lines.iter().position(|line| line.starts_with("run_end")).unwrap();
        lines.insert(end, format!("notice mod:misbehaving failed once more at {hook}"));
    }
    lines.insert(behind[0], format!("mod_error mod:misbehaving {hook}: {error}"));
    lines
}

#[tokio::test]
async fn calls_from_a_drop_a_thread_and_behind_a_dispose_are_answered_at_every_hook() {
    let (misbehaving, without) = (Misbehaving::new(), session(&turns(), |builder, _| builder).await);
    for (how, from) in
        [("call-in-drop", "dropped"), ("call-from-a-thread", "thread"), ("call-what-is-disposed", "disposed")]
    {
        for hook in Hook::ALL {
            let told = misbehaving.both(&turns(), hook.wire_name(), how, &Settings::default()).await;
            assert_eq!(told, each_time(&without, hook, &answered(from)), "{how} {hook}");
        }
    }
}

#[tokio::test]
async fn a_call_on_the_way_out_of_a_panic_is_answered_and_the_panic_is_told() {
    let (misbehaving, without) = (Misbehaving::new(), session(&turns(), |builder, _| builder).await);
    let source = include_str!("../mods/misbehaving/src/odd.rs");
    let line = source.lines().position(|line| line.contains("panic!(\"")).unwrap() + 1;
    let error = format!("panicked: with a call on the way at tests/mods/misbehaving/src/odd.rs:{line}");
    for hook in Hook::ALL {
        let told =
            misbehaving.both(&turns(), hook.wire_name(), "call-while-panicking", &Settings::default()).await;
        assert_eq!(told, failing_behind_calls(&without, hook, &error), "{hook}");
    }
}

#[tokio::test]
async fn a_call_of_a_future_that_is_given_up_is_answered() {
    let (misbehaving, without) = (Misbehaving::new(), session(&turns(), |builder, _| builder).await);
    let error = "timeout: took longer than 1 ms of its own time";
    // Those of the end have a minute.
    for hook in Hook::ALL.into_iter().filter(|hook| !matches!(hook, Hook::OnRunEnd | Hook::OnSessionEnd)) {
        let mut settings = Settings::default();
        settings.mods.user.hook_timeout_ms = Some(1);
        let told = misbehaving.both(&turns(), hook.wire_name(), "call-when-given-up", &settings).await;
        assert_eq!(told, failing_behind_calls(&without, hook, error), "{hook}");
    }
}

#[tokio::test]
async fn a_hook_that_disposes_itself_answers_in_this_round_and_is_asked_in_no_other() {
    let (misbehaving, without) = (Misbehaving::new(), session(&turns(), |builder, _| builder).await);
    for hook in Hook::ALL {
        let told = misbehaving.both(&turns(), hook.wire_name(), "dispose-itself", &Settings::default()).await;
        assert_eq!(told, first_time(&without, hook, "mod_event mod:misbehaving/disposed true"), "{hook}");
    }
}

/// The thousand lines of a flood.
fn flood(line: &str) -> Vec<String> {
    (0..1000).map(|number| format!("{line} {number}")).collect()
}

#[tokio::test]
async fn a_flood_of_events_or_of_the_bus_is_told_whole_and_in_order_at_every_hook() {
    let (misbehaving, without) = (Misbehaving::new(), session(&turns(), |builder, _| builder).await);
    for (how, line) in [("flood-events", "mod_event mod:misbehaving/flood"), ("flood-bus", "notice heard")] {
        for hook in Hook::ALL {
            let told = misbehaving.both(&turns(), hook.wire_name(), how, &Settings::default()).await;
            assert_eq!(told, each_time(&without, hook, &flood(line)), "{how} {hook}");
        }
    }
}

//! The catalogue of events: each kind is raised by a session, or is kept for a feature that is still to come.

use std::{
    collections::BTreeSet,
    num::NonZeroU32,
    sync::{Arc, Mutex},
};

use futures::future::{BoxFuture, ready};
use host::{
    harness::{Harness, HarnessBuilder, Recording},
    settings::Settings,
    tools::{Tool, ToolContext},
};
use mod_interface::types::{AgentEvent, EventKind, PermissionMode, SessionEndReason, ToolOutput, ToolSpec};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::{
    behaving::{Echo, compiled_in, line},
    session::Folders,
};

/// The kinds of features that do not exist yet: a mod may name them, and nothing raises them.
const KEPT: [&str; 4] = ["tool_hooks", "skill_loaded", "session_titled", "config_setting_changed"];

/// Raised where an embedder changes the mode of an agent; the harness has no way to yet.
const BY_EMBEDDERS: [&str; 1] = ["permission_mode_changed"];

/// Tells how far it is.
struct Tells(ToolSpec);

impl Tool for Tells {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn run(&self, _: Value, ctx: ToolContext) -> BoxFuture<'_, ToolOutput> {
        (ctx.progress)("half");
        Box::pin(ready(ToolOutput::text("whole")))
    }
}

/// The events of a session, a line each: the agent, the kind, and what tells it apart.
async fn events(
    turns: Value,
    cancel: &CancellationToken,
    build: impl FnOnce(HarnessBuilder) -> HarnessBuilder,
) -> Vec<String> {
    let folders = Folders::new();
    std::fs::write(folders.work().join("a.txt"), "text").unwrap();
    let mut settings = Settings::default();
    settings.api.max_attempts = NonZeroU32::new(9);
    settings.api.base_delay_ms = Some(1);
    settings.compaction.threshold_tokens = Some(4000);
    let told = Arc::<Mutex<Vec<String>>>::default();
    let kept = Arc::clone(&told);
    let builder = Harness::builder()
        .places(folders.places())
        .settings(settings)
        .model(Some(folders.scenario(&json!({ "turns": turns }))))
        .record(Recording::InMemory)
        .tool(Arc::new(Echo::new()))
        .tool(Arc::new(Tells(ToolSpec {
            name: "tells".to_owned(),
            description: "Tells how far it is.".to_owned(),
            input_schema: json!({ "type": "object" }),
            read_only: true,
        })))
        .sink(Arc::new(move |event: &AgentEvent| {
            kept.lock().unwrap().push(format!("{} {}", event.agent_id, line(event)));
        }));
    let harness = build(builder).start().await.unwrap();
    harness.prompt("go", cancel).await;
    harness.end(SessionEndReason::Shutdown).await;
    std::mem::take(&mut *told.lock().unwrap())
}

/// A session in which everything happens that ends well.
async fn eventful() -> Vec<String> {
    let busy = json!({ "error": { "kind": "retryable", "message": "busy" } });
    let calls = json!([
        { "id": "c1", "name": "echo", "input": [{ "text": "an object in an array" }] },
        { "id": "c2", "name": "read_file", "input": { "path": "a.txt" } },
        { "id": "c3", "name": "tells", "input": {} },
        { "id": "c4", "name": "agent", "input": { "description": "d", "prompt": "p" } },
        { "id": "c5", "name": "echo", "input": { "text": "fail" } },
        { "id": "c6", "name": "no_such_tool", "input": {} },
    ]);
    let turns = json!([
        busy, busy, busy, busy,
        { "thinking": "hm", "text": "look", "tool_calls": calls },
        { "tool_calls": [{ "id": "d1", "name": "echo", "input": { "text": "x" } }] },
        { "text": "found" },
        { "text": "" },
        { "text": "done" },
    ]);
    events(turns, &CancellationToken::new(), |builder| {
        let builder = builder.permission_mode(Some(PermissionMode::Bypass));
        let does = ("behaving-a.does".to_owned(), "forge,fail-error:onTurnEnd".to_owned());
        compiled_in(builder, "a").mod_options([does])
    })
    .await
}

/// A session of a conversation that is too long.
async fn compacted(cancel: &CancellationToken) -> Vec<String> {
    let call = |id: &str| json!([{ "id": id, "name": "echo", "input": { "text": "x" } }]);
    let turns = json!([
        { "text": "x".repeat(400), "tool_calls": call("c1") },
        { "tool_calls": call("c2"), "usage": { "input_tokens": 5000 } },
        { "text": "notes" },
        { "text": "done" },
    ]);
    events(turns, cancel, |builder| builder).await
}

#[tokio::test]
async fn every_kind_of_event_is_raised_but_for_those_of_features_to_come() {
    let (never, interrupted) = (CancellationToken::new(), CancellationToken::new());
    interrupted.cancel();
    let call = json!([{ "tool_calls": [{ "id": "c1", "name": "echo", "input": { "text": "x" } }] }]);
    let broken = json!([{ "error": { "kind": "fatal", "message": "broken" } }]);
    let blocked =
        |builder| compiled_in(builder, "a").mod_options([("behaving-a.does".to_owned(), "block".to_owned())]);
    let sessions = [
        eventful().await,
        events(call.clone(), &never, blocked).await,
        events(call.clone(), &never, |builder| builder.rules(Vec::new(), vec!["echo".to_owned()])).await,
        events(call, &interrupted, |builder| builder).await,
        events(broken, &never, |builder| builder).await,
        compacted(&never).await,
    ];
    let lines = sessions.iter().flatten();
    let raised: BTreeSet<_> = lines.filter_map(|line| line.split(' ').nth(1)).collect();
    let all: BTreeSet<_> = EventKind::ALL.iter().map(|kind| kind.as_str()).collect();
    let silent: BTreeSet<_> = all.difference(&raised).copied().collect();
    assert_eq!(silent, KEPT.into_iter().chain(BY_EMBEDDERS).collect());
}

#[tokio::test]
async fn a_session_in_which_much_happens_tells_it_in_the_documented_order() {
    let told = eventful().await;
    let lines: Vec<_> =
        told.iter().map(String::as_str).filter(|line| !line.contains("message_update")).collect();
    assert_eq!(lines, MUCH);
}

/// What it tells, but for the messages so far.
const MUCH: &[&str] = &[
    "main session_start",
    "main run_start",
    r#"main mod_event mod:behaving-a/run_end {"result":"forged"}"#,
    "main mod_error mod:behaving-a onTurnStart: an event's kind is of a-z, 0-9, _ and -, got: mod:other/hello",
    "main turn_start",
    "main message_start",
    "main model_request_start",
    "main api_retry",
    "main thinking_start",
    "main thinking_delta",
    "main thinking_end",
    "main text_delta look",
    "main model_request_end",
    "main message_end thinking + look + tool_use + tool_use + tool_use + tool_use + tool_use + tool_use",
    r#"main tool_queued c1 [{"text":"an object in an array"}]"#,
    r#"main tool_queued c2 {"path":"a.txt"}"#,
    "main tool_queued c3 {}",
    r#"main tool_queued c4 {"description":"d","prompt":"p"}"#,
    r#"main tool_queued c5 {"text":"fail"}"#,
    "main tool_queued c6 {}",
    "main tool_input_coerced",
    "main tool_input_repaired",
    "main tool_running c1",
    "main tool_completed c1: an object in an array",
    "main tool_running c2",
    "main tool_completed c2:      1\ttext",
    "main tool_running c3",
    "main tool_update",
    "main tool_completed c3: whole",
    "main tool_running c4",
    "main subagent_start",
    "agent:c4 run_start",
    r#"agent:c4 mod_event mod:behaving-a/run_end {"result":"forged"}"#,
    "agent:c4 mod_error mod:behaving-a onTurnStart: an event's kind is of a-z, 0-9, _ and -, got: mod:other/hello",
    "agent:c4 turn_start",
    "agent:c4 message_start",
    "agent:c4 model_request_start",
    "agent:c4 model_request_end",
    "agent:c4 message_end tool_use",
    r#"agent:c4 tool_queued d1 {"text":"x"}"#,
    "main subagent_progress",
    "agent:c4 tool_running d1",
    "agent:c4 tool_completed d1: x",
    "agent:c4 mod_error mod:behaving-a onTurnEnd: failed",
    "agent:c4 turn_end",
    r#"agent:c4 mod_event mod:behaving-a/run_end {"result":"forged"}"#,
    "agent:c4 turn_start",
    "agent:c4 message_start",
    "agent:c4 model_request_start",
    "agent:c4 text_delta found",
    "agent:c4 model_request_end",
    "agent:c4 message_end found",
    "agent:c4 turn_end",
    "agent:c4 notice mod:behaving-a failed once more at onTurnEnd",
    "agent:c4 notice mod:behaving-a failed once more at onTurnStart",
    "agent:c4 run_end end_turn 2",
    "main subagent_stop",
    "main tool_completed c4: found",
    "main tool_running c5",
    "main tool_errored c5: fail",
    "main tool_errored c6: there is no such tool, only read_file, write_file, edit_file, shell_command, grep, glob, list_directory, agent, echo, tells, got: no_such_tool",
    "main mod_error mod:behaving-a onTurnEnd: failed",
    "main turn_end",
    r#"main mod_event mod:behaving-a/run_end {"result":"forged"}"#,
    "main turn_start",
    "main message_start",
    "main model_request_start",
    "main model_request_end",
    "main message_end",
    "main turn_end",
    "main continuation_recovery",
    r#"main mod_event mod:behaving-a/run_end {"result":"forged"}"#,
    "main turn_start",
    "main message_start",
    "main model_request_start",
    "main text_delta done",
    "main model_request_end",
    "main message_end done",
    "main turn_end",
    "main notice mod:behaving-a failed 2 times more at onTurnEnd",
    "main notice mod:behaving-a failed 2 times more at onTurnStart",
    "main run_end end_turn 3",
    "main session_shutdown",
];

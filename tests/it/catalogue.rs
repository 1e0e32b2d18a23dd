//! The catalogue of events: each kind is raised by a session, or is kept for a feature that is still to come. What
//! is raised stands in `tests/it/catalogue/`, a file a session, an event a line, whole.

use std::{
    collections::BTreeSet,
    num::NonZeroU32,
    sync::{Arc, Mutex},
};

use futures::future::{BoxFuture, ready};
use host::{
    events::EventSink,
    harness::{Harness, HarnessBuilder, Recording},
    settings::Settings,
    tools::{Tool, ToolContext},
};
use mod_interface::types::{
    AgentEvent, EventKind, EventPayload, PermissionMode, SessionEndReason, ToolOutput, ToolSpec,
};
use regex::Regex;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::{
    behaving::{Echo, compiled_in},
    session::Folders,
};

/// The kinds of features that do not exist yet: a mod may name them, and nothing raises them.
const KEPT: [&str; 4] = ["tool_hooks", "skill_loaded", "session_titled", "config_setting_changed"];

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

/// An event, and its JSON when it was raised, without what differs from run to run.
type Told = (Arc<AgentEvent>, Value);

#[derive(Default)]
struct Keeps(Mutex<Vec<Told>>);

impl EventSink for Keeps {
    fn emit(&self, event: &AgentEvent) {
        self.emit_shared(&Arc::new(event.clone()));
    }

    fn emit_shared(&self, event: &Arc<AgentEvent>) {
        let json = tidy(event);
        self.0.lock().unwrap().push((Arc::clone(event), json));
    }
}

fn tidy(event: &AgentEvent) -> Value {
    let mut json = serde_json::to_value(event).unwrap();
    match &event.payload {
        EventPayload::RunStart { .. } => json["sessionId"] = "SESSION".into(),
        EventPayload::ApiRetry { delay_ms, .. } => {
            assert!((1..=16).contains(delay_ms), "{delay_ms}");
            json["delayMs"] = "DELAY".into();
        }
        _ => {}
    }
    let model = Regex::new("scripted/[^ \"]*/scenario.json").unwrap();
    serde_json::from_str(&model.replace_all(&json.to_string(), "MODEL")).unwrap()
}

/// The events of a session of one prompt, whose permission mode is changed before it ends.
async fn events(
    turns: Value,
    cancel: &CancellationToken,
    build: impl FnOnce(HarnessBuilder) -> HarnessBuilder,
) -> Vec<Told> {
    let folders = Folders::new();
    std::fs::write(folders.work().join("a.txt"), "text").unwrap();
    let mut settings = Settings::default();
    settings.api.max_attempts = NonZeroU32::new(9);
    settings.api.base_delay_ms = Some(1);
    settings.compaction.threshold_tokens = Some(20_000);
    let told = Arc::<Keeps>::default();
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
        .sink(Arc::clone(&told) as _);
    let harness = build(builder).start().await.unwrap();
    harness.prompt("go", cancel).await;
    harness.set_permission_mode(PermissionMode::Plan);
    harness.end(SessionEndReason::Shutdown).await;
    std::mem::take(&mut *told.0.lock().unwrap())
}

/// Tokens that tell apart what they were used for, and by which call.
fn used(tokens: u32) -> Value {
    json!({
        "input_tokens": tokens,
        "output_tokens": 2 * tokens,
        "cache_read_tokens": 3 * tokens,
        "cache_write_tokens": 4 * tokens,
    })
}

/// A session in which everything happens that ends well.
async fn eventful() -> Vec<Told> {
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
        { "thinking": "hm", "text": "look", "tool_calls": calls, "usage": used(1000) },
        { "tool_calls": [{ "id": "d1", "name": "echo", "input": { "text": "x" } }], "usage": used(100) },
        { "text": "found", "usage": used(10) },
        { "text": "" },
        { "text": "done", "usage": used(1) },
    ]);
    events(turns, &CancellationToken::new(), |builder| {
        let builder = builder.permission_mode(Some(PermissionMode::Bypass));
        let does = ("behaving-a.does".to_owned(), "report,forge,fail-error:onTurnEnd".to_owned());
        compiled_in(builder, "a").mod_options([does])
    })
    .await
}

/// A session of a conversation that is too long.
async fn compacted(cancel: &CancellationToken) -> Vec<Told> {
    let call = |id: &str| json!([{ "id": id, "name": "echo", "input": { "text": "x" } }]);
    let turns = json!([
        { "text": "x".repeat(400), "tool_calls": call("c1") },
        { "tool_calls": call("c2"), "usage": { "input_tokens": 50_000 } },
        { "text": "notes" },
        { "text": "done" },
    ]);
    events(turns, cancel, |builder| builder).await
}

/// Sessions in which everything happens, each with what stands in its file.
async fn sessions() -> [(Vec<Told>, &'static str); 6] {
    let (never, interrupted) = (CancellationToken::new(), CancellationToken::new());
    interrupted.cancel();
    let call = json!([{ "tool_calls": [{ "id": "c1", "name": "echo", "input": { "text": "x" } }] }]);
    let broken = json!([{ "error": { "kind": "fatal", "message": "broken" } }]);
    let blocked = |builder| {
        let does = ("behaving-a.does".to_owned(), "block-and-terminate".to_owned());
        compiled_in(builder, "a").mod_options([does])
    };
    let denied = |builder: HarnessBuilder| builder.rules(Vec::new(), vec!["echo".to_owned()]);
    [
        (eventful().await, include_str!("catalogue/eventful.jsonl")),
        (events(call.clone(), &never, blocked).await, include_str!("catalogue/blocked.jsonl")),
        (events(call.clone(), &never, denied).await, include_str!("catalogue/denied.jsonl")),
        (events(call, &interrupted, |it| it).await, include_str!("catalogue/interrupted.jsonl")),
        (events(broken, &never, |it| it).await, include_str!("catalogue/failed.jsonl")),
        (compacted(&never).await, include_str!("catalogue/compacted.jsonl")),
    ]
}

#[tokio::test]
async fn every_kind_of_event_is_raised_but_for_those_of_features_to_come() {
    let sessions = sessions().await;
    let told = sessions.iter().flat_map(|(told, _)| told);
    let raised: BTreeSet<_> = told.map(|(event, _)| event.payload.kind().as_str()).collect();
    let all: BTreeSet<_> = EventKind::ALL.iter().map(|kind| kind.as_str()).collect();
    let silent: BTreeSet<_> = all.difference(&raised).copied().collect();
    assert_eq!(silent, KEPT.into());
}

#[tokio::test]
async fn each_row_of_the_event_table_has_its_payload_and_its_place() {
    for (told, expected) in sessions().await {
        let told: Vec<_> = told.iter().map(|(_, json)| json).collect();
        let expected: Vec<Value> = expected.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(told, expected.iter().collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn an_event_is_a_snapshot() {
    for (told, _) in sessions().await {
        for (event, when_raised) in told {
            assert_eq!(tidy(&event), when_raised);
        }
    }
}

//! The catalogue of events: each kind is raised by a session, or is kept for a feature that is still to come.

use std::{
    collections::BTreeSet,
    num::NonZeroU32,
    sync::{Arc, Mutex},
};

use futures::future::{BoxFuture, ready};
use host::{
    harness::{Harness, HarnessBuilder},
    settings::Settings,
    tools::{Tool, ToolContext},
};
use mod_interface::types::{AgentEvent, EventKind, PermissionMode, SessionEndReason, ToolOutput, ToolSpec};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::{
    behaving::{Echo, compiled_in},
    session::Folders,
};

/// The kinds of features that do not exist yet: a mod may name them, and nothing raises them.
const KEPT: [&str; 6] = [
    "tool_hooks",
    "compaction_start",
    "compaction_done",
    "skill_loaded",
    "session_titled",
    "config_setting_changed",
];

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

/// The kinds that a session raises.
async fn kinds(
    turns: Value,
    cancel: &CancellationToken,
    build: impl FnOnce(HarnessBuilder) -> HarnessBuilder,
) -> BTreeSet<&'static str> {
    let folders = Folders::new();
    std::fs::write(folders.work().join("a.txt"), "text").unwrap();
    let mut settings = Settings::default();
    settings.api.max_attempts = NonZeroU32::new(9);
    settings.api.base_delay_ms = Some(1);
    let told = Arc::<Mutex<BTreeSet<&str>>>::default();
    let kept = Arc::clone(&told);
    let builder = Harness::builder()
        .places(folders.places())
        .settings(settings)
        .model(Some(folders.scenario(&json!({ "turns": turns }))))
        .in_memory(true)
        .tool(Arc::new(Echo::new()))
        .tool(Arc::new(Tells(ToolSpec {
            name: "tells".to_owned(),
            description: "Tells how far it is.".to_owned(),
            input_schema: json!({ "type": "object" }),
            read_only: true,
        })))
        .sink(Arc::new(move |event: &AgentEvent| {
            kept.lock().unwrap().insert(event.payload.kind().as_str());
        }));
    let harness = build(builder).start().await.unwrap();
    harness.prompt("go", cancel).await;
    harness.end(SessionEndReason::Shutdown).await;
    std::mem::take(&mut *told.lock().unwrap())
}

/// A session in which everything happens that ends well.
async fn eventful() -> BTreeSet<&'static str> {
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
    kinds(turns, &CancellationToken::new(), |builder| {
        let builder = builder.permission_mode(Some(PermissionMode::Bypass));
        let does = ("behaving-a.does".to_owned(), "forge,fail-error:onTurnEnd".to_owned());
        compiled_in(builder, "a").mod_options([does])
    })
    .await
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
        kinds(call.clone(), &never, blocked).await,
        kinds(call.clone(), &never, |builder| builder.rules(Vec::new(), vec!["echo".to_owned()])).await,
        kinds(call, &interrupted, |builder| builder).await,
        kinds(broken, &never, |builder| builder).await,
    ];
    let raised: BTreeSet<_> = sessions.into_iter().flatten().collect();
    let all: BTreeSet<_> = EventKind::ALL.iter().map(|kind| kind.as_str()).collect();
    let silent: BTreeSet<_> = all.difference(&raised).copied().collect();
    assert_eq!(silent, KEPT.into_iter().chain(BY_EMBEDDERS).collect());
}

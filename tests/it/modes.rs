//! The permission mode, which may be changed at any time.

use std::sync::{Arc, Mutex};

use futures::future::BoxFuture;
use host::{
    harness::{Harness, Prompted, Recording},
    settings::Settings,
    tools::{Tool, ToolContext},
};
use mod_interface::types::{AgentEvent, PermissionMode, SessionEndReason, ToolOutput, ToolSpec};
use serde_json::{Value, json};
use tokio::sync::{Mutex as Turn, mpsc};
use tokio_util::sync::CancellationToken;

use crate::support::{behaving::line, session::Folders};

/// Runs as long as it takes to change the mode.
struct Waits {
    spec: ToolSpec,
    begun: mpsc::Sender<()>,
    go_on: Turn<mpsc::Receiver<()>>,
}

impl Tool for Waits {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run(&self, _: Value, _: ToolContext) -> BoxFuture<'_, ToolOutput> {
        Box::pin(async {
            self.begun.send(()).await.unwrap();
            self.go_on.lock().await.recv().await.unwrap();
            ToolOutput::text("waited")
        })
    }
}

/// But for the messages so far.
const HOLDS_FROM_THE_NEXT: &[&str] = &[
    "session_start",
    "run_start",
    "turn_start",
    "message_start",
    "model_request_start",
    "model_request_end",
    "message_end tool_use + tool_use",
    "tool_queued c1 {}",
    "tool_queued c2 {}",
    "tool_running c1",
    "permission_mode_changed",
    "tool_completed c1: waited",
    "tool_running c2",
    "tool_completed c2: waited",
    "turn_end",
    "turn_start",
    "message_start",
    "model_request_start",
    "model_request_end",
    "message_end tool_use",
    "tool_queued d1 {}",
    "tool_denied",
    "turn_end",
    "run_end permission_denied 2",
    "session_shutdown",
];

/// Both calls of the first round run, as the mode was when it began; the one of the second does not.
#[tokio::test]
async fn a_mode_that_is_changed_in_a_round_is_told_and_holds_from_the_next() {
    let (folders, told) = (Folders::new(), Arc::<Mutex<Vec<String>>>::default());
    let ((begun, mut begins), (go, go_on)) = (mpsc::channel(1), mpsc::channel(1));
    let call = |id: &str| json!({ "id": id, "name": "waits", "input": {} });
    let in_plan_mode = json!({ "system_contains": "You are in plan mode" });
    let turns = json!([
        { "tool_calls": [call("c1"), call("c2")] },
        { "tool_calls": [call("d1")], "expect": in_plan_mode },
    ]);
    let spec = ToolSpec {
        name: "waits".to_owned(),
        description: "Waits.".to_owned(),
        input_schema: json!({ "type": "object" }),
        read_only: false,
    };
    let kept = Arc::clone(&told);
    let harness = Harness::builder()
        .places(folders.places())
        .settings(Settings::default())
        .model(Some(folders.scenario(&json!({ "turns": turns }))))
        .record(Recording::InMemory)
        .permission_mode(Some(PermissionMode::Bypass))
        .tool(Arc::new(Waits { spec, begun, go_on: go_on.into() }))
        .sink(Arc::new(move |event: &AgentEvent| kept.lock().unwrap().push(line(event))))
        .start()
        .await
        .unwrap();
    let changed = async {
        // The second time it is no change.
        for _call in 0..2 {
            begins.recv().await.unwrap();
            harness.set_permission_mode(PermissionMode::Plan);
            go.send(()).await.unwrap();
        }
    };
    let cancel = CancellationToken::new();
    let (prompted, ()) = tokio::join!(harness.prompt("go", &cancel), changed);
    assert!(matches!(prompted, Prompted::Ran(_)));
    assert_eq!(harness.permission_mode(), PermissionMode::Plan);
    harness.end(SessionEndReason::Shutdown).await;
    let told: Vec<_> = std::mem::take(&mut *told.lock().unwrap());
    let lines = told.iter().map(String::as_str).filter(|line| !line.starts_with("message_update"));
    assert_eq!(lines.collect::<Vec<_>>(), HOLDS_FROM_THE_NEXT);
}

//! A prompt that an embedder drops before its end: the session stands as of its last commit.

use std::sync::{Arc, Mutex};

use futures::future::BoxFuture;
use host::{
    harness::{Harness, Prompted, Recording},
    settings::Settings,
    tools::{Tool, ToolContext},
};
use mod_interface::{
    builtin_mod,
    prelude::{Hooks, ModApi, Result, StatePatch},
    types::{AgentEvent, EventPayload, SessionEndReason, StopReason, ToolOutput, ToolSpec},
};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::support::session::Folders;

/// Says that it runs, and never ends.
struct Stuck(ToolSpec, Arc<Notify>);

impl Tool for Stuck {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn run(&self, _: Value, _: ToolContext) -> BoxFuture<'_, ToolOutput> {
        self.1.notify_one();
        Box::pin(std::future::pending())
    }
}

/// Counts its turns in its slot of the state, and tells the count.
async fn counts(cmd: ModApi) -> Result<()> {
    cmd.hooks(Hooks::new().on_turn_start_sync(|turn, ctx| {
        let count = turn.state().mod_state::<u64>()?.unwrap_or(0) + 1;
        ctx.emit("count", &json!(count))?;
        Ok(StatePatch::mod_state(json!(count)))
    }))?;
    Ok(())
}

#[tokio::test]
async fn a_prompt_that_is_dropped_loses_no_committed_turn() {
    for record in [Recording::InMemory, Recording::New] {
        let folders = Folders::new();
        let call =
            |name: &str| json!({ "tool_calls": [{ "id": name, "name": name, "input": { "path": "." } }] });
        let expect = json!({
            "messages_count": 3, "last_user_contains": "again", "tool_result_contains": { "id": "list_directory", "text": "" },
        });
        let turns = json!([call("list_directory"), call("stuck"), { "text": "done", "expect": expect }]);
        let (running, counted) = (Arc::new(Notify::new()), Arc::<Mutex<Vec<Value>>>::default());
        let spec = ToolSpec {
            name: "stuck".to_owned(),
            description: "Never ends.".to_owned(),
            input_schema: json!({ "type": "object" }),
            read_only: true,
        };
        let kept = Arc::clone(&counted);
        let harness = Harness::builder()
            .places(folders.places())
            .settings(Settings::default())
            .model(Some(folders.scenario(&json!({ "turns": turns }))))
            .record(record.clone())
            .tool(Arc::new(Stuck(spec, Arc::clone(&running))))
            .built_in("counts", builtin_mod!("counts", counts))
            .sink(Arc::new(move |event: &AgentEvent| {
                if let EventPayload::ModEvent { data, .. } = &event.payload {
                    kept.lock().unwrap().push(data.clone());
                }
            }))
            .start()
            .await
            .unwrap();
        let cancel = CancellationToken::new();
        tokio::select! {
            _ = harness.prompt("go", &cancel) => panic!("it never ends"),
            () = running.notified() => {}
        }
        let Prompted::Ran(outcome) = harness.prompt("again", &cancel).await else {
            panic!("nobody handles it")
        };
        assert_eq!(
            (outcome.error.map(|error| error.to_string()), outcome.result.stop_reason),
            (None, StopReason::EndTurn)
        );
        assert_eq!(
            *counted.lock().unwrap(),
            [json!(1), json!(2), json!(2)],
            "the second turn was not committed"
        );
        let texts: Vec<_> = outcome.state.messages.iter().map(|message| message.text()).collect();
        assert_eq!(texts, ["go", "", "", "again", "done"]);
        harness.end(SessionEndReason::Shutdown).await;
    }
}

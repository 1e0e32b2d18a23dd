//! A run in `mod_interface::testing` is the run of the harness: the same hooks, merges, events and messages. There is
//! one mod in it, so what is compared is all that one mod can do, alone and two things at a time.

use std::sync::{Arc, Mutex};

use futures::future::{BoxFuture, ready};
use host::{
    harness::{Harness, Prompted, Recording},
    settings::Settings,
    tools::{Tool, ToolContext},
};
use mod_interface::{
    testing::{Script, TestHost},
    types::{AgentEvent, EventKind, MAIN_AGENT, Message, RunResult, SessionEndReason, ToolOutput, ToolSpec},
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::{
    behaving::{compiled_in, line},
    session::Folders,
};

const ALONE: [&str; 37] = [
    "",
    "forge",
    "block",
    "block-and-terminate",
    "rewrite",
    "context-before",
    "terminate-before",
    "replace",
    "context-after",
    "flip",
    "terminate",
    "tool-state",
    "input",
    "handle",
    "prompt",
    "append",
    "replace-first",
    "count-turns",
    "say-at-end",
    "stop",
    "stop-2",
    "continue",
    "continue-100",
    "effort",
    "no-effort",
    "report",
    "fail-now:transformContext",
    "fail-now:appendSystemPrompt",
    "fail-now:beforeToolCall",
    "fail-now:afterToolCall",
    "fail-panic:onTurnStart",
    "fail-now:onTurnEnd",
    "fail-now:shouldStopAfterTurn",
    "fail-now:prepareNextTurn",
    "fail-panic:onRunEnd",
    "fail-now:onStop",
    "fail-now:transformInput",
];

/// What a run came to.
#[derive(Debug, PartialEq)]
struct Came {
    told: Vec<String>,
    messages: Vec<Message>,
    result: Option<RunResult>,
}

/// The model calls two tools in its first round, and from then on says something.
const CALLS: [(&str, &str); 2] = [("call-1-1", "works"), ("call-1-2", "breaks")];

fn texts() -> impl Iterator<Item = String> {
    (2..=12).map(|round| format!("text {round}"))
}

/// A tool that always says the same.
struct Fixed(ToolSpec, ToolOutput);

impl Fixed {
    fn all() -> [Self; 2] {
        let spec = |name: &str| ToolSpec {
            name: name.to_owned(),
            description: "Says what it says.".to_owned(),
            input_schema: json!({ "type": "object" }),
            read_only: true,
        };
        [Self(spec("works"), ToolOutput::text("well")), Self(spec("breaks"), ToolOutput::error("badly"))]
    }
}

impl Tool for Fixed {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn run(&self, _: Value, _: ToolContext) -> BoxFuture<'_, ToolOutput> {
        Box::pin(ready(self.1.clone()))
    }
}

async fn in_the_harness(does: &str) -> Came {
    let call = |(id, name): (&str, &str)| json!({ "id": id, "name": name, "input": { "text": "x" } });
    let first = json!({ "tool_calls": CALLS.map(call) });
    let turns: Vec<_> = std::iter::once(first).chain(texts().map(|text| json!({ "text": text }))).collect();
    let (folders, events) = (Folders::new(), Arc::<Mutex<Vec<AgentEvent>>>::default());
    let kept = Arc::clone(&events);
    let builder = Harness::builder()
        .places(folders.places())
        .settings(Settings::default())
        .model(Some(folders.scenario(&json!({ "turns": turns }))))
        .record(Recording::InMemory)
        .mod_options([("behaving-a.does".to_owned(), does.to_owned())])
        .sink(Arc::new(move |event: &AgentEvent| kept.lock().unwrap().push(event.clone())));
    let builder = Fixed::all().into_iter().fold(builder, |builder, tool| builder.tool(Arc::new(tool)));
    let harness = compiled_in(builder, "a").start().await.unwrap();
    events.lock().unwrap().clear();
    let prompted = harness.prompt("go", &CancellationToken::new()).await;
    let told = lines(std::mem::take(&mut *events.lock().unwrap()));
    harness.end(SessionEndReason::Shutdown).await;
    let (messages, result) = match prompted {
        Prompted::Ran(outcome) => {
            (outcome.state.messages.iter().map(|it| Message::clone(it)).collect(), Some(outcome.result))
        }
        Prompted::Handled { .. } | Prompted::Failed => (Vec::new(), None),
    };
    Came { told, messages, result }
}

async fn in_the_test_host(does: &str) -> Came {
    let script = CALLS
        .iter()
        .fold(Script::new("go"), |script, (_, name)| script.and_calls(*name, json!({ "text": "x" })));
    let script = texts().fold(script, Script::says);
    let script =
        Fixed::all().into_iter().fold(script, |script, Fixed(spec, output)| script.tool(spec.name, output));
    let host = TestHost::new().name("behaving-a").option("does", does);
    let tested = host.load(behaving::behaving).await.unwrap();
    let ran = tested.run(script).await.unwrap();
    let events = ran.events.into_iter().map(|payload| AgentEvent { agent_id: MAIN_AGENT.into(), payload });
    Came { told: lines(events.collect()), messages: ran.messages, result: ran.result }
}

/// The events but for what `mod_interface::testing` says that it leaves out.
fn lines(events: Vec<AgentEvent>) -> Vec<String> {
    let left_out = [EventKind::MessageUpdate, EventKind::Notice];
    events.iter().filter(|event| !left_out.contains(&event.payload.kind())).map(line).collect()
}

#[tokio::test]
async fn a_run_in_the_test_host_is_that_of_the_harness() {
    for does in ALONE {
        assert_eq!(
            in_the_test_host(does).await,
            in_the_harness(does).await,
            "the test host (left) and the harness (right), {does}"
        );
    }
}

#[tokio::test]
async fn two_things_that_a_mod_does_combine_in_the_test_host_as_in_the_harness() {
    let pairs = ALONE
        .iter()
        .enumerate()
        .flat_map(|(index, first)| ALONE[index + 1..].iter().map(move |second| format!("{first},{second}")));
    for does in pairs {
        assert_eq!(
            in_the_test_host(&does).await,
            in_the_harness(&does).await,
            "the test host (left) and the harness (right), {does}"
        );
    }
}

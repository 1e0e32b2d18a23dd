use std::{
    path::Path,
    sync::{Mutex, mpsc},
    task::{Context, Poll},
};

use abi_stable::std_types::RSome;
use mod_interface::{
    abi::{Entry as ModEntry, Frame, Pending, Reply, Rest, Status},
    types::{AgentEvent, EventPayload},
};
use serde_json::json;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::mod_host::fixture::World;

/// A tool that never answers: it awaits for ever, or its code does not return.
enum Never {
    Awaits,
    /// Says that it was entered, and stays until the test is over.
    Blocks(mpsc::Sender<()>, Mutex<mpsc::Receiver<()>>),
}

struct ForEver;

impl Rest for ForEver {
    fn poll(&mut self, _: &mut Context<'_>, _: &mut Completed) -> Poll<()> {
        Poll::Pending
    }

    fn end(self: Box<Self>) {}
}

impl ModEntry for Never {
    fn call(&self, _: &Frame, reply: &mut Reply) -> u32 {
        if let Self::Blocks(entered, over) = self {
            entered.send(()).unwrap();
            let _over = over.lock().unwrap().recv();
        }
        reply.pending = RSome(Pending::new(Box::new(ForEver)));
        Status::Pending as u32
    }
}

/// The events that are raised from now on.
fn events(world: &World) -> Arc<Mutex<Vec<EventPayload>>> {
    let events = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&events);
    world.core.bus.add(Arc::new(move |event: &AgentEvent| kept.lock().unwrap().push(event.payload.clone())));
    events
}

fn tool(world: &World, never: Never) -> ModTool {
    let spec = ToolSpec {
        name: "wait".into(),
        description: String::new(),
        input_schema: json!({ "type": "object" }),
        read_only: true,
    };
    ModTool::new(&world.core, &world.owner, spec, Callable::new(Box::new(never)))
}

fn context(cancel: &CancellationToken) -> ToolContext {
    ToolContext {
        cwd: Path::new("/").into(),
        cancel: cancel.clone(),
        tool_call_id: "c".into(),
        agent_id: "main".into(),
        progress: Arc::new(|_| ()),
        hidden: Arc::new(|_| false),
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_never_answers_is_named_and_then_given_up() {
    let world = World::new();
    let (events, start) = (events(&world), Instant::now());
    let output = tool(&world, Never::Awaits).run(json!({}), context(&CancellationToken::new())).await;
    let fault = "timeout: took longer than 600000 ms of its own time";
    assert_eq!(output, ToolOutput::error(format!("The tool failed: {fault}")));
    assert_eq!(start.elapsed().as_secs(), 600);
    let message = "the tool wait of mod:a has been running for 30 s; an interruption ends it".into();
    assert_eq!(
        *events.lock().unwrap(),
        [
            EventPayload::Notice { level: NoticeLevel::Warning, message },
            EventPayload::ModError { mod_id: "mod:a".into(), hook: "tool:wait".into(), error: fault.into() },
        ]
    );
}

#[tokio::test]
async fn an_interruption_reaches_a_tool_whose_code_never_returns() {
    let world = World::new();
    let (told, entered) = mpsc::channel();
    let (_over, stay) = mpsc::channel();
    let events = events(&world);
    let tool = Arc::new(tool(&world, Never::Blocks(told, Mutex::new(stay))));
    let cancel = CancellationToken::new();
    let context = context(&cancel);
    let running = tokio::spawn(async move { tool.run(json!({}), context).await });
    // On this one thread nothing goes on unless the tool has a thread of its own.
    tokio::task::yield_now().await;
    entered.recv().unwrap();
    cancel.cancel();
    assert_eq!(running.await.unwrap(), ToolOutput::error("The tool failed: interrupted"));
    assert_eq!(*events.lock().unwrap(), [], "nobody is at fault");
}

//! An agent inside a program of one's own: a desk for tickets. It brings
//!
//! - a tool that reads its own data, which no mod and no file can see;
//! - a mod that is compiled in, written like any other;
//! - a mod that is loaded, from the library that is named: `cargo run --example embed -- PATH`, or the example mod
//!   `block-dangerous-commands`, which cargo builds beside this;
//! - its own answer to permission questions, in place of a person's;
//! - its own ear for events.
//!
//! The model is a script, `examples/embed.json`, so that it needs no key. The workspace and the folder of the user's
//! mods are new ones, which are gone at the end.
#![expect(clippy::print_stdout, reason = "telling what happens is what it is for")]

use std::{
    error::Error,
    path::{Path, PathBuf},
    sync::Arc,
};

use futures::future::{BoxFuture, ready};
use host::{
    agent::{Answer, Ask, BoxError, Question},
    harness::{Harness, Prompted, Recording},
    settings::Places,
    tools::{Tool, ToolContext},
};
use mod_interface::{
    builtin_mod,
    prelude::*,
    types::{AgentEvent, EventPayload, SessionEndReason, ToolOutput, ToolSpec},
};
use tokio_util::sync::CancellationToken;

const MODEL: &str = concat!("scripted/", env!("CARGO_MANIFEST_DIR"), "/examples/embed.json");

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::result::Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let (work, home) = (folder.path().join("work"), folder.path().join("home"));
    std::fs::create_dir(&work)?;
    // Where everything is: nothing is read from the environment.
    let places = Places::new(work, Some(home), None)?;
    let library = std::env::args_os().nth(1).map_or_else(beside, |path| Ok(PathBuf::from(path)))?;
    let harness = Harness::builder()
        .places(places)
        .model(Some(MODEL.to_owned()))
        .record(Recording::InMemory)
        .tool(Arc::new(Tickets::new()))
        .built_in("shorthand", builtin_mod!("shorthand", shorthand))
        .mods([library])
        .ask(Arc::new(EchoesOnly))
        .sink(Arc::new(tell))
        .start()
        .await?;
    // A mod that does not load is no failure of the start: whoever embeds decides.
    harness.warnings().iter().for_each(|warning| println!("{warning}"));
    // First-party mods are there too, and have none.
    let mods = harness.mods().mods().into_iter().filter(|(_, registered)| !registered.hooks.is_empty());
    for (loaded, registered) in mods {
        println!("{} {}, hooks: {:?}", loaded.name, loaded.version, registered.hooks);
    }
    for prompt in ["Close #7", "Write that down"] {
        println!("> {prompt}");
        match harness.prompt(prompt, &CancellationToken::new()).await {
            Prompted::Ran(outcome) => match outcome.error {
                None => println!("{:?} {:?}", outcome.result.stop_reason, outcome.result.final_text),
                Some(error) => println!("failed: {error}"),
            },
            other => println!("no run: {other:?}"),
        }
    }
    harness.end(SessionEndReason::Shutdown).await;
    Ok(())
}

/// The library of `block-dangerous-commands` that cargo built with this.
fn beside() -> std::io::Result<PathBuf> {
    let (prefix, suffix) = (std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let exe = std::env::current_exe()?;
    let target = exe.ancestors().nth(2).unwrap_or(Path::new("."));
    Ok(target.join("deps").join(format!("{prefix}block_dangerous_commands{suffix}")))
}

/// The mod that is compiled in: `#7` is what people type for a ticket.
async fn shorthand(cmd: ModApi) -> Result<()> {
    cmd.hooks(Hooks::new().transform_input_sync(|prompt, _ctx| {
        let text = prompt.text();
        Ok(match text.contains('#') {
            true => TransformInput::Transform { text: text.replace('#', "ticket T-") },
            false => TransformInput::Continue,
        })
    }))?;
    Ok(())
}

/// The tool: tickets are in this program alone.
struct Tickets(ToolSpec);

impl Tickets {
    fn new() -> Self {
        Self(ToolSpec {
            name: "ticket".to_owned(),
            description: "Reads a ticket.".to_owned(),
            input_schema: json!({
                "type": "object",
                "properties": { "id": { "type": "string", "description": "Such as T-1." } },
                "required": ["id"],
            }),
            // So nobody is asked.
            read_only: true,
        })
    }
}

impl Tool for Tickets {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn run(&self, input: Value, _ctx: ToolContext) -> BoxFuture<'_, ToolOutput> {
        let output = match input["id"].as_str() {
            Some("T-7") => ToolOutput::text("T-7: the build folder is too big."),
            _ => ToolOutput::error("there is no such ticket"),
        };
        Box::pin(ready(output))
    }
}

/// Answers what no rule and no mode answers.
struct EchoesOnly;

impl Ask for EchoesOnly {
    fn ask(&self, question: Question) -> BoxFuture<'_, std::result::Result<Answer, BoxError>> {
        let command = question.input["command"].as_str().unwrap_or_default();
        let answer = match question.tool_name.as_ref() {
            "shell_command" if command.starts_with("echo ") => Answer::Allow,
            _ => Answer::Deny { reason: "this program allows nothing but echo".to_owned() },
        };
        println!("asked about {} {}: {answer:?}", question.tool_name, question.input);
        Box::pin(ready(Ok(answer)))
    }
}

/// The ear. It is told everything, in the order in which it happens; what it says is what it wants to say.
fn tell(event: &AgentEvent) {
    let kind = event.payload.kind();
    // How much of its output a tool tells while it runs is a matter of time.
    if let Some(tool) = event.payload.tool_name().filter(|_| kind != EventKind::ToolUpdate) {
        println!("{}: {tool}", kind.as_str());
    } else if let EventPayload::Notice { message, .. } = &event.payload {
        println!("notice: {message}");
    }
}

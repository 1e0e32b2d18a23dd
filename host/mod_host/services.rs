//! What mods can ask of the host, by name. A new service is one more arm; an old host answers a name
//! that it does not know with an error, never with silence.

use std::{collections::BTreeSet, path::PathBuf, sync::Arc};

use futures::future::BoxFuture;
use mod_interface::{
    abi::{Callable, HookObject, INTERFACE},
    types::{Effort, EventKind, NoticeLevel, ProviderSpec, ToolSpec},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use super::{
    Core, HARNESS_GONE, channels, channels::Channel, clock::Wait, commands::ModCommand, emit,
    frame::Question, hook_adapter::HookAdapter, identity::ModIdentity, live::Message, live::Order,
    observers::Observer, provider, provider::ModProvider, record, screen::Entry, tool::ModTool,
};
use crate::{
    events::Emitter,
    process::{End, Run},
};

/// The most that a mod may say in one call, in bytes.
const MAX_ARGS: usize = 4 << 20;

/// A text for people is cut at this many bytes.
const MAX_SHOWN: usize = 64 << 10;

/// Who asks, and in answer to what.
pub(crate) struct Asker {
    pub(crate) core: Arc<Core>,
    pub(crate) owner: Arc<ModIdentity>,
    pub(crate) question: Question,
}

pub(super) type Answer = Result<String, String>;

impl Asker {
    /// Raises events under the agent that the mod was asked about.
    pub(super) fn emitter(&self) -> Emitter {
        match &self.question {
            Question::Hook(input) => input.scope.emitter.clone(),
            Question::Event(event) => self.core.bus.emitter(Arc::clone(&event.agent_id)),
            Question::Bus(message) => self.core.bus.emitter(Arc::clone(&message.agent_id)),
            Question::Tool(call) => self.core.bus.emitter(Arc::clone(&call.ctx.agent_id)),
            Question::None
            | Question::Factory
            | Question::Provider(_)
            | Question::Command(_)
            | Question::Draw(_) => self.core.bus.main(),
        }
    }

    /// Fires when the run is interrupted; there is none where the mod is not asked in a run.
    fn interruption(&self) -> Option<CancellationToken> {
        match &self.question {
            Question::Hook(input) => Some(input.scope.cancel.clone()),
            Question::Tool(call) => Some(call.ctx.cancel.clone()),
            _ => None,
        }
    }

    pub(super) fn cancel(&self) -> CancellationToken {
        self.interruption().unwrap_or_else(|| self.core.shutdown.clone())
    }
}

#[derive(Deserialize)]
struct Log {
    level: String,
    message: String,
}

#[derive(Deserialize)]
struct Text {
    message: String,
}

#[derive(Deserialize)]
struct Id {
    id: u64,
}

#[derive(Deserialize)]
struct Name {
    name: String,
}

#[derive(Deserialize)]
struct ModelName {
    model: String,
}

#[derive(Deserialize)]
struct Status {
    text: Option<String>,
}

#[derive(Deserialize)]
struct ToolNames {
    names: BTreeSet<String>,
}

#[derive(Deserialize)]
struct NewEffort {
    effort: Option<Effort>,
}

#[derive(Deserialize)]
struct Ask {
    title: String,
    message: Option<String>,
    placeholder: Option<String>,
    #[serde(default)]
    options: Vec<String>,
}

#[derive(Deserialize)]
struct Exec {
    command: String,
    #[serde(default)]
    args: Vec<String>,
    cwd: Option<PathBuf>,
}

/// Answers a service at once.
pub(crate) fn now(asker: &Asker, service: &str, args: &str) -> Answer {
    let core = &asker.core;
    match service {
        "log" => {
            parse(service, args).map(|line: Log| core.log(&asker.owner, &cut(line.level), &cut(line.message)))
        }
        "ui.notify" => parse(service, args)
            .map(|text: Text| asker.emitter().notice(NoticeLevel::Info, cut(text.message))),
        "ui.interactive" => return Ok(core.ui.interactive().to_string()),
        "emit" => parse(service, args)
            .and_then(|event| emit::emit(asker, event))
            .inspect_err(|refused| emit::refuse(asker, refused)),
        "bus.emit" => {
            parse(service, args).and_then(|message| channels::emit(core, &asker.emitter(), message))
        }
        "dispose" => parse(service, args).map(|id: Id| core.dispose(&asker.owner, id.id)),
        "flag" => {
            let name: Name = parse(service, args)?;
            return Ok(json!(core.flag(&asker.owner, &name.name)?).to_string());
        }
        "flag.add" => return registered(core.add_flag(&asker.owner, parse(service, args)?)),
        "queue_message" => parse(service, args)
            .and_then(Message::order)
            .and_then(|message| core.order(&asker.owner, message)),
        "set_model" => {
            parse(service, args).and_then(|it: ModelName| core.order(&asker.owner, Order::Model(it.model)))
        }
        "set_effort" => {
            parse(service, args).and_then(|it: NewEffort| core.order(&asker.owner, Order::Effort(it.effort)))
        }
        "set_session_name" => {
            parse(service, args).and_then(|it: Name| core.order(&asker.owner, Order::Name(it.name)))
        }
        "show_entry" => parse(service, args)
            .and_then(Entry::check)
            .and_then(|entry| core.order(&asker.owner, Order::Entry(entry))),
        "ui.set_status" => {
            let status: Status = parse(service, args)?;
            return registered(core.set_status(&asker.owner, &cut(status.text.unwrap_or_default())));
        }
        "ui.refresh_widgets" => {
            core.ui.repaint();
            Ok(())
        }
        "tools.all" => return Ok(json!(core.tool_names(true)).to_string()),
        "tools.active" => return Ok(json!(core.tool_names(false)).to_string()),
        "tools.set_active" => {
            let tools: ToolNames = parse(service, args)?;
            return registered(core.set_active_tools(&asker.owner, tools.names));
        }
        "model.push" => return Ok(provider::asked(asker)?.push_now(bounded(service, args)?)?.to_string()),
        "progress" => parse(service, args).and_then(|text: Text| progress(asker, &cut(text.message))),
        _ => return record::now(asker, service, args),
    }?;
    Ok("null".to_owned())
}

/// The number of a registration, as an answer.
fn registered(added: Result<u64, String>) -> Answer {
    added.map(|id| id.to_string())
}

/// Answers a service later. The work runs on the host's runtime, whoever polls the answer, and the mod's
/// clock stands as long as the work lasts: not for as long as the mod keeps the answer waiting.
pub(crate) fn later(
    asker: Asker,
    standing: Wait,
    service: &str,
    args: &str,
) -> Result<BoxFuture<'static, Answer>, String> {
    let (ui, dialogs) = (Arc::clone(&asker.core.ui), Arc::clone(&asker.core.dialogs));
    let work: BoxFuture<'static, Result<Value, String>> = match service {
        "exec" => Box::pin(exec(asker.core.cwd.to_path_buf(), asker.cancel(), parse(service, args)?)),
        "ui.confirm" => {
            let ask: Ask = parse(service, args)?;
            Box::pin(one_at_a_time(dialogs, move || ui.confirm(&ask.title, ask.message.as_deref())))
        }
        "ui.select" => {
            let ask: Ask = parse(service, args)?;
            Box::pin(one_at_a_time(dialogs, move || ui.select(&ask.title, &ask.options)))
        }
        "ui.input" => {
            let ask: Ask = parse(service, args)?;
            Box::pin(one_at_a_time(dialogs, move || ui.input(&ask.title, ask.placeholder.as_deref())))
        }
        "model.push" => {
            let (question, pieces) = (provider::asked(&asker)?, bounded(service, args)?.to_owned());
            Box::pin(async move { question.push(&pieces).await.map(|()| json!(true)) })
        }
        // The mod's clock runs on: to wait for this is its own doing.
        "interrupted" => return Ok(Box::pin(interrupted(asker.interruption(), asker.core.shutdown.clone()))),
        _ => record::later(&asker, service, args)?,
    };
    let task = AbortOnDrop(asker.core.runtime.spawn(async move {
        let answer = work.await;
        drop(standing);
        answer
    }));
    Ok(Box::pin(async move {
        let answer = task.await.map_err(|_| "the host gave this call up".to_owned())?;
        answer.map(|value| value.to_string())
    }))
}

/// Ends with the interruption, or else with the harness.
async fn interrupted(interruption: Option<CancellationToken>, shutdown: CancellationToken) -> Answer {
    let happened = async {
        match interruption {
            Some(interruption) => interruption.cancelled_owned().await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        () = happened => Ok("null".to_owned()),
        () = shutdown.cancelled() => Err(HARNESS_GONE.to_owned()),
    }
}

/// Asks when the dialogs that came before are done, or given up.
async fn one_at_a_time<T: Serialize>(
    dialogs: Arc<Mutex<()>>,
    ask: impl FnOnce() -> BoxFuture<'static, T>,
) -> Result<Value, String> {
    let _on_the_screen = dialogs.lock().await;
    Ok(json!(ask().await))
}

/// Registers something with one entry.
pub(crate) fn add(asker: &Asker, kind: &str, spec: &str, callable: Callable) -> Result<u64, String> {
    let (core, owner) = (&asker.core, &asker.owner);
    match kind {
        "tool" => {
            let spec: ToolSpec = parse(kind, spec)?;
            core.add_tool(owner, ModTool::new(core, owner, spec, callable))
        }
        "provider" => {
            let spec: ProviderSpec = parse(kind, spec)?;
            core.add_provider(owner, ModProvider::new(core, owner, spec, callable))
        }
        "command" => core.add_command(owner, ModCommand::new(core, owner, parse(kind, spec)?, callable)),
        "event" => {
            let spec: EventSpec = parse(kind, spec)?;
            let event =
                EventKind::from_wire(&spec.kind).ok_or_else(|| format!("no such event: {}", spec.kind))?;
            core.add_observer(owner, Observer::new(core, owner, event, callable))
        }
        "renderer" => core.add_renderer(owner, parse(kind, spec)?, callable),
        "widget" => core.add_widget(owner, &parse(kind, spec)?, callable),
        "bus" => {
            let spec: ChannelSpec = parse(kind, spec)?;
            core.add_channel(owner, Channel::new(core, owner, &spec.channel, callable)?)
        }
        _ => Err(format!("this host (interface {}) has nothing to register of kind: {kind}", interface())),
    }
}

#[derive(Deserialize)]
struct EventSpec {
    kind: String,
}

#[derive(Deserialize)]
struct ChannelSpec {
    channel: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HooksSpec {
    #[serde(default)]
    fail_closed: bool,
}

/// Registers hooks.
pub(crate) fn add_hooks(asker: &Asker, spec: &str, hooks: HookObject) -> Result<u64, String> {
    let spec: HooksSpec = parse("hooks", spec)?;
    let adapter =
        HookAdapter::new(Arc::clone(&asker.core), Arc::clone(&asker.owner), hooks, spec.fail_closed);
    asker.core.add_hooks(&asker.owner, Arc::new(adapter))
}

pub(super) fn parse<T: DeserializeOwned>(service: &str, args: &str) -> Result<T, String> {
    serde_json::from_str(bounded(service, args)?)
        .map_err(|error| format!("bad arguments for {service}: {error}"))
}

fn bounded<'a>(service: &str, args: &'a str) -> Result<&'a str, String> {
    if args.len() > MAX_ARGS {
        return Err(format!(
            "too much for {service}, expected at most {MAX_ARGS} bytes, got: {}",
            args.len()
        ));
    }
    Ok(args)
}

/// A text, or its start and how much more there was.
pub(super) fn cut(text: String) -> String {
    let end = text.floor_char_boundary(MAX_SHOWN);
    if end == text.len() { text } else { format!("{}… [{} bytes cut]", &text[..end], text.len() - end) }
}

pub(super) fn unknown(service: &str) -> String {
    format!("this host (interface {}) has no service: {service}", interface())
}

fn interface() -> String {
    format!("{}.{}", INTERFACE.major, INTERFACE.minor)
}

fn progress(asker: &Asker, text: &str) -> Result<(), String> {
    let Question::Tool(call) = &asker.question else {
        return Err("only a tool that runs can tell its progress".to_owned());
    };
    (call.ctx.progress)(text);
    Ok(())
}

async fn exec(root: PathBuf, cancel: CancellationToken, exec: Exec) -> Result<Value, String> {
    let cwd = exec.cwd.map_or_else(|| root.clone(), |cwd| root.join(cwd));
    let finished = Run::new(exec.command, cwd).args(exec.args).run(&cancel, &mut |_| ()).await;
    let finished = finished.map_err(|error| error.to_string())?;
    let code = match finished.end {
        End::Exited(code) => Some(code),
        End::Signalled(_) | End::TimedOut => None,
        End::Cancelled => return Err("the run was interrupted".to_owned()),
    };
    Ok(json!({ "stdout": finished.stdout.text(), "stderr": finished.stderr.text(), "code": code }))
}

/// A task that ends when nobody waits for it any more.
struct AbortOnDrop<T>(tokio::task::JoinHandle<T>);

impl<T> Future for AbortOnDrop<T> {
    type Output = Result<T, tokio::task::JoinError>;

    fn poll(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Self::Output> {
        std::pin::Pin::new(&mut self.0).poll(cx)
    }
}

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[cfg(test)]
#[cfg(unix)]
#[path = "services_tests.rs"]
mod tests;

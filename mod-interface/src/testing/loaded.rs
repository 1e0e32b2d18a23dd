//! A mod that a test has loaded: what it did, and its commands, tools and observers.

use std::sync::{Arc, Mutex};

use serde_json::Value;

use super::{
    Asked, Fault, Registered,
    core::{Core, lock},
    entry,
    frame::{Call, Question},
    round::{Round, check_content},
    services::command_line,
};
use crate::{
    abi::{Callable, decode_command, decode_tool},
    sdk::LogLevel,
    types::{
        AgentState, CommandOutcome, EventKind, EventPayload, Hook, HookSet, Message, ToolOutput, ToolSpec,
    },
};

/// A mod, loaded by [`super::TestHost::load`].
///
/// Its methods ask it what the host would ask, and tell what it did. What its hooks change of the state stays
/// for the next question, as in a session. Dropping it ends the harness: what is left of the mod is then told
/// that it is gone.
pub struct TestMod {
    pub(super) core: Arc<Core>,
    conversation: Mutex<Conversation>,
}

impl std::fmt::Debug for TestMod {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TestMod").field("id", &self.core.place.id).finish_non_exhaustive()
    }
}

/// The session so far.
#[derive(Clone)]
pub(super) struct Conversation {
    pub(super) state: AgentState,
    /// The round, counted from 1.
    pub(super) turn_number: u32,
}

impl TestMod {
    pub(super) fn new(core: Arc<Core>) -> Self {
        let state = AgentState::new(Arc::clone(&core.place.session));
        Self { core, conversation: Mutex::new(Conversation { state, turn_number: 1 }) }
    }

    /// The notices that it showed, in order.
    pub fn notices(&self) -> Vec<String> {
        let asked = self.asked().into_iter().filter_map(|Asked { service, args }| match service.as_str() {
            "ui.notify" => args["message"].as_str().map(str::to_owned),
            "emit" if args["kind"] == "notice" => args["data"]["message"].as_str().map(str::to_owned),
            _ => None,
        });
        asked.collect()
    }

    /// What it wrote to the log, in order.
    pub fn log(&self) -> Vec<(LogLevel, String)> {
        let lines = self.asked_of("log").into_iter();
        let read = |line: Value| {
            let level = serde_json::from_value(line["level"].clone()).ok()?;
            Some((level, line["message"].as_str()?.to_owned()))
        };
        lines.filter_map(read).collect()
    }

    /// The questions that it asked the person, in order: the title of each `confirm`, `select` and `input`.
    pub fn questions(&self) -> Vec<String> {
        let dialogs = ["ui.confirm", "ui.select", "ui.input"];
        let asked = self.asked().into_iter().filter(|asked| dialogs.contains(&asked.service.as_str()));
        asked.filter_map(|asked| asked.args["title"].as_str().map(str::to_owned)).collect()
    }

    /// The processes that it ran, in order: the command line of each.
    pub fn executed(&self) -> Vec<String> {
        self.asked_of("exec").iter().map(command_line).collect()
    }

    /// The events of its own that it raised, in order: kind and data.
    pub fn emitted(&self) -> Vec<(String, Value)> {
        let mut raised = self.pairs("emit", "kind");
        raised.retain(|(kind, _)| EventKind::from_wire(kind).is_none());
        raised
    }

    /// What it said to other mods, in order: channel and data.
    pub fn said(&self) -> Vec<(String, Value)> {
        self.pairs("bus.emit", "channel")
    }

    /// Everything that it asked of the host, in order.
    pub fn asked(&self) -> Vec<Asked> {
        self.core.asked()
    }

    /// The arguments of each call of one service, in order.
    pub fn asked_of(&self, service: &str) -> Vec<Value> {
        let asked = self.asked().into_iter().filter(|asked| asked.service == service);
        asked.map(|asked| asked.args).collect()
    }

    /// The events so far: those of runs, and what the mod raised itself.
    pub fn events(&self) -> Vec<EventPayload> {
        self.core.events()
    }

    /// What it has registered and not disposed of, in order.
    pub fn registered(&self) -> Vec<Registered> {
        self.core.registrations.all()
    }

    /// The hooks that it has.
    pub fn hooks(&self) -> HookSet {
        let handlers = self.core.registrations.handlers();
        handlers.iter().fold(HookSet::EMPTY, |all, handler| all.union(handler.hooks.hooks()))
    }

    /// What the model is told of its tools.
    pub fn tools(&self) -> Vec<ToolSpec> {
        let specs = self.core.registrations.specs("tool").into_iter();
        specs.filter_map(|spec| serde_json::from_value(spec).ok()).collect()
    }

    /// The names of its commands.
    pub fn commands(&self) -> Vec<String> {
        self.core.registrations.names("command", "name")
    }

    /// The state that its hooks see.
    pub fn state(&self) -> AgentState {
        self.conversation().state
    }

    /// Its own slot of `mod_state`; `None` when it is unset.
    pub fn mod_state(&self) -> Option<Value> {
        self.state().mod_state.get(&*self.core.place.id).cloned()
    }

    /// Puts messages at the end of the conversation.
    pub fn add_messages(&self, messages: impl IntoIterator<Item = Message>) {
        let mut conversation = lock(&self.conversation);
        messages.into_iter().for_each(|message| conversation.state.push(message));
    }

    /// Sets the round that hooks are asked in, counted from 1.
    pub fn set_turn(&self, turn_number: u32) {
        lock(&self.conversation).turn_number = turn_number;
    }

    /// Interrupts the run: `ctx.cancelled()` says so from now on, and `ctx.interrupted()` is waited for no longer.
    pub fn interrupt(&self) {
        self.core.interruption.happen();
    }

    /// Runs its command `/name`.
    ///
    /// # Errors
    /// It failed or panicked, or there is no such command.
    pub async fn run_command(&self, name: &str, args: &str) -> Result<CommandOutcome, Fault> {
        let command = self.callable("command", name)?;
        let (frame, place) = (self.core.frame(Question::Command(args.to_owned())), format!("command:{name}"));
        let call = |reply: &mut _| command.call(frame.frame(), reply);
        let answer = entry::enter(&place, self.core.limits.tool, call).await?;
        decode_command(&answer).map_err(|reason| entry::invalid(&place, reason))
    }

    /// Calls its tool. The input is not compared with the tool's schema: that is the host's work.
    ///
    /// # Errors
    /// It panicked, answered what is no result, or there is no such tool. An `Err` of its code is an output
    /// with `is_error`, as the model sees it.
    pub async fn call_tool(&self, name: &str, input: Value) -> Result<ToolOutput, Fault> {
        self.call_tool_as("call", name, input).await
    }

    pub(super) async fn call_tool_as(&self, id: &str, name: &str, input: Value) -> Result<ToolOutput, Fault> {
        let (tool, place) = (self.callable("tool", name)?, format!("tool:{name}"));
        let call = Call { id: id.to_owned(), name: name.to_owned(), input: input.to_string() };
        let frame = self.core.frame(Question::Tool(call));
        let call = |reply: &mut _| tool.call(frame.frame(), reply);
        let answer = entry::enter(&place, self.core.limits.tool, call).await?;
        let output = decode_tool(&answer).map_err(|reason| entry::invalid(&place, reason))?;
        check_content(&place, &output.content)?;
        Ok(output)
    }

    /// Tells its observers that this happened.
    ///
    /// # Errors
    /// The first failure of one; all are told. Or it does not observe that.
    pub fn tell(&self, event: EventPayload) -> Result<(), Fault> {
        let kind = event.kind().as_str();
        self.listens("observer", "event", "kind", kind)?;
        self.core.observed(event)
    }

    /// Says `data` on `channel`, as another mod would.
    ///
    /// # Errors
    /// The first failure of a listener; all hear it. Or it does not listen to that channel.
    pub fn say(&self, channel: &str, data: &Value) -> Result<(), Fault> {
        self.listens("listener", "bus", "channel", channel)?;
        self.core.say(channel, data)
    }

    /// The kinds of the events so far, for a test that asks in which order things happened.
    pub fn event_kinds(&self) -> Vec<EventKind> {
        self.events().iter().map(EventPayload::kind).collect()
    }

    /// The round in which single hooks are asked: a failure is the test's to see.
    pub(super) fn single(&self, hook: Hook) -> Result<(Round<'_>, AgentState), Fault> {
        if !self.hooks().contains(hook) {
            let has = self.hooks().iter().map(|hook| hook.to_string()).collect();
            return Err(Fault::Missing { what: "hook", name: hook.to_string(), has });
        }
        let Conversation { state, turn_number } = self.conversation();
        let handlers = self.core.registrations.handlers();
        Ok((Round { core: &self.core, handlers, turn_number, strict: true }, state))
    }

    pub(super) fn conversation(&self) -> Conversation {
        let mut conversation = lock(&self.conversation);
        if let Some(state) = self.core.record().take_moved() {
            conversation.state = state;
        }
        conversation.clone()
    }

    /// Keeps what a hook or a run has made of the state.
    pub(super) fn keep(&self, state: AgentState) {
        lock(&self.conversation).state = state;
    }

    pub(super) fn has_tool(&self, name: &str) -> bool {
        self.core.registrations.callable("tool", "name", name).is_some()
    }

    fn callable(&self, kind: &'static str, name: &str) -> Result<Callable, Fault> {
        let has = || self.core.registrations.names(kind, "name");
        let missing = || Fault::Missing { what: kind, name: name.to_owned(), has: has() };
        self.core.registrations.callable(kind, "name", name).ok_or_else(missing)
    }

    fn listens(&self, what: &'static str, kind: &str, key: &str, name: &str) -> Result<(), Fault> {
        let has = self.core.registrations.names(kind, key);
        let missing = !has.iter().any(|one| one == name);
        if missing { Err(Fault::Missing { what, name: name.to_owned(), has }) } else { Ok(()) }
    }

    pub(super) fn pairs(&self, service: &str, field: &str) -> Vec<(String, Value)> {
        let asked = self.asked_of(service).into_iter();
        asked
            .map(|args| (args[field].as_str().unwrap_or_default().to_owned(), args["data"].clone()))
            .collect()
    }
}

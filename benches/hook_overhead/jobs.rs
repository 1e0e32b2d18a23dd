//! The jobs without any host, and what they are asked.

use std::{
    future::Future,
    path::Path,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use host::{
    events::EventBus,
    hooks::{HookInput, Scope, Subject, ToolCallInput},
};
use mod_interface::types::{
    AgentState, BeforeToolCall, Hook, HookOutcome, Message, MessageEdit, Role, StatePatch, Usage,
};
use overhead::{NEVER, SAID, Shell, pending_for};
use serde::Deserialize;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::ways::Form;

pub(crate) type Answer = Option<HookOutcome>;

/// A job behind a trait.
pub(crate) trait Plain: Send + Sync {
    fn call(&self, input: &HookInput) -> Answer;
}

/// A job as a plugin trait has it.
pub(crate) trait Boxed: Send + Sync {
    fn call<'a>(
        &'a self,
        input: &'a HookInput,
    ) -> Pin<Box<dyn Future<Output = Result<Answer, String>> + Send + 'a>>;
}

struct Work<F>(F);

impl<F: Fn(&HookInput) -> Answer + Send + Sync> Plain for Work<F> {
    fn call(&self, input: &HookInput) -> Answer {
        (self.0)(input)
    }
}

impl<F: Fn(&HookInput) -> Answer + Send + Sync> Boxed for Work<F> {
    fn call<'a>(
        &'a self,
        input: &'a HookInput,
    ) -> Pin<Box<dyn Future<Output = Result<Answer, String>> + Send + 'a>> {
        Box::pin(async move { Ok((self.0)(input)) })
    }
}

/// Work that is pending so many times before it is done.
struct Later<F>(F, u32);

impl<F: Fn(&HookInput) -> Answer + Send + Sync> Boxed for Later<F> {
    fn call<'a>(
        &'a self,
        input: &'a HookInput,
    ) -> Pin<Box<dyn Future<Output = Result<Answer, String>> + Send + 'a>> {
        Box::pin(async move {
            pending_for(self.1).await;
            Ok((self.0)(input))
        })
    }
}

/// One job, which the mod `overhead` does too.
pub(crate) struct Job {
    pub(crate) name: &'static str,
    /// Its name for the mod.
    pub(crate) option: &'static str,
    pub(crate) hook: Hook,
    pub(crate) plain: Box<dyn Plain>,
    boxed: Box<dyn Boxed>,
    pending: Box<dyn Boxed>,
    waiting: Box<dyn Boxed>,
}

impl Job {
    fn new(
        name: &'static str,
        option: &'static str,
        hook: Hook,
        work: impl Fn(&HookInput) -> Answer + Copy + Send + Sync + 'static,
    ) -> Self {
        Self {
            name,
            option,
            hook,
            plain: Box::new(Work(work)),
            boxed: Box::new(Work(work)),
            pending: Box::new(Later(work, 1)),
            waiting: Box::new(Later(work, 2)),
        }
    }

    /// The job as a boxed future of that form.
    pub(crate) fn boxed(&self, form: Form) -> &dyn Boxed {
        match form {
            Form::Sync | Form::Ready => &*self.boxed,
            Form::Pending => &*self.pending,
            Form::Waiting => &*self.waiting,
        }
    }

    /// What it is asked in a conversation of so many messages.
    pub(crate) fn input(&self, messages: usize) -> Arc<HookInput> {
        let state = conversation(messages);
        let subject = match self.hook {
            Hook::TransformContext => Subject::Context(Arc::clone(&state.messages)),
            Hook::OnTurnEnd => Subject::TurnEnd { had_tool_calls: true, usage: Usage::default() },
            _ => Subject::ToolCall(shell_command()),
        };
        Arc::new(HookInput {
            hook: self.hook,
            scope: Arc::new(Scope::new(EventBus::new().main(), CancellationToken::new(), Path::new("/"))),
            turn_number: 1,
            state,
            subject,
        })
    }
}

/// The state of a conversation of so many messages.
pub(crate) fn conversation(messages: usize) -> AgentState {
    let mut state = AgentState::new("bench");
    let message = Arc::new(Message::user("a message of some length, as they are"));
    (0..messages).for_each(|_| state.push(Arc::clone(&message)));
    state
}

/// A call with 200 bytes of JSON.
pub(crate) fn shell_command() -> ToolCallInput {
    let input = json!({
        "command": "cargo test --workspace --all-features -- --nocapture --test-threads=1 | tee target/tests.log",
        "description": "Runs all the tests of the workspace in order",
        "timeout_ms": 600_000,
    });
    ToolCallInput { id: "call_1".into(), name: "shell_command".into(), input: Arc::new(input) }
}

/// The least that a call can be that others may make at the same time: an indirect call, and an atomic that nobody
/// else has.
pub(crate) fn floor() -> Box<dyn Plain> {
    let calls = AtomicU64::new(0);
    Box::new(Work(move |_: &HookInput| {
        calls.fetch_add(1, Relaxed);
        None
    }))
}

/// The jobs. The first is the one that something is promised of.
pub(crate) fn jobs() -> [Job; 7] {
    [
        Job::new("before_tool_call, tool name", "name", Hook::BeforeToolCall, name),
        Job::new("before_tool_call, typed input", "typed", Hook::BeforeToolCall, typed),
        Job::new("before_tool_call, rewrite", "rewrite", Hook::BeforeToolCall, rewrite),
        Job::new("transform_context, no change", "last message", Hook::TransformContext, last_message),
        Job::new("transform_context, append", "append", Hook::TransformContext, append),
        Job::new("on_turn_end, no change", "turn", Hook::OnTurnEnd, turn),
        Job::new("on_turn_end, own state", "state", Hook::OnTurnEnd, state),
    ]
}

fn block() -> Answer {
    Some(HookOutcome::BeforeToolCall(BeforeToolCall::block("never")))
}

fn name(input: &HookInput) -> Answer {
    match &input.subject {
        Subject::ToolCall(call) if &*call.name == NEVER => block(),
        _ => None,
    }
}

fn typed(input: &HookInput) -> Answer {
    match &input.subject {
        Subject::ToolCall(call) => {
            let shell = Shell::deserialize(&*call.input).ok()?;
            if shell.command == NEVER { block() } else { None }
        }
        _ => None,
    }
}

fn rewrite(_: &HookInput) -> Answer {
    Some(HookOutcome::BeforeToolCall(BeforeToolCall::rewrite(json!({ "command": SAID }))))
}

fn said() -> Answer {
    Some(HookOutcome::TransformContext(vec![MessageEdit::Append { message: Message::user(SAID) }]))
}

fn last_message(input: &HookInput) -> Answer {
    match &input.subject {
        Subject::Context(messages) if messages.last()?.role == Role::Assistant => said(),
        _ => None,
    }
}

fn append(_: &HookInput) -> Answer {
    said()
}

fn turn(input: &HookInput) -> Answer {
    match &input.subject {
        Subject::TurnEnd { had_tool_calls: true, .. } => None,
        _ => Some(HookOutcome::State(StatePatch::mod_state(json!(0)))),
    }
}

fn state(input: &HookInput) -> Answer {
    Some(HookOutcome::State(StatePatch::mod_state(json!(input.turn_number))))
}

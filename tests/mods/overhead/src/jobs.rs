//! The jobs that `benches/hook_overhead` measures, by the option `overhead.job`; without one it looks at a tool's
//! name. By `overhead.form` each is a plain closure (`sync`), one that is ready at once (`ready`), or one that is
//! pending at its first poll (`pending`) or at its first two (`waiting`). It is registered as often as `overhead.times`
//! says. The job `observe` is no hook's: it hears `text_delta`. The job `each` has no opinion at any hook.
use std::{
    future::poll_fn,
    hint::black_box,
    task::{Context as Waking, Poll},
};

use mod_interface::prelude::*;

/// The name that the hook looks for.
pub const NEVER: &str = "a_tool_that_is_never_called";

/// What a hook that writes says.
pub const SAID: &str = "a text of some length, as they are";

/// The input of a shell command.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub struct Shell {
    /// The command line.
    pub command: String,
    /// What it is for.
    pub description: String,
    /// How long it may take.
    pub timeout_ms: u64,
}

/// The factory; public for the benchmark's compiled-in form.
pub async fn overhead(cmd: ModApi) -> Result<()> {
    let flag = |name| cmd.get_flag::<String>(name).map(Option::unwrap_or_default);
    let (job, form, times) = (flag("job")?, flag("form")?, flag("times")?);
    for _ in 0..times.parse().unwrap_or(1) {
        match &*job {
            "observe" => cmd.on(EventKind::TextDelta, |event| {
                black_box(event.delta());
            })?,
            _ => cmd.hooks(hooks(&job, &form))?,
        };
    }
    Ok(())
}

/// Registers `$answer` at a hook, in the form that `$form` names.
macro_rules! in_form {
    ($form:expr, $hook:ident, $sync:ident, $answer:expr) => {
        match $form {
            "sync" => Hooks::new().$sync(|view, _ctx| $answer(view)),
            "pending" => Hooks::new().$hook(|view, _ctx| async move {
                pending_for(1).await;
                $answer(&view)
            }),
            "waiting" => Hooks::new().$hook(|view, _ctx| async move {
                pending_for(2).await;
                $answer(&view)
            }),
            _ => Hooks::new().$hook(|view, _ctx| async move { $answer(&view) }),
        }
    };
}

fn hooks(job: &str, form: &str) -> Hooks {
    match job {
        "each" => at_each(),
        "typed" => in_form!(form, before_tool_call, before_tool_call_sync, typed),
        "rewrite" => in_form!(form, before_tool_call, before_tool_call_sync, rewrite),
        "last message" => in_form!(form, transform_context, transform_context_sync, last_message),
        "append" => in_form!(form, transform_context, transform_context_sync, append),
        "turn" => in_form!(form, on_turn_end, on_turn_end_sync, turn),
        "state" => in_form!(form, on_turn_end, on_turn_end_sync, state),
        _ => in_form!(form, before_tool_call, before_tool_call_sync, name),
    }
}

fn at_each() -> Hooks {
    Hooks::new()
        .transform_context_sync(|_, _| Ok(Vec::new()))
        .append_system_prompt_sync(|_, _| Ok(None))
        .before_tool_call_sync(|_, _| Ok(None))
        .after_tool_call_sync(|_, _| Ok(None))
        .on_turn_start_sync(|_, _| Ok(StatePatch::default()))
        .on_turn_end_sync(|_, _| Ok(StatePatch::default()))
        .should_stop_after_turn_sync(|_, _| Ok(false))
        .prepare_next_turn_sync(|_, _| Ok(None))
        .on_run_end_sync(|_, _| Ok(()))
        .on_stop_sync(|_, _| Ok(StopDecision::Stop))
        .transform_input_sync(|_, _| Ok(TransformInput::Continue))
        .on_session_start_sync(|_, _| Ok(()))
        .on_session_end_sync(|_, _| Ok(()))
}

fn name(call: &ToolCall) -> Result<Option<BeforeToolCall>> {
    Ok((call.tool_name() == NEVER).then(|| BeforeToolCall::block("never")))
}

fn typed(call: &ToolCall) -> Result<Option<BeforeToolCall>> {
    let shell: Shell = call.input()?;
    Ok((shell.command == NEVER).then(|| BeforeToolCall::block("never")))
}

fn rewrite(_: &ToolCall) -> Result<Option<BeforeToolCall>> {
    Ok(Some(BeforeToolCall::rewrite(json!({ "command": SAID }))))
}

fn last_message(context: &Context) -> Result<Vec<MessageEdit>> {
    let never = context.last_message().is_some_and(|message| message.role() == Role::Assistant);
    Ok(if never { vec![MessageEdit::Append { message: Message::user(SAID) }] } else { Vec::new() })
}

fn append(_: &Context) -> Result<Vec<MessageEdit>> {
    Ok(vec![MessageEdit::Append { message: Message::user(SAID) }])
}

fn turn(turn: &TurnEnd) -> Result<StatePatch> {
    Ok(if turn.had_tool_calls() { StatePatch::default() } else { StatePatch::mod_state(json!(0)) })
}

fn state(turn: &TurnEnd) -> Result<StatePatch> {
    Ok(StatePatch::mod_state(json!(turn.turn_number())))
}

/// Is pending at so many polls.
pub async fn pending_for(polls: u32) {
    let mut left = polls;
    poll_fn(move |cx: &mut Waking<'_>| {
        let Some(fewer) = left.checked_sub(1) else { return Poll::Ready(()) };
        left = fewer;
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

//! Around turns, runs and the session.

use mod_interface::prelude::*;

use crate::later::later;

/// The hooks that do `what`.
pub(crate) fn hooks(me: &str, what: &str) -> Option<Hooks> {
    let me = me.to_owned();
    Some(match what {
        "input" => Hooks::new().transform_input_sync(move |prompt, _| {
            Ok(TransformInput::Transform { text: format!("{} {me}", prompt.text()) })
        }),
        "handle" => Hooks::new().transform_input_sync(move |_, _| {
            Ok(TransformInput::Handled { message: Some(format!("handled by {me}")) })
        }),
        "prompt" => Hooks::new().append_system_prompt_sync(move |_, _| Ok(Some(format!("prompt of {me}")))),
        "append" => context(move |_| vec![MessageEdit::Append { message: said(&me) }]),
        "replace-first" => context(move |_| vec![MessageEdit::Replace { index: 0, message: said(&me) }]),
        "remove-last" => context(|messages| {
            let end = messages.message_count();
            vec![MessageEdit::Remove { start: end.saturating_sub(1), end }]
        }),
        "count-turns" => Hooks::new().on_turn_start_sync(|turn, _| {
            let seen = turn.state().mod_state::<u64>()?.unwrap_or(0);
            Ok(StatePatch::mod_state(json!(seen + 1)))
        }),
        "say-at-end" => Hooks::new().on_turn_end(move |turn, _| {
            let message = said(&me);
            async move {
                later().await;
                let first = turn.turn_number() == 1;
                Ok(if first { StatePatch::default().append(message) } else { StatePatch::default() })
            }
        }),
        "stop" => stop_from(1),
        "continue" => continue_until(me, 1),
        "effort" => next(NextTurn { effort: Some(EffortChange::Set(Effort::High)), model: None }),
        "no-effort" => next(NextTurn { effort: Some(EffortChange::Reset), model: None }),
        "report" => report(),
        "forge" => Hooks::new().on_turn_start_sync(|_, ctx| {
            ctx.emit("notice", &json!({ "level": "warning", "message": "this may be said" }))?;
            // Refused, and told by the host.
            let _forged = ctx.emit("run_end", &json!({ "result": "forged" }));
            ctx.emit("mod:other/hello", &json!(null))?;
            Ok(StatePatch::default())
        }),
        _ => match what.split_once('-')? {
            ("stop", turn) => stop_from(turn.parse().ok()?),
            ("continue", turn) => continue_until(me, turn.parse().ok()?),
            _ => return None,
        },
    })
}

fn stop_from(turn_number: u32) -> Hooks {
    Hooks::new().should_stop_after_turn_sync(move |turn, _| Ok(turn.turn_number() >= turn_number))
}

fn continue_until(me: String, turn_number: u32) -> Hooks {
    Hooks::new().on_stop_sync(move |stop, _| {
        if stop.turn_number() > turn_number {
            return Ok(StopDecision::Stop);
        }
        let reason = format!("{me} wants more than {}", stop.last_assistant_text());
        Ok(StopDecision::Continue { reason: Some(reason) })
    })
}

fn said(me: &str) -> Message {
    Message::user_from(MessageSource::Mod, format!("said by {me}"))
}

fn context(edit: impl Fn(&Context) -> Vec<MessageEdit> + Send + Sync + 'static) -> Hooks {
    Hooks::new().transform_context_sync(move |messages, _| Ok(edit(messages)))
}

fn next(change: NextTurn) -> Hooks {
    Hooks::new().prepare_next_turn_sync(move |_, _| Ok(Some(change.clone())))
}

/// Tells by events of its own what it is shown.
fn report() -> Hooks {
    Hooks::new()
        .on_session_start_sync(|event, ctx| ctx.emit("session-start", &json!(event.reason())))
        .on_session_end_sync(|event, ctx| ctx.emit("session-end", &json!(event.reason())))
        .on_turn_end_sync(|turn, ctx| {
            let state = turn.state().mod_state::<Value>()?;
            ctx.emit(
                "turn",
                &json!([turn.turn_number(), turn.had_tool_calls(), turn.usage().total(), state]),
            )?;
            Ok(StatePatch::default())
        })
        .on_run_end_sync(|run, ctx| {
            let (result, state) = (run.result()?, run.state().mod_state::<Value>()?);
            ctx.emit("run", &json!([ctx.agent_id(), result.stop_reason, result.final_text, state]))
        })
}

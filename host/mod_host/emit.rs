//! Events that mods raise: notices, and kinds of their own.

use mod_interface::types::{EventKind, EventPayload, NoticeLevel};
use serde::Deserialize;
use serde_json::Value;

use super::{
    frame::Question,
    services::{Asker, cut},
};

/// What a mod raises.
#[derive(Deserialize)]
pub(super) struct Emit {
    kind: String,
    data: Value,
}

#[derive(Deserialize)]
struct Notice {
    level: NoticeLevel,
    message: String,
}

/// Raises a notice, or an event under the mod's own name; what the host says cannot be forged.
pub(super) fn emit(asker: &Asker, Emit { kind, data }: Emit) -> Result<(), String> {
    match EventKind::from_wire(&kind) {
        None => own(asker, &kind, data),
        Some(EventKind::Notice) => {
            let notice: Notice = serde_json::from_value(data)
                .map_err(|error| format!("a notice has a level and a message: {error}"))?;
            asker.emitter().notice(notice.level, cut(notice.message));
            Ok(())
        }
        Some(_) => {
            Err(format!("the host alone raises this event, a mod notice and kinds of its own: {kind}"))
        }
    }
}

fn own(asker: &Asker, kind: &str, data: Value) -> Result<(), String> {
    let named = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-".contains(&byte);
    if kind.is_empty() || !kind.bytes().all(named) {
        return Err(format!("an event's kind is of a-z, 0-9, _ and -, got: {kind}"));
    }
    let (mod_id, name) = (asker.owner.id.to_string(), format!("{}/{kind}", asker.owner.id));
    asker.emitter().emit(EventPayload::ModEvent { mod_id, name, data });
    Ok(())
}

/// Tells of an event that was refused. The mod is told as well, and need not care.
pub(super) fn refuse(asker: &Asker, reason: &str) {
    let (emitter, id) = (asker.emitter(), &asker.owner.id);
    let place = match &asker.question {
        // A hook may fail with this, and is then not told of twice.
        Question::Hook(input) => {
            return input.scope.faults.refuse(&emitter, id, input.hook.wire_name(), reason);
        }
        Question::Event(event) => format!("on:{}", event.payload.kind().as_str()),
        Question::Bus(message) => format!("bus:{}", message.channel),
        Question::Tool(call) => format!("tool:{}", call.name),
        _ => "emit".to_owned(),
    };
    asker.core.listener_faults.refuse(&emitter, id, &place, reason);
}

#[cfg(test)]
#[path = "emit_tests.rs"]
mod tests;

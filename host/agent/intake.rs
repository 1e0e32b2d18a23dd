//! What the model asks for, made ready to be judged: told, found, and where need be mended.
//!
//! `tool_queued` shows the input as the model sent it. Behind it an input that is no object is made one
//! where it can only have meant one (`tool_input_coerced`), and an input that the tool's schema refuses is
//! repaired where there is only one way to (`tool_input_repaired`); an input that is good is never touched.
//! Permissions, hooks, the tool and the conversation see what came of it: the next request then shows the
//! model the call that ran. What cannot be made good is an error result, and stays in the conversation as
//! it was sent; [`prepare_for_send`](super::prepare_for_send) wraps what is no object.

mod coerce;
mod repair;

use std::sync::Arc;

use mod_interface::types::EventPayload;
use serde_json::{Map, Value};

use super::Toolbox;
use crate::{
    events::Emitter,
    hooks::{self, ToolCallInput},
    tools::Tool,
};

const CUT_OFF: &str =
    "This call did not run: the answer hit the output limit, so its input may be incomplete. Send it again.";

/// A call that was told of, and looked up.
pub(super) struct Received {
    pub(super) call: ToolCallInput,
    /// Whether its input is another than the model sent.
    pub(super) mended: bool,
    /// The tool, or why the call cannot run, for the model.
    pub(super) tool: Result<Arc<dyn Tool>, String>,
}

/// Takes in a batch. `cut_off` says that the last call may be incomplete: nothing is made of it.
pub(super) fn receive(
    emitter: &Emitter,
    toolbox: &dyn Toolbox,
    calls: Vec<ToolCallInput>,
    cut_off: bool,
) -> Vec<Received> {
    for call in &calls {
        emitter.emit(EventPayload::ToolQueued {
            tool_call_id: call.id.to_string(),
            tool_name: call.name.to_string(),
            input: Value::clone(&call.input),
        });
    }
    let last = calls.len().saturating_sub(1);
    let calls = calls.into_iter().enumerate().map(|(index, call)| {
        let mut received = Received { call, mended: false, tool: Err(CUT_OFF.to_owned()) };
        if let Err(fault) = bounded(&mut received) {
            received.tool = Err(fault);
        } else if !(cut_off && index == last) {
            received.tool = find(emitter, toolbox, &mut received);
        }
        received
    });
    calls.collect()
}

fn find(emitter: &Emitter, toolbox: &dyn Toolbox, received: &mut Received) -> Result<Arc<dyn Tool>, String> {
    let tool = toolbox.find(&received.call.name)?;
    let input = coerced(emitter, received)?;
    bounded(received)?;
    let Err(fault) = toolbox.check_input(&received.call.name, &received.call.input) else {
        return Ok(tool);
    };
    let Some(repair) = repair::repair(&tool.spec().input_schema, &input) else { return Err(fault) };
    let good = Value::Object(repair.input);
    let repaired = toolbox.check_input(&received.call.name, &good).is_ok();
    let hints = if repaired { Vec::new() } else { repair.hints };
    emitter.emit(EventPayload::ToolInputRepaired {
        rules_fired: repair.rules.iter().map(|rule| (*rule).to_owned()).collect(),
        hint_count: u32::try_from(hints.len()).unwrap_or(u32::MAX),
        received_keys: input.keys().cloned().collect(),
        repaired,
    });
    if !repaired {
        return Err([vec![fault], hints].concat().join("; "));
    }
    received.take(good);
    Ok(tool)
}

/// An input that is too deep or too large cannot be kept: nothing of it stays.
fn bounded(received: &mut Received) -> Result<(), String> {
    let bounded = hooks::bounded(&received.call.input);
    bounded.map_err(|reason| {
        received.take(Value::Object(Map::new()));
        format!("the input cannot be taken: {reason}")
    })
}

/// The input as an object.
fn coerced(emitter: &Emitter, received: &mut Received) -> Result<Map<String, Value>, String> {
    let sent = &*received.call.input;
    if let Value::Object(object) = sent {
        return Ok(object.clone());
    }
    let (raw_type, object) = (coerce::kind(sent), coerce::object_in(sent));
    let recovered = object.is_some();
    emitter.emit(EventPayload::ToolInputCoerced { raw_type: raw_type.to_owned(), recovered });
    let refused = || format!("the input must be one JSON object, got {raw_type}: {}", shortened(sent));
    let object = object.ok_or_else(refused)?;
    received.take(Value::Object(object.clone()));
    Ok(object)
}

impl Received {
    fn take(&mut self, input: Value) {
        self.call.input = Arc::new(input);
        self.mended = true;
    }
}

fn shortened(value: &Value) -> String {
    const LONGEST: usize = 300;
    let text = value.to_string();
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

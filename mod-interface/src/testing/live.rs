//! What a mod asks of the session that goes on: flags, messages, model and effort, tools, and what is shown of it.

use serde_json::{Value, json};

use super::{core::Core, entry};
use crate::types::{Effort, Message, MessageSource};

/// The session, as far as a mod changes it beside its hooks.
#[derive(Default)]
pub(super) struct Live {
    /// Messages that are to be delivered, and whether each steers.
    queue: Vec<(String, bool)>,
    pub(super) model: Option<String>,
    pub(super) effort: Option<Effort>,
}

impl Live {
    /// The texts that wait.
    pub(super) fn waiting(&self) -> Vec<String> {
        self.queue.iter().map(|(text, _)| text.clone()).collect()
    }

    pub(super) fn take_steering(&mut self) -> Vec<Message> {
        self.take(true, MessageSource::Steering)
    }

    /// What follows up; steering comes first.
    pub(super) fn take_follow_up(&mut self) -> Vec<Message> {
        let steering = self.take_steering();
        if steering.is_empty() { self.take(false, MessageSource::FollowUp) } else { steering }
    }

    fn take(&mut self, steers: bool, source: MessageSource) -> Vec<Message> {
        let taken = self.queue.extract_if(.., |(_, steering)| *steering == steers);
        taken.map(|(text, _)| Message::user_from(source, text)).collect()
    }
}

/// Answers a service that is about the session; `None` where it is another.
pub(super) fn answer(core: &Core, service: &str, args: &Value) -> Option<Result<Value, String>> {
    Some(Ok(match service {
        "flag" => flag(core, args["name"].as_str().unwrap_or_default()),
        "flag.add" => json!(add_flag(core, args)),
        "ui.set_status" => json!(set_status(core, args)),
        "queue_message" => return Some(queue(core, args)),
        "set_model" => {
            core.live().model = args["model"].as_str().map(str::to_owned);
            Value::Null
        }
        "set_effort" => {
            core.live().effort = serde_json::from_value(args["effort"].clone()).unwrap_or_default();
            Value::Null
        }
        "tools.all" => json!(core.registrations.names("tool", "name")),
        "tools.active" => json!(active_tools(core)),
        "tools.set_active" => json!(core.registrations.add_named("active_tools", args.clone())),
        _ => return None,
    }))
}

/// What `--mod-option` says, else the default of the flag. The wire has texts.
fn flag(core: &Core, name: &str) -> Value {
    if let Some(Ok(given)) = core.answers().next(&format!("flag {name}")) {
        return given;
    }
    let flags = core.registrations.specs("flag");
    match flags.iter().find(|flag| flag["name"] == name).map(|flag| &flag["default"]) {
        None | Some(Value::Null) => Value::Null,
        Some(Value::String(text)) => json!(text),
        Some(other) => json!(other.to_string()),
    }
}

fn add_flag(core: &Core, spec: &Value) -> u64 {
    let name = spec["name"].as_str().unwrap_or_default();
    if core.registrations.names("flag", "name").iter().any(|taken| taken == name) {
        core.tell_fault(&entry::failed(&format!("flag:{name}"), "its name is taken already"));
        return 0;
    }
    core.registrations.add_named("flag", spec.clone())
}

/// The one segment of a mod: a new text stands in the place of the one before, a blank one clears it.
fn set_status(core: &Core, args: &Value) -> u64 {
    core.registrations.dispose_kind("status");
    let id = core.registrations.add_named("status", args.clone());
    if args["text"].as_str().unwrap_or_default().trim().is_empty() {
        core.registrations.dispose(id);
    }
    id
}

fn queue(core: &Core, args: &Value) -> Result<Value, String> {
    let text = args["content"].as_str().unwrap_or_default();
    if text.trim().is_empty() {
        return Err("a message that is queued needs a text, got none".to_owned());
    }
    core.live().queue.push((text.to_owned(), args["deliverAs"] == "steer"));
    Ok(Value::Null)
}

fn active_tools(core: &Core) -> Vec<String> {
    let mut names = core.registrations.names("tool", "name");
    if let Some(filter) = core.registrations.specs("active_tools").pop() {
        let active = filter["names"].as_array().cloned().unwrap_or_default();
        names.retain(|name| active.contains(&json!(name)));
    }
    names
}

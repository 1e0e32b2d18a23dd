//! What the mod asks of the host: everything is recorded, and answered by the test or as the host does where
//! nobody is at the keyboard.

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use super::{
    core::Core,
    entry,
    frame::{Call, TestFrame},
    live, record,
};
use crate::{
    abi::Callable,
    types::{EventKind, EventPayload, NoticeLevel},
};

type Answer = Result<String, String>;

#[derive(Deserialize)]
struct Notice {
    level: NoticeLevel,
    message: String,
}

/// Answers at once.
pub(super) fn now(core: &Core, frame: &TestFrame, service: &str, args: &str) -> Answer {
    let args: Value = parse(service, args)?;
    core.note(service, args.clone());
    if let Some(answer) = scripted(core, service) {
        return answer;
    }
    let answer = live::answer(core, service, &args).or_else(|| record::answer(core, service, &args));
    if let Some(answer) = answer {
        return answer.map(|value| value.to_string());
    }
    let text = |field: &str| args[field].as_str().unwrap_or_default().to_owned();
    match service {
        "ui.notify" => {
            core.emit(EventPayload::Notice { level: NoticeLevel::Info, message: text("message") });
        }
        // Whoever answers is there.
        "ui.interactive" => return Ok((!core.answers().known("ui.").is_empty()).to_string()),
        "emit" => emit(core, &text("kind"), &args["data"])
            .inspect_err(|refused| core.tell_fault(&entry::failed(&frame.place(), refused)))?,
        "bus.emit" => {
            // A listener that fails is told as in the host, and is not the speaker's trouble.
            let channel = text("channel");
            if channel.is_empty() {
                return Err("a channel's name has 1 to 200 bytes, got: 0".to_owned());
            }
            core.say(&channel, &args["data"]).unwrap_or_else(|fault| core.tell_fault(&fault));
        }
        "dispose" => core.registrations.dispose(args["id"].as_u64().unwrap_or_default()),
        "progress" => progress(core, frame.call(), text("message"))?,
        _ => {}
    }
    Ok("null".to_owned())
}

/// Answers later; in a test that is at once too.
pub(super) fn later(core: &Core, service: &str, args: &str) -> Answer {
    let args: Value = parse(service, args)?;
    core.note(service, args.clone());
    match service {
        "exec" => exec(core, &command_line(&args)),
        "ui.select" => select(core, &args),
        "ui.confirm" => scripted(core, service).unwrap_or_else(|| Ok("false".to_owned())),
        _ => scripted(core, service).unwrap_or_else(|| {
            let answer = record::answer(core, service, &args).unwrap_or(Ok(Value::Null));
            answer.map(|value| value.to_string())
        }),
    }
}

/// Registers something with one entry.
pub(super) fn add(core: &Core, kind: &str, spec: &str, callable: Callable) -> Result<u64, String> {
    let spec: Value = parse(kind, spec)?;
    if kind == "event" && spec["kind"].as_str().and_then(EventKind::from_wire).is_none() {
        return Err(format!("no such event: {}", spec["kind"].as_str().unwrap_or_default()));
    }
    let name = spec["name"].as_str().unwrap_or_default().to_owned();
    Ok(core.registrations.add_callable(kind, spec, callable).unwrap_or_else(|| {
        let taken = entry::failed(&format!("{kind}:{name}"), "its name is taken already");
        core.tell_fault(&taken);
        0
    }))
}

pub(super) fn parse<T: DeserializeOwned>(what: &str, args: &str) -> Result<T, String> {
    serde_json::from_str(args).map_err(|error| format!("bad arguments for {what}: {error}"))
}

/// A process as it would be typed: the program, then its arguments.
pub(super) fn command_line(args: &Value) -> String {
    let words = args["args"].as_array().into_iter().flatten();
    let words = std::iter::once(&args["command"]).chain(words);
    words.filter_map(Value::as_str).collect::<Vec<_>>().join(" ")
}

fn scripted(core: &Core, asked: &str) -> Option<Answer> {
    let answer = core.answers().next(asked)?;
    Some(answer.map(|value| value.to_string()))
}

fn exec(core: &Core, line: &str) -> Answer {
    if let Some(answer) = scripted(core, &format!("exec {line}")) {
        return answer;
    }
    let known = core.answers().known("exec ").join("`, `");
    let known = if known.is_empty() { "nothing".to_owned() } else { format!("`{known}`") };
    Err(format!("the test says nothing of what `{line}` prints, give it with exec(); it knows: {known}"))
}

fn select(core: &Core, args: &Value) -> Answer {
    let Some(answer) = scripted(core, "ui.select") else { return Ok("null".to_owned()) };
    let answer = answer?;
    let options = args["options"].as_array().map(Vec::as_slice).unwrap_or_default();
    let options: Vec<_> = options.iter().map(Value::to_string).collect();
    if answer == "null" || options.contains(&answer) {
        return Ok(answer);
    }
    Err(format!("the test selects {answer}, which is none of the options: {}", options.join(", ")))
}

fn emit(core: &Core, kind: &str, data: &Value) -> Result<(), String> {
    match EventKind::from_wire(kind) {
        None => {}
        Some(EventKind::Notice) => {
            let notice: Notice = serde_json::from_value(data.clone())
                .map_err(|error| format!("a notice has a level and a message: {error}"))?;
            core.emit(EventPayload::Notice { level: notice.level, message: notice.message });
            return Ok(());
        }
        Some(_) => {
            return Err(format!(
                "the host alone raises this event, a mod notice and kinds of its own: {kind}"
            ));
        }
    }
    let named = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-".contains(&byte);
    if kind.is_empty() || !kind.bytes().all(named) {
        return Err(format!("an event's kind is of a-z, 0-9, _ and -, got: {kind}"));
    }
    let mod_id = core.place.id.to_string();
    let name = format!("{mod_id}/{kind}");
    core.emit(EventPayload::ModEvent { mod_id, name, data: data.clone() });
    Ok(())
}

fn progress(core: &Core, call: Option<&Call>, partial: String) -> Result<(), String> {
    let call = call.ok_or("only a tool that runs can tell its progress")?;
    let (tool_call_id, tool_name) = (call.id.clone(), call.name.clone());
    core.emit(EventPayload::ToolUpdate { tool_call_id, tool_name, partial });
    Ok(())
}

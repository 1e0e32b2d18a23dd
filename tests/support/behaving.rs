//! Sessions with mods of `tests/mods/behaving`, once compiled in and once as shared libraries.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use futures::future::{BoxFuture, ready};
use host::{
    harness::{HarnessBuilder, Recording},
    tools::{Tool, ToolContext},
};
use memchr::memmem;
use mod_interface::{
    builtin_mod,
    types::{AgentEvent, ContentBlock, EventPayload, ToolOutput, ToolSpec},
};
use serde_json::{Value, json};

use super::{
    fixtures::Library,
    session::{Folders, Record, play},
};

/// A library of the behaving mod: the names of its file and of its mod, as they are built.
pub(crate) type Build = (&'static str, &'static str);
/// Built against the interface of today.
pub(crate) const TODAY: Build = ("behaving", "behaving-a");
/// Built against the released interface 1.0.0: it has the hooks, and not what is newer.
pub(crate) const V1_0_0: Build = ("behaving_1_0_0", "behaving-o");
/// Built against an interface that is newer than this host's.
pub(crate) const V1_1: Build = ("behaving_1_1", "behaving-n");

/// Plays `turns` with mods that do what `does` says of each (`a`, `b`, `c`), in that order, once with the
/// mods compiled in and once as shared libraries. Both must tell the same; that is given, a line an event.
pub(crate) async fn both(turns: Value, does: &[(&'static str, &str)]) -> Vec<String> {
    let compiled = one(&turns, does, |builder, letter, _| compiled_in(builder, letter)).await;
    let told = shared(&turns, does, TODAY).await;
    assert_eq!(compiled, told, "mods that are compiled in (left) and shared libraries (right) differ");
    told
}

/// As [`both`], and once more with shared libraries that were built against interface 1.0.0.
pub(crate) async fn every_way(turns: Value, does: &[(&'static str, &str)]) -> Vec<String> {
    let told = both(turns.clone(), does).await;
    let old = shared(&turns, does, V1_0_0).await;
    assert_eq!(told, old, "mods of today's interface (left) and of 1.0.0 (right) differ");
    told
}

async fn shared(turns: &Value, does: &[(&'static str, &str)], build: Build) -> Vec<String> {
    one(turns, does, |builder, letter, dir| builder.mods([renamed(build, letter, dir)])).await
}

/// Plays `turns` with one mod compiled in and one shared library; the library is given first.
pub(crate) async fn built_in_and_shared(
    turns: Value,
    compiled: (&'static str, &str),
    shared: (&'static str, &str),
) -> Vec<String> {
    let add = |builder, letter, dir: &Path| match letter == compiled.0 {
        true => compiled_in(builder, letter),
        false => builder.mods([renamed(TODAY, letter, dir)]),
    };
    one(&turns, &[shared, compiled], add).await
}

/// The behaving mod, compiled in under the name that ends in this letter, of `a` to `h`.
pub(crate) fn compiled_in(builder: HarnessBuilder, letter: &str) -> HarnessBuilder {
    macro_rules! built_in {
        ($($letter:literal)*) => {
            match letter {
                $($letter => {
                    const NAME: &str = concat!("behaving-", $letter);
                    builder.built_in(NAME, builtin_mod!(NAME, behaving::behaving))
                })*
                _ => panic!("no such letter: {letter}"),
            }
        };
    }
    built_in!("a" "b" "c" "d" "e" "f" "g" "h")
}

async fn one(
    turns: &Value,
    does: &[(&'static str, &str)],
    add: impl Fn(HarnessBuilder, &'static str, &Path) -> HarnessBuilder,
) -> Vec<String> {
    session(turns, |builder, dir| {
        does.iter().fold(builder, |builder, (letter, does)| {
            let option = (format!("behaving-{letter}.does"), (*does).to_owned());
            add(builder, letter, dir).mod_options([option])
        })
    })
    .await
}

/// Plays `turns` in a session in memory that has the tool `echo` and what `build` adds, to its end; a line an
/// event. The folder is for libraries.
pub(crate) async fn session(
    turns: &Value,
    build: impl FnOnce(HarnessBuilder, &Path) -> HarnessBuilder,
) -> Vec<String> {
    let folders = Folders::new();
    let record = play(&folders, &json!({ "turns": turns }), |builder| {
        build(builder.record(Recording::InMemory).tool(Arc::new(Echo::new())), folders.dir())
    })
    .await;
    assert_eq!(record.warnings, Vec::<String>::new());
    lines(&record)
}

/// The library with another letter at the end of its name.
pub(crate) fn renamed((library, built): Build, letter: &str, dir: &Path) -> PathBuf {
    static STRIPPED: Mutex<BTreeMap<&str, Library>> = Mutex::new(BTreeMap::new());
    let stripped =
        STRIPPED.lock().unwrap().entry(library).or_insert_with(|| Library::stripped(library)).clone();
    let (mut bytes, name) = (stripped.bytes().to_vec(), format!("behaving-{letter}"));
    let places: Vec<_> = memmem::find_iter(&bytes, built).collect();
    for at in places {
        bytes[at..at + built.len()].copy_from_slice(name.as_bytes());
    }
    let path = dir.join(format!("lib{library}_{letter}.so"));
    fs::write(&path, bytes).unwrap();
    path
}

/// A turn that calls `echo` with these texts.
pub(crate) fn echoes(texts: &[&str]) -> Value {
    let call = |(index, text): (usize, &&str)| json!({ "id": format!("c{}", index + 1), "name": "echo", "input": { "text": text } });
    json!({ "tool_calls": texts.iter().enumerate().map(call).collect::<Vec<_>>() })
}

/// Says its text; fails when it is `fail`.
pub(crate) struct Echo(ToolSpec);

impl Echo {
    pub(crate) fn new() -> Self {
        Self(ToolSpec {
            name: "echo".to_owned(),
            description: "Says its text.".to_owned(),
            input_schema: json!({ "type": "object" }),
            read_only: true,
        })
    }
}

impl Tool for Echo {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn run(&self, input: Value, _: ToolContext) -> BoxFuture<'_, ToolOutput> {
        let text = input["text"].as_str().unwrap_or_default();
        Box::pin(ready(if text == "fail" { ToolOutput::error(text) } else { ToolOutput::text(text) }))
    }
}

/// The events, but for what depends on how busy the machine is.
fn lines(record: &Record) -> Vec<String> {
    let busy = [" held the run up for ", " without awaiting"];
    let lines = record.events.iter().map(line);
    lines.filter(|line| busy.iter().all(|words| !line.contains(words))).collect()
}

pub(crate) fn line(event: &AgentEvent) -> String {
    let text = |content: &[ContentBlock]| {
        content.iter().map(|it| it.as_text().unwrap_or(it.kind())).collect::<Vec<_>>().join(" + ")
    };
    let kind = event.payload.kind().as_str();
    let rest = match &event.payload {
        EventPayload::RunEnd { result } => format!("{} {}", result.stop_reason.as_str(), result.turn_count),
        EventPayload::TextDelta { delta } => delta.clone(),
        EventPayload::MessageUpdate { message } => text(&message.content),
        EventPayload::MessageEnd { content } => text(content),
        EventPayload::ToolQueued { tool_call_id, input, .. } => format!("{tool_call_id} {input}"),
        EventPayload::ToolRunning { tool_call_id, .. } => tool_call_id.clone(),
        EventPayload::ToolCompleted { tool_call_id, result, .. } => {
            format!("{tool_call_id}: {}", text(result))
        }
        EventPayload::ToolErrored { tool_call_id, error, .. } => format!("{tool_call_id}: {error}"),
        EventPayload::ToolHookBlocked { tool_call_id, hook_output, .. } => {
            format!("{tool_call_id}: {hook_output}")
        }
        EventPayload::Notice { message, .. } => message.clone(),
        EventPayload::ModEvent { name, data, .. } => format!("{name} {data}"),
        EventPayload::ModError { mod_id, hook, error } => format!("{mod_id} {hook}: {error}"),
        EventPayload::RunError { error } => error.clone(),
        EventPayload::SessionTitled { title } => title.clone(),
        _ => String::new(),
    };
    format!("{kind} {rest}").trim_end().to_owned()
}

/// What of `lines` begins with one of `kinds`.
pub(crate) fn only<'a>(lines: &'a [String], kinds: &[&str]) -> Vec<&'a str> {
    lines.iter().map(String::as_str).filter(|line| kinds.iter().any(|kind| line.starts_with(kind))).collect()
}

//! Random sets of real mods, against a small written model of what their answers come to: compiled in, as shared
//! libraries, and as shared libraries of interface 1.0.0.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::{Arc, Mutex},
};

use futures::{StreamExt, stream};
use host::{
    agent::RunOutcome,
    harness::{Harness, HarnessBuilder, Prompted, Recording},
    providers::{ModelEvent, ModelRequest, ModelStream, Provider},
    settings::{Settings, ToolExecution},
};
use mod_interface::types::{AgentEvent, EventPayload, Hook, SessionEndReason, Usage};
use proptest::{collection::vec, prelude::*};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::support::{
    behaving::{Build, Echo, TODAY, V1_0_0, compiled_in, line, renamed},
    merge_model::{Asking, Does, Expected, added, counted, expected, letter, plain},
    session::Folders,
    told::told,
};

/// Calls `echo` twice, and then says which turn it is.
#[derive(Default)]
struct Model(Mutex<Vec<ModelRequest>>);

impl Provider for Model {
    fn id(&self) -> &str {
        "model"
    }

    fn stream(&self, request: ModelRequest) -> ModelStream {
        let mut requests = self.0.lock().unwrap();
        requests.push(request);
        let call = |id: &str| {
            let begin = ModelEvent::ToolUse { id: id.to_owned(), name: "echo".to_owned() };
            [begin, ModelEvent::ToolInput(r#"{"text":"x"}"#.to_owned())]
        };
        let mut events = match requests.len() {
            1 => [call("c1"), call("c2")].concat(),
            turn => vec![ModelEvent::Text(format!("t{turn}"))],
        };
        events.push(ModelEvent::Done { stop_reason: "stop".to_owned(), usage: Usage::default() });
        stream::iter(events.into_iter().map(Ok)).boxed()
    }
}

/// The libraries of all letters, of one build.
struct Libraries(TempDir, Build);

impl Libraries {
    fn new(build: Build) -> Self {
        let dir = TempDir::new().unwrap();
        (0..8).for_each(|index| drop(renamed(build, &letter(index).to_string(), dir.path())));
        Self(dir, build)
    }

    fn path(&self, letter: &str) -> PathBuf {
        self.0.path().join(format!("lib{}_{letter}.so", self.1.0))
    }
}

/// What a mod does, as the behaving mod's option.
fn option(does: Does) -> String {
    let word = match does {
        Does::Rewrites => "rewrite",
        Does::Blocks(n) => return format!("block-{n}"),
        Does::AddsBefore => "context-before",
        Does::TerminatesBefore => "terminate-before",
        Does::Replaces => "replace",
        Does::Flips => "flip",
        Does::AddsAfter => "context-after",
        Does::TerminatesAfter => "terminate",
        Does::CountsTurns => "count-turns",
        Does::Prompts => "prompt",
        Does::AddsContext => "append",
        Does::Stops(turn) => return format!("stop-{turn}"),
        Does::GoesOn(turn) => return format!("continue-{turn}"),
    };
    word.to_owned()
}

/// A mod that also fails: which one, where, how, and whether before it does what it does.
#[derive(Debug, Clone, Copy)]
struct Fault {
    of: usize,
    hook: Hook,
    how: &'static str,
    first: bool,
}

fn fault() -> impl Strategy<Value = Fault> {
    let how = prop::sample::select(vec!["error", "panic", "later"]);
    let hook = prop::sample::select(Hook::ALL.to_vec());
    (0..8_usize, hook, how, any::<bool>()).prop_map(|(of, hook, how, first)| Fault { of, hook, how, first })
}

/// The options of mods that do this, and fail like that.
fn options(mods: &[Does], faults: &[Fault]) -> Vec<(String, String)> {
    let of = |(i, does): (usize, &Does)| {
        let fails = |first| {
            let own = faults.iter().filter(move |fault| fault.of == i && fault.first == first);
            own.map(|Fault { hook, how, .. }| format!("fail-{how}:{hook}"))
        };
        let all: Vec<_> = fails(true).chain([option(*does)]).chain(fails(false)).collect();
        (format!("behaving-{}.does", letter(i)), all.join(","))
    };
    mods.iter().enumerate().map(of).collect()
}

/// What was told of faults.
#[derive(Debug, Default, PartialEq)]
struct Told {
    /// Of which mod, at which hook, and whether it was a panic.
    errors: BTreeSet<(String, String, bool)>,
    notices: BTreeSet<String>,
}

impl Told {
    fn add(&mut self, event: &EventPayload) {
        let new = match event {
            EventPayload::ModError { mod_id, hook, error } => {
                self.errors.insert((mod_id.clone(), hook.clone(), error.starts_with("panicked")))
            }
            EventPayload::Notice { message, .. } => self.notices.insert(message.clone()),
            _ => true,
        };
        assert!(new, "told twice: {event:?}");
    }
}

/// What a session came to: what the model knows of, and what was told of faults.
async fn play(
    mods: &[Does],
    faults: &[Fault],
    parallel: bool,
    add: impl Fn(HarnessBuilder, &str) -> HarnessBuilder,
) -> (Expected, Told) {
    let (folders, model) = (Folders::new(), Arc::<Model>::default());
    let events = Arc::<Mutex<Vec<AgentEvent>>>::default();
    let kept = Arc::clone(&events);
    let execution = if parallel { ToolExecution::Parallel } else { ToolExecution::Sequential };
    let builder = Harness::builder()
        .places(folders.places())
        .settings(Settings { tool_execution: Some(execution), ..Settings::default() })
        .model(Some("model/x".to_owned()))
        .provider(Arc::clone(&model) as _)
        .tool(Arc::new(Echo::new()))
        .record(Recording::InMemory)
        .mod_options(options(mods, faults))
        .sink(Arc::new(move |event: &AgentEvent| kept.lock().unwrap().push(event.clone())));
    let builder = (0..mods.len()).fold(builder, |builder, i| add(builder, &letter(i).to_string()));
    let harness = builder.start().await.unwrap();
    assert!(harness.warnings().is_empty());
    let Prompted::Ran(outcome) = harness.prompt("go", &CancellationToken::new()).await else {
        panic!("not run")
    };
    harness.end(SessionEndReason::Shutdown).await;
    let RunOutcome { state, .. } = *outcome;
    let (events, requests) = (events.lock().unwrap(), model.0.lock().unwrap());
    let last = &requests[requests.len() - 1];
    let came_to = Expected {
        events: events.iter().filter_map(|event| plain(&line(event))).collect(),
        conversation: told(&state.messages),
        prompt: last.system.find("\n\nprompt of").map_or("", |at| &last.system[at..]).to_owned(),
        added: added(&last.messages),
        counted: counted(&state, "mod:behaving-"),
    };
    let mut told = Told::default();
    events.iter().for_each(|event| told.add(&event.payload));
    (came_to, told)
}

/// What must be told of `faults`, as often as `asked` says that each was asked for.
fn told_of(faults: &[Fault], mods: usize, asked: &[Asking]) -> Told {
    let reaches = |fault: &Fault, until: Option<usize>| {
        until.is_none_or(|end| fault.of < end || (fault.of == end && fault.first))
    };
    let mut told = Told::default();
    let mut failed: BTreeMap<(String, Hook), usize> = BTreeMap::new();
    for fault in faults.iter().filter(|fault| fault.of < mods) {
        let asked = asked.iter().filter(|(hook, until)| *hook == fault.hook && reaches(fault, *until));
        let (asked, mod_id) = (asked.count(), format!("mod:behaving-{}", letter(fault.of)));
        if asked > 0 {
            *failed.entry((mod_id.clone(), fault.hook)).or_default() += asked;
            told.errors.insert((mod_id, fault.hook.to_string(), fault.how == "panic"));
        }
    }
    // What happens again outside of a run is counted nowhere.
    let outside = [Hook::OnSessionStart, Hook::TransformInput, Hook::OnSessionEnd];
    for ((mod_id, hook), times) in failed.into_iter().filter(|((_, hook), _)| !outside.contains(hook)) {
        let causes = told.errors.iter().filter(|(id, at, _)| *id == mod_id && *at == hook.to_string());
        let again = times - causes.count();
        if again > 0 {
            let times = if again == 1 { "once" } else { &format!("{again} times") };
            told.notices.insert(format!("{mod_id} failed {times} more at {hook}"));
        }
    }
    told
}

fn check(mods: &[Does], faults: &[Fault], parallel: bool, libraries: &[Libraries; 2]) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (expected, asked) = expected(mods, parallel);
    let expected = (expected, told_of(faults, mods.len(), &asked));
    let [today, old] = libraries;
    let from =
        |libraries: &Libraries, builder: HarnessBuilder, letter: &str| builder.mods([libraries.path(letter)]);
    let compiled = runtime.block_on(play(mods, faults, parallel, compiled_in));
    let shared =
        runtime.block_on(play(mods, faults, parallel, |builder, letter| from(today, builder, letter)));
    let released =
        runtime.block_on(play(mods, faults, parallel, |builder, letter| from(old, builder, letter)));
    for (way, came_to) in [("compiled in", compiled), ("shared", shared), ("of 1.0.0", released)] {
        assert_eq!(came_to, expected, "{way}");
    }
}

#[test]
fn what_real_mods_answer_comes_to_what_the_model_says_and_each_fault_among_it_is_told() {
    let libraries = [TODAY, V1_0_0].map(Libraries::new);
    let config = ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() };
    let mods = (vec(Does::any(), 0..=8), vec(fault(), 0..32), any::<bool>());
    proptest!(config, |((mods, faults, parallel) in mods)| check(&mods, &faults, parallel, &libraries));
}

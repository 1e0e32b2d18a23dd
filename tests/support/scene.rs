//! A session in which mods of this workspace act, each a shared library, and what can be seen of it.

use std::sync::{Arc, Mutex};

use host::{
    harness::{Harness, Prompted, Recording},
    mod_host::Registered,
    providers::{ModelRequest, ModelStream, Provider, scripted::Scripted},
    settings::{Compaction, Settings, ToolExecution},
};
use mod_interface::types::{AgentEvent, Placement, SessionEndReason};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{
    behaving::{Echo, line, only},
    session::{Folders, library},
    told::told,
};
use crate::screen::Screen;

/// What is played.
pub(crate) struct Scene<'a> {
    /// The mods, in the order in which they are loaded.
    pub(crate) mods: &'a [&'a str],
    /// Their options, `mod.flag` and value.
    pub(crate) options: &'a [(&'a str, &'a str)],
    /// What the model answers, one turn for each request.
    pub(crate) turns: Value,
    /// What is typed.
    pub(crate) prompts: &'a [&'a str],
    /// What runs unasked, beside what only reads.
    pub(crate) allow: &'a [&'a str],
    /// Whether the tool calls of a batch run at once.
    pub(crate) parallel: bool,
    /// From how many tokens on it compacts.
    pub(crate) compacts_from: Option<u64>,
    /// Whether nobody is at the screen.
    pub(crate) alone: bool,
    pub(crate) record: Recording,
}

/// What could be seen.
pub(crate) struct Seen {
    /// What came of each prompt: the model's answer, or what a mod says in its place.
    pub(crate) came: Vec<String>,
    /// What happened, a line an event.
    pub(crate) events: Vec<String>,
    /// What the model was sent, call by call.
    pub(crate) requests: Vec<ModelRequest>,
    /// The conversation at the end, a line a message.
    pub(crate) conversation: Vec<String>,
    /// Questions and entries on the screen.
    pub(crate) shown: Vec<String>,
    /// The status line when the session had begun, and each time that it was to be painted again.
    pub(crate) statuses: Vec<Vec<String>>,
    /// The status line when all prompts were done.
    pub(crate) status: Vec<String>,
    /// The lines above the editor when all prompts were done.
    pub(crate) widgets: Vec<String>,
    /// What each mod registered.
    pub(crate) registered: Vec<Registered>,
}

impl Default for Scene<'_> {
    fn default() -> Self {
        Self {
            mods: &[],
            options: &[],
            turns: json!([]),
            prompts: &["go"],
            allow: &[],
            parallel: false,
            compacts_from: None,
            alone: false,
            record: Recording::InMemory,
        }
    }
}

impl Scene<'_> {
    /// Plays it in folders of its own.
    pub(crate) async fn play(self) -> Seen {
        self.play_in(&Folders::new()).await
    }

    /// Plays it to the end of the session.
    pub(crate) async fn play_in(self, folders: &Folders) -> Seen {
        let (screen, kept) = (Arc::<Screen>::default(), Arc::new(Kept::new()));
        let harness = self.start(folders, &screen, &kept).await;
        screen.watch(harness.mods());
        let (mut came, mut messages, cancel) = (Vec::new(), Vec::new(), CancellationToken::new());
        for prompt in self.prompts {
            came.push(match harness.prompt(prompt, &cancel).await {
                Prompted::Ran(outcome) => {
                    messages = outcome.state.messages.to_vec();
                    outcome.result.final_text.clone()
                }
                Prompted::Handled { message } => message.unwrap_or_default(),
                Prompted::Failed => "failed".to_owned(),
            });
        }
        let mods = Arc::clone(harness.mods());
        let (status, widgets) = (mods.status_line(), mods.widgets(Placement::AboveEditor));
        // The first-party ones stand ahead.
        let registered =
            mods.mods().into_iter().rev().take(self.mods.len()).map(|(_, it)| it).rev().collect();
        harness.end(SessionEndReason::Shutdown).await;
        let (events, requests) = kept.take();
        Seen {
            came,
            events,
            requests,
            conversation: told(&messages),
            shown: screen.shown(),
            statuses: screen.statuses(),
            status,
            widgets,
            registered,
        }
    }

    async fn start(&self, folders: &Folders, screen: &Arc<Screen>, kept: &Arc<Kept>) -> Harness {
        let scenario = folders.scenario(&json!({ "turns": self.turns }));
        let execution = if self.parallel { ToolExecution::Parallel } else { ToolExecution::Sequential };
        let events = Arc::clone(kept);
        let builder = Harness::builder()
            .places(folders.places())
            .settings(Settings {
                tool_execution: Some(execution),
                compaction: Compaction { threshold_tokens: self.compacts_from },
                ..Settings::default()
            })
            .rules(self.allow.iter().map(ToString::to_string).collect(), Vec::new())
            .provider(Arc::clone(kept) as _)
            .model(Some(scenario.replacen("scripted", Kept::ID, 1)))
            .record(self.record.clone())
            .tool(Arc::new(Echo::new()))
            .mods(self.mods.iter().map(|name| library(name)))
            .mod_options(self.options.iter().map(|(name, value)| (name.to_string(), value.to_string())))
            .sink(Arc::new(move |event: &AgentEvent| events.events.lock().unwrap().push(line(event))));
        let builder = if self.alone { builder } else { builder.ui(Arc::clone(screen) as _) };
        let harness = builder.start().await.unwrap();
        assert_eq!(harness.warnings().len(), 0, "{:?}", harness.warnings());
        harness
    }
}

impl Seen {
    /// Notices and faults.
    pub(crate) fn told(&self) -> Vec<&str> {
        self.only(&["notice", "mod_error", "run_error"])
    }

    /// The events of these kinds.
    pub(crate) fn only(&self, kinds: &[&str]) -> Vec<&str> {
        only(&self.events, kinds)
    }

    /// The messages of one call of the model, a line each.
    pub(crate) fn sent(&self, call: usize) -> Vec<String> {
        told(&self.requests[call].messages)
    }
}

/// A model that plays a scenario and keeps what it was sent; and what happened.
struct Kept {
    scripted: Scripted,
    requests: Mutex<Vec<ModelRequest>>,
    events: Mutex<Vec<String>>,
}

impl Kept {
    const ID: &str = "kept";

    fn new() -> Self {
        Self {
            scripted: Scripted::new(std::path::Path::new("/")),
            requests: Mutex::default(),
            events: Mutex::default(),
        }
    }

    fn take(&self) -> (Vec<String>, Vec<ModelRequest>) {
        let (mut events, mut requests) = (self.events.lock().unwrap(), self.requests.lock().unwrap());
        (std::mem::take(&mut events), std::mem::take(&mut requests))
    }
}

impl Provider for Kept {
    fn id(&self) -> &str {
        Self::ID
    }

    fn stream(&self, request: ModelRequest) -> ModelStream {
        self.requests.lock().unwrap().push(request.clone());
        self.scripted.stream(request)
    }
}

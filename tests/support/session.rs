//! A session of the library in a folder of its own, driven by a scripted model, every event kept.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use host::{
    harness::{Harness, HarnessBuilder, Prompted},
    settings::{Places, Settings},
};
use mod_interface::types::{AgentEvent, EventPayload, RunResult, SessionEndReason};
use serde_json::Value;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// The shared library of a mod that cargo built beside this test.
pub(crate) fn library(name: &str) -> PathBuf {
    let file =
        format!("{}{}{}", std::env::consts::DLL_PREFIX, name.replace('-', "_"), std::env::consts::DLL_SUFFIX);
    let path = std::env::current_exe().unwrap().with_file_name(&file);
    assert!(path.exists(), "cargo builds the mods as dev-dependencies: {}", path.display());
    path
}

/// A home and a workspace of their own.
pub(crate) struct Folders {
    dir: TempDir,
}

impl Folders {
    pub(crate) fn new() -> Self {
        let dir = TempDir::new().unwrap();
        fs::create_dir_all(dir.path().join("home")).unwrap();
        fs::create_dir_all(dir.path().join("work")).unwrap();
        Self { dir }
    }

    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    pub(crate) fn places(&self) -> Places {
        Places::new(self.work(), Some(self.home()), None).unwrap()
    }

    /// Writes a scenario, and gives the model's name that plays it.
    pub(crate) fn scenario(&self, scenario: &Value) -> String {
        let path = self.dir.path().join("scenario.json");
        fs::write(&path, scenario.to_string()).unwrap();
        format!("scripted/{}", path.display())
    }
}

/// What a session did.
pub(crate) struct Record {
    pub(crate) events: Vec<AgentEvent>,
    pub(crate) result: Option<RunResult>,
    pub(crate) warnings: Vec<String>,
}

impl Record {
    /// The events, one line each: the kind, and what tells it apart.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.events.iter().map(|event| line(&event.payload)).collect()
    }
}

fn line(event: &EventPayload) -> String {
    let kind = event.kind().as_str();
    match event {
        EventPayload::ToolQueued { tool_name, .. }
        | EventPayload::ToolRunning { tool_name, .. }
        | EventPayload::ToolCompleted { tool_name, .. }
        | EventPayload::ToolErrored { tool_name, .. }
        | EventPayload::ToolHookBlocked { tool_name, .. }
        | EventPayload::ToolDenied { tool_name, .. } => format!("{kind} {tool_name}"),
        EventPayload::Notice { message, .. } => format!("{kind} {message}"),
        EventPayload::ModError { mod_id, hook, .. } => format!("{kind} {mod_id} {hook}"),
        _ => kind.to_owned(),
    }
}

/// Runs one prompt with what `build` adds, to the end of the session.
pub(crate) async fn play(
    folders: &Folders,
    scenario: &Value,
    build: impl FnOnce(HarnessBuilder) -> HarnessBuilder,
) -> Record {
    let events: Arc<Mutex<Vec<AgentEvent>>> = Arc::default();
    let kept = Arc::clone(&events);
    let builder = Harness::builder()
        .places(folders.places())
        .settings(Settings::default())
        .model(Some(folders.scenario(scenario)))
        .sink(Arc::new(move |event: &AgentEvent| kept.lock().unwrap().push(event.clone())));
    let harness = build(builder).start().await.unwrap();
    let warnings = harness.warnings().iter().map(ToString::to_string).collect();
    let result = match harness.prompt("go", &CancellationToken::new()).await {
        Prompted::Ran(outcome) => Some(outcome.result),
        Prompted::Handled { .. } | Prompted::Failed => None,
    };
    harness.end(SessionEndReason::Shutdown).await;
    let events = events.lock().unwrap().clone();
    Record { events, result, warnings }
}

/// A copy of a library under another name, so that it is another file.
pub(crate) fn copy_to(path: &Path, name: &str, dir: &Path) -> PathBuf {
    let copy = dir.join(name);
    fs::copy(path, &copy).unwrap();
    copy
}

//! A workspace in a temporary folder, to call the built-in tools in.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use mod_interface::types::ToolOutput;
use serde_json::Value;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::{Hidden, Tool, ToolContext, builtin};

pub(super) struct Workspace {
    dir: TempDir,
    pub(super) cancel: CancellationToken,
    pub(super) hidden: Arc<Hidden>,
    pub(super) progress: Arc<Mutex<Vec<String>>>,
}

impl Workspace {
    pub(super) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (cancel, hidden) = (CancellationToken::new(), Arc::new(|_: &Path| false));
        Self { dir, cancel, hidden, progress: Arc::default() }
    }

    /// A workspace with these files.
    pub(super) fn of(files: &[(&str, &str)]) -> Self {
        let workspace = Self::new();
        files.iter().for_each(|(path, content)| workspace.write(path, content));
        workspace
    }

    pub(super) fn root(&self) -> &Path {
        self.dir.path()
    }

    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    pub(super) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(super) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    /// The names in a folder.
    pub(super) fn names(&self, path: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(path)).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    pub(super) fn ctx(&self) -> ToolContext {
        let progress = self.progress.clone();
        ToolContext {
            cwd: self.dir.path().into(),
            cancel: self.cancel.clone(),
            tool_call_id: "call-1".into(),
            agent_id: "main".into(),
            hidden: self.hidden.clone(),
            progress: Arc::new(move |text| progress.lock().unwrap().push(text.to_owned())),
        }
    }

    pub(super) async fn call(&self, tool: &str, input: Value) -> ToolOutput {
        named(tool).run(input, self.ctx()).await
    }

    /// The text of a call that must not fail.
    pub(super) async fn ok(&self, tool: &str, input: Value) -> String {
        let output = self.call(tool, input).await;
        assert!(!output.is_error, "{output:?}");
        output.content[0].as_text().unwrap().to_owned()
    }

    /// The text of a call that must fail.
    pub(super) async fn err(&self, tool: &str, input: Value) -> String {
        let output = self.call(tool, input).await;
        assert!(output.is_error, "{output:?}");
        output.content[0].as_text().unwrap().to_owned()
    }
}

pub(super) fn named(name: &str) -> Arc<dyn Tool> {
    builtin().into_iter().find(|tool| tool.spec().name == name).unwrap()
}

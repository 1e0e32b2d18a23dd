//! The host of a test, before the mod is loaded.

use std::{sync::Arc, time::Duration};

use serde::Serialize;
use serde_json::{Value, json};

use super::{
    Fault, TestMod,
    answers::Answers,
    core::{Core, Limits, Place},
    entry,
    frame::Question,
    record::Record,
};
use crate::sdk::{ExecOutput, ModApi, Result, RuntimeHandle, start};

/// A host that records what a mod does, and answers what the test says.
///
/// What the test says nothing of is answered as where nobody is at the keyboard: `confirm` is `false`, `select`
/// and `input` are `None`; once it answers one of them, somebody is there. Of several answers to one thing each is given once, in order, and the last one
/// stays. A process that the test says nothing of fails with a text that says so: no test starts one.
///
/// ```
/// use mod_interface::{prelude::*, testing::{TestHost, block_on}};
///
/// async fn greeter(cmd: ModApi) -> Result<()> {
///     let name = cmd.ui().input("Who are you?").await?.unwrap_or_else(|| "stranger".to_owned());
///     cmd.ui().notify(&format!("Hello, {name}!"));
///     Ok(())
/// }
///
/// block_on(async {
///     let alone = TestHost::new().load(greeter).await?;
///     assert_eq!(alone.notices(), ["Hello, stranger!"]);
///     let greeted = TestHost::new().input("Ada").load(greeter).await?;
///     assert_eq!(greeted.notices(), ["Hello, Ada!"]);
///     Ok::<_, Error>(())
/// })?;
/// # Ok::<_, Error>(())
/// ```
#[must_use = "a host does nothing until a mod is loaded in it"]
pub struct TestHost {
    place: Place,
    limits: Limits,
    answers: Answers,
    kept: Vec<(String, Value)>,
}

impl Default for TestHost {
    fn default() -> Self {
        Self::new()
    }
}

impl TestHost {
    /// A host that has no answers yet. The mod is called `test`, and works in `/project`.
    pub fn new() -> Self {
        let place =
            Place { name: "test".into(), id: "mod:test".into(), cwd: "/project".into(), session: "s".into() };
        // The host's own.
        let limits = Limits { hook: Duration::from_secs(10), tool: Duration::from_secs(600) };
        Self { place, limits, answers: Answers::default(), kept: Vec::new() }
    }

    /// Calls the mod `name`; its id is `mod:<name>`.
    pub fn name(mut self, name: &str) -> Self {
        self.place.name = name.into();
        self.place.id = format!("mod:{name}").into();
        self
    }

    /// Says that the workspace root is `path`. It need not be there.
    pub fn cwd(mut self, path: &str) -> Self {
        self.place.cwd = path.into();
        self
    }

    /// Gives `--mod-option NAME=VALUE`.
    pub fn option(self, name: &str, value: &str) -> Self {
        self.with(&format!("flag {name}"), Ok(json!(value)))
    }

    /// Answers `confirm`.
    pub fn confirm(self, answer: bool) -> Self {
        self.with("ui.confirm", Ok(json!(answer)))
    }

    /// Answers `select`, with one of the options that the mod offers.
    pub fn select(self, answer: &str) -> Self {
        self.with("ui.select", Ok(json!(answer)))
    }

    /// Answers `input`.
    pub fn input(self, answer: &str) -> Self {
        self.with("ui.input", Ok(json!(answer)))
    }

    /// Says what a process leaves, by its whole command line, the words parted by spaces. A text is what a
    /// process prints that goes well.
    ///
    /// ```
    /// use mod_interface::{prelude::*, testing::TestHost};
    ///
    /// let failed = ExecOutput { stdout: String::new(), stderr: "no repository".into(), code: Some(128) };
    /// let host = TestHost::new().exec("git branch --show-current", "main\n").exec("git status", failed);
    /// ```
    pub fn exec(self, command_line: &str, leaves: impl Into<ExecOutput>) -> Self {
        let ExecOutput { stdout, stderr, code } = leaves.into();
        let left = json!({ "stdout": stdout, "stderr": stderr, "code": code });
        self.with(&format!("exec {command_line}"), Ok(left))
    }

    /// Says that the mod kept this in an earlier run of the session, which goes on.
    pub fn kept(mut self, custom_type: &str, data: Value) -> Self {
        self.kept.push((custom_type.to_owned(), data));
        self
    }

    /// Answers a service by its name on the wire, whatever it is: also one that this version of the harness
    /// knows nothing of. Without it such a service is recorded, and answered with `null`.
    ///
    /// # Panics
    /// `answer` has no JSON form.
    #[expect(clippy::expect_used, reason = "a test that is wrong ends")]
    pub fn answer(self, service: &str, answer: impl Serialize) -> Self {
        self.with(service, Ok(serde_json::to_value(answer).expect("an answer with a JSON form")))
    }

    /// Refuses a service: the mod's call fails with `reason`.
    pub fn refuse(self, service: &str, reason: &str) -> Self {
        self.with(service, Err(reason.to_owned()))
    }

    /// Lets a hook take so much of its own time in place of 10 seconds. It is counted where there is a clock
    /// that can be paused, in tokio: with the feature `runtime`.
    pub fn hook_timeout(mut self, limit: Duration) -> Self {
        self.limits.hook = limit;
        self
    }

    /// Runs the factory, and gives the mod. It is compiled into the test: its code runs in the test's own
    /// runtime, also where `export_mod!` gives it one of its own.
    ///
    /// # Errors
    /// The factory failed or panicked: in `cmd`, the mod would not be loaded.
    pub async fn load<F, Fut>(self, factory: F) -> Result<TestMod, Fault>
    where
        F: FnOnce(ModApi) -> Fut + Send + 'static,
        Fut: Future<Output = Result<()>> + Send + 'static,
    {
        let mut record = Record::new(&self.place.session);
        for (custom_type, data) in self.kept {
            record.keep(&custom_type, data);
        }
        let core = Core::new(self.place, self.limits, self.answers, record);
        let frame = core.frame(Question::Factory).frame().clone();
        entry::load(self.limits.hook, start(frame, factory, RuntimeHandle::none())).await?;
        core.record().bind();
        Ok(TestMod::new(Arc::clone(&core)))
    }

    fn with(mut self, asked: &str, answer: Result<Value, String>) -> Self {
        self.answers.add(asked, answer);
        self
    }
}

impl From<&str> for ExecOutput {
    /// What a process leaves that prints this and goes well.
    fn from(stdout: &str) -> Self {
        Self { stdout: stdout.to_owned(), stderr: String::new(), code: Some(0) }
    }
}

//! A host for tests of this side: it answers with what it was given, and keeps what it was asked.

use std::sync::{Arc, Mutex};

use abi_stable::std_types::{RErr, ROk, RResult, RString};
use async_ffi::FfiFuture;

use super::{Callable, Frame, FrameHost, HookObject, JsonField, NumberField, OwnFrame, TextField};
use crate::types::Message;

/// What a recording host is given, and what it recorded.
#[derive(Default)]
pub(crate) struct Recording {
    /// The messages that it shows.
    pub(crate) messages: Vec<Message>,
    /// What it answers to every service.
    pub(crate) answer: String,
    /// Panics in each of its functions.
    pub(crate) panics: bool,
    /// Services and registrations, with their arguments.
    pub(crate) asked: Mutex<Vec<(String, String)>>,
    /// What was handed over.
    pub(crate) callables: Mutex<Vec<Callable>>,
    /// The same for hooks.
    pub(crate) hooks: Mutex<Vec<HookObject>>,
}

/// The host's side of a frame in tests.
pub(crate) struct TestHost(pub(crate) Arc<Recording>);

impl Recording {
    /// A frame that this stands behind.
    pub(crate) fn frame(self: &Arc<Self>) -> Frame {
        OwnFrame::new(TestHost(Arc::clone(self))).frame().clone()
    }

    fn ask(&self, what: &str, args: &str) -> Result<String, String> {
        assert!(!self.panics, "asked");
        self.asked.lock().unwrap().push((what.to_owned(), args.to_owned()));
        match what {
            "unknown" => Err(format!("no such service: {what}")),
            _ => Ok(self.answer.clone()),
        }
    }

    /// What it was asked since the last time.
    pub(crate) fn take(&self) -> Vec<(String, String)> {
        std::mem::take(&mut *self.asked.lock().unwrap())
    }
}

impl FrameHost for TestHost {
    fn text(&self, field: TextField) -> &str {
        assert!(!self.0.panics, "text");
        match field {
            TextField::ModName => "a-mod",
            TextField::ToolInput => r#"{"path":"p","depth":2}"#,
            TextField::Reason => "max_turns",
            _ => "",
        }
    }

    fn number(&self, field: NumberField) -> u64 {
        assert!(!self.0.panics, "number");
        match field {
            NumberField::MessageCount => self.0.messages.len() as u64,
            NumberField::TurnNumber => u64::MAX,
            _ => 0,
        }
    }

    fn message(&self, index: usize) -> Option<&Message> {
        assert!(!self.0.panics, "message");
        self.0.messages.get(index)
    }

    fn json(&self, field: JsonField, index: usize) -> Option<String> {
        assert!(!self.0.panics, "json");
        match field {
            JsonField::Message => serde_json::to_string(self.0.messages.get(index)?).ok(),
            JsonField::ModState => Some("[1]".to_owned()),
            JsonField::Data => {
                let tool = r#"{"name":"ls","description":"","input_schema":{}}"#;
                Some(format!(r#"{{"model":"m","system":"s","effort":"low","tools":[{tool}]}}"#))
            }
            _ => None,
        }
    }

    fn call_now(&self, service: &str, args: &str) -> Result<String, String> {
        self.0.ask(service, args)
    }

    fn call(&self, service: &str, args: &str) -> FfiFuture<RResult<RString, RString>> {
        let answer = self.0.ask(service, args);
        FfiFuture::new(std::future::ready(
            answer.map_or_else(|error| RErr(error.into()), |answer| ROk(answer.into())),
        ))
    }

    fn add(&self, kind: &str, spec: &str, callable: Callable) -> Result<u64, String> {
        self.0.ask(kind, spec)?;
        self.0.callables.lock().unwrap().push(callable);
        Ok(5)
    }

    fn add_hooks(&self, spec: &str, hooks: HookObject) -> Result<u64, String> {
        self.0.ask("hooks", spec)?;
        self.0.hooks.lock().unwrap().push(hooks);
        Ok(6)
    }
}

/// The output of a future that is ready.
pub(crate) fn ready<F: Future>(future: F) -> F::Output {
    use std::task::{Context, Poll, Waker};
    let mut future = std::pin::pin!(future);
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("it is pending"),
    }
}

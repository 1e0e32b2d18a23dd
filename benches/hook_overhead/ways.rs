//! Mods in a host, and how they are asked.

use std::{
    collections::BTreeMap,
    future::Future,
    hint::black_box,
    path::Path,
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Waker},
    time::Duration,
};

use host::{
    events::Emitter,
    hooks::{HookAnswer, HookHandler, HookInput},
    mod_host::{Code, ModHost, ModHostConfig, Origin, Plan, Planned},
};

use mod_interface::types::EventPayload;
use tokio::runtime::Runtime;

/// What kind of closure the hook is.
#[derive(Clone, Copy)]
pub(crate) enum Form {
    /// A plain one.
    Sync,
    /// An async one that is ready at once.
    Ready,
    /// An async one that is pending at its first poll.
    Pending,
    /// An async one that is pending at its first two polls: the second one's has a waker and a deadline.
    Waiting,
}

impl Form {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Sync => "sync",
            Self::Ready => "ready",
            Self::Pending => "pending",
            Self::Waiting => "waiting",
        }
    }
}

/// The library of that name which cargo built beside this benchmark.
pub(crate) fn library(name: &str) -> Code {
    let file = format!("{}{name}{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    Code::Library { path: std::env::current_exe().unwrap_or_default().with_file_name(file), expected: None }
}

/// A host with the mod, which registers its hook so many times.
pub(crate) async fn load(code: Code, job: &str, form: Form, times: usize) -> ModHost {
    let times = times.to_string();
    let options = [("job", job), ("form", form.name()), ("times", &*times)];
    let options = options.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let limit = Duration::from_secs(10);
    let host = ModHost::new(ModHostConfig {
        options: BTreeMap::from(options),
        hook_timeout: Some(limit),
        ..ModHostConfig::alone(Path::new("/"), limit)
    });
    let plan = Plan { mods: vec![Planned { origin: Origin::BuiltIn, code }], ..Plan::default() };
    let loaded = host.load(plan, |_| false).await;
    assert!(loaded.is_ok_and(|loaded| loaded.warnings.is_empty()), "the mod loads");
    host
}

/// A host with the library, which registers that job so many times.
pub(crate) fn mods(runtime: &Runtime, job: &str, form: Form, times: usize) -> ModHost {
    runtime.block_on(load(library("overhead"), job, form, times))
}

/// Raises the event that comes most often.
pub(crate) fn emit(emitter: &Emitter) {
    emitter.emit(EventPayload::TextDelta { delta: black_box("a piece of text").to_owned() });
}

/// Asks one handler after another, as a run does.
pub(crate) fn ask(
    handlers: &[Arc<dyn HookHandler>],
    shown: &mut Option<Arc<HookInput>>,
    input: &Arc<HookInput>,
) {
    for handler in handlers {
        let ask = shown.take().unwrap_or_else(|| Arc::clone(input));
        let mut answered = handler.call(black_box(ask));
        *shown = answered.1.take();
        match &mut answered.0 {
            HookAnswer::Ready(answer) => look_at(answer),
            HookAnswer::Pending(answer) => look_at(&finish(answer)),
        }
    }
}

/// Polls a future to its end: an executor would cost more than what is measured.
pub(crate) fn finish<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return output;
        }
    }
}

/// Uses an answer where it is: to move it would be measured too.
pub(crate) fn look_at<T>(answer: &T) {
    black_box(answer);
}

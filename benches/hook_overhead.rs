//! What one `before_tool_call` costs: the same job (look at the tool's name, no opinion) as a plain call
//! through a trait object, as a boxed future behind a trait (the usual way to write a plugin in Rust), and
//! as a mod, compiled in and as a shared library, with guard, journal, adapter and deadline in place.
//!
//! `cargo bench --bench hook_overhead` prints times; the ratios to the boxed future are what counts.

use std::{
    collections::BTreeMap,
    hint::black_box,
    path::{Path, PathBuf},
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll, Waker},
};

use criterion::{Criterion, criterion_group, criterion_main};
use host::{
    events::EventBus,
    hooks::{HookAnswer, HookInput, Mods, Scope, Subject, ToolCallInput},
    mod_host::{Code, ModHost, ModHostConfig, Origin, Plan, Planned},
};
use mod_interface::{
    builtin_mod,
    types::{AgentState, BeforeToolCall, Hook, Message},
};
use tokio_util::sync::CancellationToken;

/// The job behind a trait, without any host.
trait Plain: Send + Sync {
    fn before_tool_call(&self, input: &HookInput) -> Option<BeforeToolCall>;
}

/// The job as a plugin trait has it.
trait Boxed: Send + Sync {
    fn before_tool_call<'a>(
        &'a self,
        input: &'a HookInput,
    ) -> Pin<Box<dyn Future<Output = Result<Option<BeforeToolCall>, String>> + Send + 'a>>;
}

struct Job;

impl Job {
    fn judge(input: &HookInput) -> Option<BeforeToolCall> {
        match &input.subject {
            Subject::ToolCall(call) if &*call.name == overhead::NEVER => Some(BeforeToolCall::block("never")),
            _ => None,
        }
    }
}

impl Plain for Job {
    fn before_tool_call(&self, input: &HookInput) -> Option<BeforeToolCall> {
        Self::judge(input)
    }
}

impl Boxed for Job {
    fn before_tool_call<'a>(
        &'a self,
        input: &'a HookInput,
    ) -> Pin<Box<dyn Future<Output = Result<Option<BeforeToolCall>, String>> + Send + 'a>> {
        Box::pin(async move { Ok(Self::judge(input)) })
    }
}

fn input(messages: usize) -> Arc<HookInput> {
    let mut state = AgentState::new("bench");
    let message = Arc::new(Message::user("a message of some length, as they are"));
    (0..messages).for_each(|_| state.push(Arc::clone(&message)));
    Arc::new(HookInput {
        hook: Hook::BeforeToolCall,
        scope: Arc::new(Scope {
            emitter: EventBus::new().main(),
            cancel: CancellationToken::new(),
            cwd: Path::new("/").into(),
        }),
        turn_number: 1,
        state,
        subject: Subject::ToolCall(ToolCallInput {
            id: "call_1".into(),
            name: "shell_command".into(),
            input: Arc::new(serde_json::json!({ "command": "ls" })),
        }),
    })
}

/// The library that cargo built beside this benchmark.
fn library() -> PathBuf {
    let file = format!("{}overhead{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    std::env::current_exe().unwrap_or_default().with_file_name(file)
}

fn host(runtime: &tokio::runtime::Runtime, form: &str, code: Code) -> ModHost {
    runtime.block_on(async {
        let host = ModHost::new(ModHostConfig {
            options: BTreeMap::from([("form".to_owned(), form.to_owned())]),
            hook_timeout: Some(std::time::Duration::from_secs(10)),
            ..ModHostConfig::alone(Path::new("/"), std::time::Duration::from_secs(10))
        });
        let plan = Plan { mods: vec![Planned { origin: Origin::BuiltIn, code }], ..Plan::default() };
        let loaded = host.load(plan, |_| false).await;
        assert!(loaded.is_ok_and(|loaded| loaded.warnings.is_empty()), "the mod loads");
        host
    })
}

/// Polls a future to its end: an executor would cost more than what is measured.
fn finish<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return output;
        }
    }
}

/// Uses an answer where it is: to move it would be measured too.
fn look_at<T>(answer: &T) {
    black_box(answer);
}

#[expect(clippy::print_stderr, reason = "a benchmark has nobody else to tell")]
fn hook_overhead(criterion: &mut Criterion) {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return eprintln!("no runtime: {error}"),
    };
    // A pending answer has a timer.
    let _timers = runtime.enter();
    for messages in [10, 100_000] {
        let mut group = criterion.benchmark_group(format!("before_tool_call/{messages}"));
        let input = input(messages);
        let plain: Box<dyn Plain> = Box::new(Job);
        group.bench_function("a plain call", |bench| {
            bench.iter(|| look_at(&plain.before_tool_call(black_box(&input))));
        });
        let boxed: Box<dyn Boxed> = Box::new(Job);
        group.bench_function("b boxed future", |bench| {
            bench.iter(|| look_at(&finish(boxed.before_tool_call(black_box(&input)))));
        });
        for form in ["sync", "ready", "pending"] {
            let built_in =
                Code::BuiltIn { name: "overhead", root: builtin_mod!("overhead", overhead::overhead) };
            let shared = Code::Library { path: library(), expected: None };
            for (name, code) in [("c compiled in", built_in), ("d shared library", shared)] {
                let host = host(&runtime, form, code);
                let handlers = host.handlers();
                let handler = &handlers.of(Hook::BeforeToolCall)[0];
                group.bench_function(format!("{name}, {form}"), |bench| {
                    let mut shown = None;
                    bench.iter(|| {
                        let ask = shown.take().unwrap_or_else(|| Arc::clone(&input));
                        let mut answered = handler.call(black_box(ask));
                        shown = answered.1.take();
                        match &mut answered.0 {
                            HookAnswer::Ready(answer) => look_at(answer),
                            HookAnswer::Pending(answer) => look_at(&finish(answer)),
                        }
                    });
                });
            }
        }
        group.finish();
    }
}

criterion_group!(benches, hook_overhead);
criterion_main!(benches);

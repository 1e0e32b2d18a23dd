//! What a hook costs in WebAssembly, as plugin hosts have it: what is asked is written into the plugin's memory as
//! text, the plugin has a deadline (an epoch), and what it says is read back. The jobs and the data are those of
//! `benches/hook_overhead`, and so is what they are compared with: the job as a boxed future behind a trait.

use std::{
    future::Future,
    hint::black_box,
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll, Waker},
    time::{Duration, Instant},
};

use serde::Deserialize;
use serde_json::{Value, json};
use wasmtime::{Config, Engine, Error, Instance, Memory, Module, Result, Store, TypedFunc};

const NEVER: &str = "a_tool_that_is_never_called";
const NAME: &str = "shell_command";

/// How often each row is measured, and for how long each time.
const SAMPLES: usize = 50;
const SAMPLE: Duration = Duration::from_millis(8);

fn main() -> Result<()> {
    let mut plugin = Plugin::load()?;
    table(
        "before_tool_call, tool name",
        || block(NAME == black_box(NEVER)),
        || plugin.ask("name", black_box(NAME.as_bytes())).map(|blocked| blocked == 1),
    )?;
    let input = Arc::new(shell());
    let shown = Arc::clone(&input);
    table(
        "before_tool_call, typed input",
        move || block(typed(&shown)),
        || plugin.ask("typed", &serde_json::to_vec(&*input)?).map(|blocked| blocked == 1),
    )?;
    table(
        "before_tool_call, rewrite",
        || Some(rewritten()),
        || plugin.rewrite(&serde_json::to_vec(&*input)?),
    )?;
    for count in [10, 1_000] {
        let messages = Arc::new(messages(count));
        let shown = Arc::clone(&messages);
        let last = move || block(shown.last().is_some_and(|message| message["role"] == "assistant"));
        table(&format!("transform_context, no change, {count} messages"), last, || {
            plugin.ask("last_message", &serde_json::to_vec(&*messages)?).map(|blocked| blocked == 1)
        })?;
    }
    Ok(())
}

/// Measures a job as a boxed future and in WebAssembly, and prints both.
fn table<T>(
    name: &str,
    work: impl Fn() -> Option<Value> + Send + Sync,
    mut plugin: impl FnMut() -> Result<T>,
) -> Result<()> {
    let job: Box<dyn Boxed> = Box::new(Work(work));
    // Once for the error; the measured ones are the same.
    plugin()?;
    let boxed = median(|| drop(black_box(finish(black_box(&job).call()))));
    let wasm = median(|| drop(black_box(plugin())));
    println!("{name:<46} {:>12}  {:>9}", "median", "x boxed");
    for (way, took) in [("c boxed future", boxed), ("g wasm module, wasmtime", wasm)] {
        println!("  {way:<44} {:>9.1} ns  {:>9.2}", took, took / boxed);
    }
    println!();
    Ok(())
}

/// A job as a plugin trait has it.
trait Boxed: Send + Sync {
    fn call<'a>(&'a self) -> Pin<Box<dyn Future<Output = Result<Option<Value>, String>> + Send + 'a>>;
}

struct Work<F>(F);

impl<F: Fn() -> Option<Value> + Send + Sync> Boxed for Work<F> {
    fn call<'a>(&'a self) -> Pin<Box<dyn Future<Output = Result<Option<Value>, String>> + Send + 'a>> {
        Box::pin(async move { Ok((self.0)()) })
    }
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

/// The median of what one call takes, in nanoseconds.
fn median(mut call: impl FnMut()) -> f64 {
    let began = Instant::now();
    let mut calls = 0_u32;
    while began.elapsed() < SAMPLE {
        call();
        calls += 1;
    }
    let mut samples = Vec::new();
    for _ in 0..SAMPLES {
        let began = Instant::now();
        (0..calls).for_each(|_| call());
        samples.push(began.elapsed().as_nanos() as f64 / f64::from(calls));
    }
    samples.sort_by(f64::total_cmp);
    samples[SAMPLES / 2]
}

/// The guest, and the ways into it.
struct Plugin {
    store: Store<()>,
    memory: Memory,
    room: TypedFunc<u32, u32>,
    name: TypedFunc<(u32, u32), u32>,
    typed: TypedFunc<(u32, u32), u32>,
    last_message: TypedFunc<(u32, u32), u32>,
    rewrite: TypedFunc<(u32, u32), u64>,
    read: TypedFunc<(u32, u32), ()>,
}

impl Plugin {
    fn load() -> Result<Self> {
        let mut config = Config::new();
        config.epoch_interruption(true);
        let engine = Engine::new(&config)?;
        let module = Module::new(&engine, std::fs::read(env!("GUEST"))?)?;
        let mut store = Store::new(&engine, ());
        store.set_epoch_deadline(1);
        let instance = Instance::new(&mut store, &module, &[])?;
        let memory = instance.get_memory(&mut store, "memory").ok_or_else(|| Error::msg("no memory"))?;
        Ok(Self {
            room: instance.get_typed_func(&mut store, "room")?,
            name: instance.get_typed_func(&mut store, "name")?,
            typed: instance.get_typed_func(&mut store, "typed")?,
            last_message: instance.get_typed_func(&mut store, "last_message")?,
            rewrite: instance.get_typed_func(&mut store, "rewrite")?,
            read: instance.get_typed_func(&mut store, "read")?,
            store,
            memory,
        })
    }

    /// Writes what is asked into the guest's memory.
    fn write(&mut self, asked: &[u8]) -> Result<(u32, u32)> {
        self.store.set_epoch_deadline(1);
        let length = u32::try_from(asked.len())?;
        let at = self.room.call(&mut self.store, length)?;
        self.memory.write(&mut self.store, at as usize, asked)?;
        Ok((at, length))
    }

    fn ask(&mut self, job: &str, asked: &[u8]) -> Result<u32> {
        let asked = self.write(asked)?;
        let job = match job {
            "name" => &self.name,
            "typed" => &self.typed,
            _ => &self.last_message,
        };
        job.call(&mut self.store, asked)
    }

    fn rewrite(&mut self, asked: &[u8]) -> Result<Value> {
        let asked = self.write(asked)?;
        let said = self.rewrite.call(&mut self.store, asked)?;
        let (at, length) = ((said >> 32) as u32, said as u32);
        let bytes = &self.memory.data(&self.store)[at as usize..][..length as usize];
        let value = serde_json::from_slice(bytes)?;
        self.read.call(&mut self.store, (at, length))?;
        Ok(value)
    }
}

fn block(blocked: bool) -> Option<Value> {
    blocked.then(|| json!("never"))
}

/// The input of a shell command.
#[derive(Deserialize)]
#[allow(dead_code, reason = "parsed, as the mod does")]
struct Shell {
    command: String,
    description: String,
    timeout_ms: u64,
}

fn typed(input: &Value) -> bool {
    Shell::deserialize(input).is_ok_and(|shell| shell.command == NEVER)
}

fn rewritten() -> Value {
    json!({ "command": "a text of some length, as they are" })
}

/// 200 bytes of JSON.
fn shell() -> Value {
    json!({
        "command": "cargo test --workspace --all-features -- --nocapture --test-threads=1 | tee target/tests.log",
        "description": "Runs all the tests of the workspace in order",
        "timeout_ms": 600_000,
    })
}

fn messages(count: usize) -> Vec<Value> {
    let text = json!([{ "type": "text", "text": "a message of some length, as they are" }]);
    (0..count).map(|_| json!({ "role": "user", "content": text })).collect()
}

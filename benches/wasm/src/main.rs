//! What a hook costs in WebAssembly, as plugin hosts have it: what is asked is written into the plugin's memory as
//! text, the plugin has a deadline (an epoch), and what it says is read back. The jobs and the data are those of
//! `benches/hook_overhead`, and so is what they are compared with: the job as a boxed future behind a trait.

mod jobs;
mod plugin;

use std::{
    future::Future,
    hint::black_box,
    pin::{Pin, pin},
    task::{Context, Poll, Waker},
    time::{Duration, Instant},
};

use serde_json::Value;
use wasmtime::Result;

use self::{
    jobs::{Asked, JOBS, Job},
    plugin::{Code, Plugin},
};

/// How many messages the conversation has, and how many plugins have the hook.
const MESSAGES: [usize; 3] = [10, 1_000, 100_000];
const PLUGINS: [usize; 3] = [1, 10, 50];
/// How many messages are sent at most: more would take seconds a call.
const SENT: usize = 100_000;

/// How often each row is measured, and for how long each time.
const SAMPLES: usize = 50;
const SAMPLE: Duration = Duration::from_millis(8);

fn main() -> Result<()> {
    let (code, wanted) = (Code::new()?, std::env::args().nth(1));
    for job in &JOBS {
        for plugins in PLUGINS {
            for messages in MESSAGES {
                let s = if plugins == 1 { "" } else { "s" };
                let name = format!("{}, {messages} messages, {plugins} plugin{s}", job.name);
                if wanted.as_ref().is_none_or(|wanted| name.contains(wanted)) {
                    table(&name, &code, job, &(job.asked)(messages), plugins)?;
                }
            }
        }
    }
    Ok(())
}

/// Measures a job as a boxed future and in WebAssembly, and prints both.
fn table(name: &str, code: &Code, job: &Job, asked: &Asked, count: usize) -> Result<()> {
    if asked.sent() * count > SENT {
        return Ok(());
    }
    let boxed: Box<dyn Boxed> = Box::new(Work(job.work));
    let boxed = median(|| {
        for _ in 0..count {
            drop(black_box(finish(black_box(&boxed).call(black_box(asked)))));
        }
    });
    let load = |_| Plugin::new(code, job.function);
    let mut plugins = (0..count).map(load).collect::<Result<Vec<_>>>()?;
    // Once for the error, and for what it says; the measured ones are the same.
    for plugin in &mut plugins {
        assert_eq!(plugin.ask(&asked.text()?)?, (job.work)(asked), "{name}");
    }
    let wasm = median(|| {
        for plugin in &mut plugins {
            drop(black_box(asked.text().map(|text| plugin.ask(&text))));
        }
    });
    println!("{name:<58} {:>12}  {:>9}", "median", "x boxed");
    for (way, took) in [("c boxed future", boxed), ("g wasm module, wasmtime", wasm)] {
        println!("  {way:<56} {:>12}  {:>9.2}", shown(took), took / boxed);
    }
    println!();
    Ok(())
}

/// A job as a plugin trait has it.
trait Boxed: Send + Sync {
    fn call<'a>(
        &'a self,
        asked: &'a Asked,
    ) -> Pin<Box<dyn Future<Output = Result<Option<Value>, String>> + Send + 'a>>;
}

struct Work(fn(&Asked) -> Option<Value>);

impl Boxed for Work {
    fn call<'a>(
        &'a self,
        asked: &'a Asked,
    ) -> Pin<Box<dyn Future<Output = Result<Option<Value>, String>> + Send + 'a>> {
        Box::pin(async move { Ok((self.0)(asked)) })
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

fn shown(nanos: f64) -> String {
    match nanos {
        nanos if nanos < 1e3 => format!("{nanos:.1} ns"),
        nanos if nanos < 1e6 => format!("{:.2} µs", nanos / 1e3),
        nanos => format!("{:.2} ms", nanos / 1e6),
    }
}

//! What a hook costs: the same jobs on the same data as a plain call through a trait object, as a boxed future
//! behind a trait (the usual way to write a plugin in Rust), as a mod, compiled in and as a shared library, with
//! guard, journal, adapter and deadline in place, and as a program that is asked through pipes, in lines of JSON.
//!
//! `cargo bench --bench hook_overhead` prints times, and at the end a table with their ratios to the boxed future:
//! those count. With `-- --check` it fails when a ratio that is promised is missed, and with `-- --svg FILE` it draws
//! the table. `-- --check --earlier target/criterion` checks what an earlier run measured.
// What a benchmark is for.
#![allow(clippy::print_stdout)]

mod bench;
mod chart;
mod each;
mod jobs;
mod pipes;
mod promises;
mod table;
mod ways;

use std::{process::ExitCode, time::Duration};

use criterion::Criterion;
use host::hooks::Mods;
use mod_interface::types::Hook;
use tokio::runtime::Runtime;

use self::{
    bench::{Bench, Kind},
    jobs::{Job, jobs},
    promises::{FEW, HAS_IT, LACK_IT, MANY, NO_MODS, NOBODY, OBSERVED, ONE, RUNTIME, in_a_run},
    table::Table,
    ways::{Form, emit},
};

/// How many messages the conversation has.
const MESSAGES: [usize; 3] = [FEW, 1_000, MANY];
const FORMS: [Form; 4] = [Form::Sync, Form::Ready, Form::Pending, Form::Waiting];
/// How many mods have the hook.
const MODS: [usize; 3] = [1, 10, 50];
/// How many messages are sent through pipes at most: more would take seconds a call.
const SENT: usize = 100_000;

fn main() -> ExitCode {
    let args: Vec<_> = std::env::args().collect();
    if let Some(at) = args.iter().position(|arg| arg == "--child") {
        let served = args.get(at + 1).map(|job| pipes::serve(job));
        return if matches!(served, Some(Ok(()))) { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    let check = args.iter().any(|arg| arg == "--check");
    let met = match value(&args, "--earlier") {
        Some(folder) => Ok(Table::earlier(folder).keeps_promises()),
        None => measured(&args, check),
    };
    match met {
        Ok(met) if met || !check => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            println!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Options with a value.
const WITH_VALUE: [&str; 2] = ["--svg", "--earlier"];

fn value<'a>(args: &'a [String], option: &str) -> Option<&'a str> {
    args.iter().skip_while(|arg| *arg != option).nth(1).map(|value| &**value)
}

/// What is to be measured, where criterion does not read the arguments itself: what is no option and no value.
fn filter(args: &[String]) -> Option<&str> {
    let mut pairs = args.iter().zip(args.iter().skip(1));
    let is_filter =
        |(before, arg): &(&String, &String)| !arg.starts_with('-') && !WITH_VALUE.contains(&before.as_str());
    pairs.find(is_filter).map(|(_, arg)| &**arg)
}

/// Measures, prints the table, and says whether all promises are kept.
fn measured(args: &[String], check: bool) -> std::io::Result<bool> {
    let svg = value(args, "--svg");
    let mut table = Table::new();
    let mut criterion = Criterion::default()
        .without_plots()
        .output_directory(table.folder())
        .sample_size(50)
        .nresamples(1_000)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(400));
    // It refuses arguments that are not its own.
    if !check && svg.is_none() {
        criterion = criterion.configure_from_args();
    } else if let Some(filter) = filter(args) {
        criterion = criterion.with_filter(filter);
    }
    measure(&mut criterion, &mut table)?;
    criterion.final_summary();
    table.print()?;
    if let Some(file) = svg {
        std::fs::write(file, chart::svg(&table.bars()?))?;
    }
    Ok(table.keeps_promises())
}

fn measure(criterion: &mut Criterion, table: &mut Table) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // A pending answer has a timer.
    let _timers = runtime.enter();
    let jobs = jobs();
    let [first, ..] = &jobs;
    each_hook(criterion, table, &runtime, first);
    observed(criterion, table, &runtime, first);
    own_runtime(criterion, table, &runtime, first);
    for job in &jobs {
        for mods in MODS {
            for messages in MESSAGES {
                all_ways(Bench::new(criterion, table, job, messages, mods), &runtime)?;
            }
        }
    }
    Ok(())
}

fn all_ways(mut bench: Bench<'_>, runtime: &Runtime) -> std::io::Result<()> {
    bench.nothing();
    bench.floor();
    bench.plain();
    for form in [Form::Ready, Form::Pending, Form::Waiting] {
        bench.boxed(form);
    }
    for form in FORMS {
        bench.mods(runtime, form, Kind::CompiledIn);
        bench.mods(runtime, form, Kind::Library);
    }
    if bench.sent() <= SENT {
        bench.piped()?;
    }
    bench.finish();
    Ok(())
}

/// What each hook costs in a run, where a mod has it, and where none does.
fn each_hook(criterion: &mut Criterion, table: &mut Table, runtime: &Runtime, job: &Job) {
    for hook in Hook::ALL {
        let another = if hook == Hook::OnTurnEnd { "name" } else { "turn" };
        for messages in [FEW, MANY] {
            let mut bench = Bench::named(criterion, table, job, messages, in_a_run(hook, messages));
            bench.boxed(Form::Ready);
            for (way, job, mods) in [(NO_MODS, "each", 0), (LACK_IT, another, 50), (HAS_IT, "each", 1)] {
                let host = ways::mods(runtime, job, Form::Sync, mods);
                let has = usize::from(way == HAS_IT);
                assert_eq!(host.handlers().of(hook).len(), has, "{way}: {hook}");
                bench.way(way, each::in_a_run(&host, hook, messages));
            }
            bench.finish();
        }
    }
}

/// What a runtime of the mod's own costs.
fn own_runtime(criterion: &mut Criterion, table: &mut Table, runtime: &Runtime, job: &Job) {
    let mut bench = Bench::named(criterion, table, job, MESSAGES[0], RUNTIME.to_owned());
    bench.boxed(Form::Ready);
    for form in FORMS {
        bench.mods(runtime, form, Kind::Library);
        bench.mods(runtime, form, Kind::WithRuntime);
    }
    bench.finish();
}

/// What the event costs that comes most often.
fn observed(criterion: &mut Criterion, table: &mut Table, runtime: &Runtime, job: &Job) {
    let mut bench = Bench::named(criterion, table, job, MESSAGES[0], OBSERVED.to_owned());
    bench.boxed(Form::Ready);
    for (way, observers) in [(NOBODY, 0), (ONE, 1), ("10 observers", 10)] {
        let host = ways::mods(runtime, "observe", Form::Sync, observers);
        let emitter = host.events();
        bench.way(way, || emit(&emitter));
    }
    bench.finish();
}

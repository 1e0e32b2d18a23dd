//! What a hook costs: the same jobs on the same data as a plain call through a trait object, as a boxed future
//! behind a trait (the usual way to write a plugin in Rust), as a mod, compiled in and as a shared library, with
//! guard, journal, adapter and deadline in place, and as a program that is asked through pipes, in lines of JSON.
//!
//! `cargo bench --bench hook_overhead` prints times, and at the end a table with their ratios to the boxed future:
//! those count. With `-- --check` it fails when a ratio that is promised is missed, and with `-- --svg FILE` it draws
//! the table.
// What a benchmark is for.
#![allow(clippy::print_stdout)]

mod bench;
mod chart;
mod jobs;
mod pipes;
mod promises;
mod table;
mod ways;

use std::{process::ExitCode, time::Duration};

use criterion::Criterion;
use tokio::runtime::Runtime;

use self::{
    bench::{Bench, Kind},
    jobs::{Job, jobs},
    promises::{LACK_IT, LACKING, NO_MODS, NOBODY, OBSERVED, ONE},
    table::Table,
    ways::{Form, emit, in_a_run},
};

/// How many messages the conversation has.
const MESSAGES: [usize; 3] = [10, 1_000, 100_000];
const FORMS: [Form; 4] = [Form::Sync, Form::Ready, Form::Pending, Form::Waiting];
/// More than that is not sent through a pipe: each call would take a second.
const PIPED: usize = 1_000;
/// How many mods have the hook, for the first job.
const MODS: [usize; 2] = [10, 50];

fn main() -> ExitCode {
    let args: Vec<_> = std::env::args().collect();
    if let Some(at) = args.iter().position(|arg| arg == "--child") {
        let served = args.get(at + 1).map(|job| pipes::serve(job));
        return if matches!(served, Some(Ok(()))) { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    let check = args.iter().any(|arg| arg == "--check");
    let svg = args.iter().position(|arg| arg == "--svg");
    let mut table = Table::new();
    let mut criterion = Criterion::default()
        .without_plots()
        .output_directory(table.folder())
        .sample_size(50)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(400));
    // It refuses arguments that are not its own.
    if !check && svg.is_none() {
        criterion = criterion.configure_from_args();
    } else if let Some(filter) = filter(&args) {
        criterion = criterion.with_filter(filter);
    }
    let measured = measure(&mut criterion, &mut table);
    criterion.final_summary();
    let met = measured.and_then(|()| table.print()).and_then(|met| {
        if let Some(file) = svg.and_then(|at| args.get(at + 1)) {
            std::fs::write(file, chart::svg(&table.bars()?))?;
        }
        Ok(met)
    });
    match met {
        Ok(met) if met || !check => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            println!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// What is to be measured, where criterion does not read the arguments itself: what is no option and no file.
fn filter(args: &[String]) -> Option<&str> {
    let pairs = args.iter().zip(args.iter().skip(1));
    pairs.filter(|(before, arg)| !arg.starts_with('-') && *before != "--svg").map(|(_, arg)| &**arg).next()
}

fn measure(criterion: &mut Criterion, table: &mut Table) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // A pending answer has a timer.
    let _timers = runtime.enter();
    let [first, others @ ..] = jobs();
    for messages in MESSAGES {
        let mut bench = Bench::new(criterion, table, &first, messages, 1);
        bench.nothing();
        bench.floor();
        all_ways(&mut bench, &runtime);
        for form in FORMS.into_iter().filter(|_| messages == MESSAGES[0]) {
            bench.mods(&runtime, form, Kind::WithRuntime);
        }
        piped(bench, messages)?;
    }
    for mods in MODS {
        let mut bench = Bench::new(criterion, table, &first, MESSAGES[0], mods);
        bench.boxed(Form::Ready);
        bench.mods(&runtime, Form::Sync, Kind::CompiledIn);
        bench.mods(&runtime, Form::Sync, Kind::Library);
        bench.finish();
    }
    lacking(criterion, table, &runtime, &first);
    observed(criterion, table, &runtime, &first);
    for job in &others {
        for messages in MESSAGES {
            let mut bench = Bench::new(criterion, table, job, messages, 1);
            all_ways(&mut bench, &runtime);
            piped(bench, messages)?;
        }
    }
    Ok(())
}

fn all_ways(bench: &mut Bench<'_>, runtime: &Runtime) {
    bench.plain();
    for form in [Form::Ready, Form::Pending, Form::Waiting] {
        bench.boxed(form);
    }
    for form in FORMS {
        bench.mods(runtime, form, Kind::CompiledIn);
        bench.mods(runtime, form, Kind::Library);
    }
}

fn piped(mut bench: Bench<'_>, messages: usize) -> std::io::Result<()> {
    if messages <= PIPED {
        bench.piped()?;
    }
    bench.finish();
    Ok(())
}

/// What a hook costs that no mod has.
fn lacking(criterion: &mut Criterion, table: &mut Table, runtime: &Runtime, job: &Job) {
    let mut bench = Bench::named(criterion, table, job, MESSAGES[0], LACKING.to_owned());
    bench.boxed(Form::Ready);
    for (way, mods) in [(NO_MODS, 0), (LACK_IT, 50)] {
        bench.way(way, in_a_run(&ways::mods(runtime, "turn", Form::Sync, mods), job.input(MESSAGES[0])));
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

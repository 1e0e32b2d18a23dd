//! What a hook costs: the same jobs on the same data as a plain call through a trait object, as a boxed future
//! behind a trait (the usual way to write a plugin in Rust), as a mod, compiled in and as a shared library, with
//! guard, journal, adapter and deadline in place, and as a program that is asked through pipes, in lines of JSON.
//!
//! `cargo bench --bench hook_overhead` prints times, and at the end a table with their ratios to the boxed future:
//! those count. With `-- --check` it fails when a ratio that is promised is missed.
// What a benchmark is for.
#![allow(clippy::print_stdout)]

mod jobs;
mod pipes;
mod table;
mod ways;

use std::{hint::black_box, process::ExitCode, sync::Arc, time::Duration};

use criterion::{BenchmarkGroup, Criterion, measurement::WallTime};
use host::{
    hooks::{HookInput, Mods},
    mod_host::Code,
};
use mod_interface::builtin_mod;

use self::{
    jobs::{Job, floor, jobs},
    pipes::Child,
    table::{FLOOR, Table},
    ways::{Form, ask, finish, library, load, look_at},
};

/// How many messages the conversation has.
const MESSAGES: [usize; 3] = [10, 1_000, 100_000];
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
    let mut table = Table::new();
    let mut criterion = Criterion::default()
        .without_plots()
        .output_directory(table.folder())
        .sample_size(50)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(400));
    // It refuses arguments that are not its own.
    if !check {
        criterion = criterion.configure_from_args();
    }
    let measured = measure(&mut criterion, &mut table);
    criterion.final_summary();
    let met = measured.and_then(|()| table.print());
    match met {
        Ok(met) if met || !check => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            println!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn measure(criterion: &mut Criterion, table: &mut Table) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // A pending answer has a timer.
    let _timers = runtime.enter();
    for (number, job) in jobs().iter().enumerate() {
        for messages in MESSAGES {
            let mut bench = Bench::new(criterion, table, job, messages, 1);
            if number == 0 {
                bench.nothing();
                bench.floor();
            }
            bench.plain();
            for form in [Form::Ready, Form::Pending, Form::Waiting] {
                bench.boxed(form);
            }
            for form in [Form::Sync, Form::Ready, Form::Pending, Form::Waiting] {
                bench.mods(&runtime, form, true);
                bench.mods(&runtime, form, false);
            }
            if messages <= PIPED {
                bench.piped()?;
            }
            bench.group.finish();
        }
        for mods in MODS.into_iter().filter(|_| number == 0) {
            let mut bench = Bench::new(criterion, table, job, MESSAGES[0], mods);
            bench.boxed(Form::Ready);
            bench.mods(&runtime, Form::Sync, true);
            bench.mods(&runtime, Form::Sync, false);
            bench.group.finish();
        }
    }
    Ok(())
}

/// One job in one conversation: each way is a row.
struct Bench<'a> {
    group: BenchmarkGroup<'a, WallTime>,
    name: String,
    table: &'a mut Table,
    job: &'a Job,
    mods: usize,
    input: Arc<HookInput>,
}

impl<'a> Bench<'a> {
    fn new(
        criterion: &'a mut Criterion,
        table: &'a mut Table,
        job: &'a Job,
        messages: usize,
        mods: usize,
    ) -> Self {
        let name = table::group(job.name, messages, mods);
        let group = criterion.benchmark_group(&name);
        Self { group, name, table, job, mods, input: job.input(messages) }
    }

    fn way(&mut self, way: &str, mut once: impl FnMut()) {
        self.table.expect(&self.name, way);
        self.group.bench_function(way, |bench| bench.iter(&mut once));
    }

    fn nothing(&mut self) {
        let input = Arc::clone(&self.input);
        self.way("a nothing", || look_at(black_box(&input)));
    }

    fn floor(&mut self) {
        let (floor, input) = (floor(), Arc::clone(&self.input));
        self.way(FLOOR, || look_at(&black_box(&floor).call(black_box(&input))));
    }

    fn plain(&mut self) {
        let (job, input) = (self.job, Arc::clone(&self.input));
        self.way("b plain call", || look_at(&black_box(&job.plain).call(black_box(&input))));
    }

    fn boxed(&mut self, form: Form) {
        let (job, input, mods) = (self.job, Arc::clone(&self.input), self.mods);
        self.way(table::boxed(form), || {
            for _ in 0..mods {
                look_at(&finish(black_box(job.boxed(form)).call(black_box(&input))));
            }
        });
    }

    fn mods(&mut self, runtime: &tokio::runtime::Runtime, form: Form, compiled_in: bool) {
        let (way, code) = match compiled_in {
            true => (
                "d compiled in",
                Code::BuiltIn { name: "overhead", root: builtin_mod!("overhead", overhead::overhead) },
            ),
            false => ("e shared library", Code::Library { path: library(), expected: None }),
        };
        let host = runtime.block_on(load(code, self.job.option, form, self.mods));
        let (handlers, input) = (host.handlers(), Arc::clone(&self.input));
        let handlers = handlers.of(self.job.hook);
        assert_eq!(handlers.len(), self.mods, "the mod has its hooks");
        let mut shown = None;
        self.way(&format!("{way}, {}", form.name()), || ask(handlers, &mut shown, &input));
    }

    fn piped(&mut self) -> std::io::Result<()> {
        let mut child = Child::start(self.job.option)?;
        let (job, input) = (self.job, Arc::clone(&self.input));
        // A child that fails answers nothing at once, which would be seen in the table.
        self.way("h child, JSON over pipes", || look_at(&child.ask(job.hook, &input)));
        child.end()
    }
}

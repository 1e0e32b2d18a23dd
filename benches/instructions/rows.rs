//! What is counted: one thing that is done again and again.

use std::{hint::black_box, io};

use host::hooks::Mods;
use mod_interface::types::Hook;

use super::{
    each::in_a_run,
    jobs::{Boxed, Job, Plain, floor, jobs},
    ways::{Form, ask, emit, finish, look_at, mods},
};

/// How many messages the conversation has.
const MESSAGES: usize = 10;

pub(crate) struct Row {
    pub(crate) name: &'static str,
    what: What,
}

#[derive(Clone, Copy)]
enum What {
    /// An indirect call and an atomic.
    Floor,
    /// The job behind a trait.
    Plain,
    /// The job as a boxed future behind a trait.
    Boxed(Form),
    /// The job in a shared library.
    Library(Form),
    /// The hook in a run, with so many registrations of another hook.
    Lacking(usize),
    /// A `text_delta` with so many observers.
    Observed(usize),
}

const fn row(name: &'static str, what: What) -> Row {
    Row { name, what }
}

/// All rows.
pub(crate) const ROWS: [Row; 13] = [
    row("an indirect call and an atomic", What::Floor),
    row("plain call", What::Plain),
    row("boxed future, ready", What::Boxed(Form::Ready)),
    row("boxed future, pending", What::Boxed(Form::Pending)),
    row("boxed future, waiting", What::Boxed(Form::Waiting)),
    row("shared library, sync", What::Library(Form::Sync)),
    row("shared library, ready", What::Library(Form::Ready)),
    row("shared library, pending", What::Library(Form::Pending)),
    row("shared library, waiting", What::Library(Form::Waiting)),
    row("the hook in a run without mods", What::Lacking(0)),
    row("the hook in a run, 50 mods that lack it", What::Lacking(50)),
    row("text_delta, nobody observes", What::Observed(0)),
    row("text_delta, an observer", What::Observed(1)),
];

/// Does what `row` says so often.
pub(crate) fn run(row: &Row, times: u64) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // A pending answer has a timer.
    let _timers = runtime.enter();
    let [job, ..] = jobs();
    match row.what {
        What::Floor => plain(&*floor(), &job, times),
        What::Plain => plain(&*job.plain, &job, times),
        What::Boxed(form) => boxed(job.boxed(form), &job, times),
        What::Library(form) => {
            let host = mods(&runtime, job.option, form, 1);
            let (handlers, input, mut shown) = (host.handlers(), job.input(MESSAGES), None);
            (0..times).for_each(|_| ask(handlers.of(job.hook), &mut shown, &input));
        }
        What::Lacking(count) => {
            let host = mods(&runtime, "turn", Form::Sync, count);
            let mut once = in_a_run(&host, Hook::BeforeToolCall, MESSAGES);
            (0..times).for_each(|_| once());
        }
        What::Observed(count) => {
            let host = mods(&runtime, "observe", Form::Sync, count);
            let emitter = host.events();
            (0..times).for_each(|_| emit(&emitter));
        }
    }
    Ok(())
}

fn plain(plain: &dyn Plain, job: &Job, times: u64) {
    let input = job.input(MESSAGES);
    (0..times).for_each(|_| look_at(&black_box(plain).call(black_box(&input))));
}

fn boxed(boxed: &dyn Boxed, job: &Job, times: u64) {
    let input = job.input(MESSAGES);
    (0..times).for_each(|_| look_at(&finish(black_box(boxed).call(black_box(&input)))));
}

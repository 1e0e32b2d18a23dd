use std::{hint::black_box, sync::Arc};

use criterion::{BenchmarkGroup, Criterion, measurement::WallTime};
use host::{
    hooks::{HookInput, Mods, Subject},
    mod_host::Code,
};
use mod_interface::builtin_mod;
use tokio::runtime::Runtime;

use super::{
    jobs::{Job, Plain, floor},
    pipes::Child,
    promises::group,
    table::{FLOOR, Table, boxed},
    ways::{Form, ask, finish, library, load, look_at},
};

/// How a mod comes.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    CompiledIn,
    Library,
    /// A library with a tokio runtime of its own.
    WithRuntime,
}

/// One job in one conversation: each way is a row.
pub(crate) struct Bench<'a> {
    group: BenchmarkGroup<'a, WallTime>,
    name: String,
    table: &'a mut Table,
    job: &'a Job,
    mods: usize,
    input: Arc<HookInput>,
}

impl<'a> Bench<'a> {
    pub(crate) fn new(
        criterion: &'a mut Criterion,
        table: &'a mut Table,
        job: &'a Job,
        messages: usize,
        mods: usize,
    ) -> Self {
        Self { mods, ..Self::named(criterion, table, job, messages, group(job.name, messages, mods)) }
    }

    pub(crate) fn named(
        criterion: &'a mut Criterion,
        table: &'a mut Table,
        job: &'a Job,
        messages: usize,
        name: String,
    ) -> Self {
        let group = criterion.benchmark_group(&name);
        Self { group, name, table, job, mods: 1, input: job.input(messages) }
    }

    pub(crate) fn way(&mut self, way: &str, mut once: impl FnMut()) {
        self.table.expect(&self.name, way);
        self.group.bench_function(way, |bench| bench.iter(&mut once));
    }

    pub(crate) fn nothing(&mut self) {
        let input = Arc::clone(&self.input);
        self.way("a nothing", || look_at(black_box(&input)));
    }

    pub(crate) fn floor(&mut self) {
        self.plainly(FLOOR, &*floor());
    }

    pub(crate) fn plain(&mut self) {
        self.plainly("b plain call", &*self.job.plain);
    }

    fn plainly(&mut self, way: &str, plain: &dyn Plain) {
        let (input, mods) = (Arc::clone(&self.input), self.mods);
        self.way(way, || {
            for _ in 0..mods {
                look_at(&black_box(plain).call(black_box(&input)));
            }
        });
    }

    pub(crate) fn boxed(&mut self, form: Form) {
        let (job, input, mods) = (self.job, Arc::clone(&self.input), self.mods);
        self.way(boxed(form), || {
            for _ in 0..mods {
                look_at(&finish(black_box(job.boxed(form)).call(black_box(&input))));
            }
        });
    }

    pub(crate) fn mods(&mut self, runtime: &Runtime, form: Form, kind: Kind) {
        let (way, code) = match kind {
            Kind::CompiledIn => (
                "d compiled in",
                Code::BuiltIn { name: "overhead", root: builtin_mod!("overhead", overhead::overhead) },
            ),
            Kind::Library => ("e shared library", library("overhead")),
            Kind::WithRuntime => ("e with a runtime", library("overhead_runtime")),
        };
        let host = runtime.block_on(load(code, self.job.option, form, self.mods));
        let (handlers, input) = (host.handlers(), Arc::clone(&self.input));
        let handlers = handlers.of(self.job.hook);
        assert_eq!(handlers.len(), self.mods, "the mod has its hooks");
        let mut shown = None;
        self.way(&format!("{way}, {}", form.name()), || ask(handlers, &mut shown, &input));
    }

    /// How many messages a call sends to processes.
    pub(crate) fn sent(&self) -> usize {
        match &self.input.subject {
            Subject::Context(messages) => self.mods * messages.len(),
            _ => 0,
        }
    }

    pub(crate) fn piped(&mut self) -> std::io::Result<()> {
        let start = |_| Child::start(self.job.option);
        let mut children = (0..self.mods).map(start).collect::<Result<Vec<_>, _>>()?;
        let (job, input) = (self.job, Arc::clone(&self.input));
        self.way("h child, JSON over pipes", || {
            // A child that fails answers nothing at once, which would be seen in the table.
            children.iter_mut().for_each(|child| look_at(&child.ask(job.hook, &input)));
        });
        children.into_iter().try_for_each(Child::end)
    }

    pub(crate) fn finish(self) {
        self.group.finish();
    }
}

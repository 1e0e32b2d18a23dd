//! What the hooks of mods take: `cmd mods bench`.

mod allocations;
mod chart;
mod child;
mod one;
#[cfg(test)]
mod tests;

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::Context as _;
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use self::child::Children;
use super::{Context, trial::Error};
use crate::{
    cli::{
        args::{BenchArgs, Effort},
        figures::{columns, duration},
        output::{Exit, Report, describe, one_line},
    },
    mod_host::{Beside, Measured, Opened},
    settings,
};

pub(super) use one::one;

/// How often a mod is loaded: the median counts.
const LOADS: usize = 5;

/// Why allocations are not counted.
const UNCOUNTED: &str = "valgrind counts them, and it is not installed";

/// What was found out, and how.
#[derive(Debug, Serialize)]
struct Benched {
    messages: usize,
    iterations: u32,
    /// Whether this program was built with optimization.
    optimized: bool,
    /// Why allocations are not counted, if they are not.
    uncounted: Option<&'static str>,
    mods: Vec<Row>,
}

/// A mod: what it is and what its hooks took, or why it does not load.
#[derive(Debug, Serialize)]
struct Row {
    path: PathBuf,
    #[serde(flatten)]
    opened: Option<Opened>,
    error: Option<String>,
    measured: Vec<HookRow>,
}

/// A hook: what it took, or why that is not known.
#[derive(Debug, Serialize)]
struct HookRow {
    hook: String,
    #[serde(flatten)]
    measured: Option<Measured>,
    /// How many allocations a call takes, of the mod and of the host together, where they were counted.
    allocations: Option<f64>,
    error: Option<String>,
}

impl Context<'_> {
    /// Measures each hook of each mod in a process of its own. It is a failure when a mod does not load or a hook
    /// fails; the others are measured all the same.
    pub(super) async fn bench(&mut self, args: &BenchArgs) -> anyhow::Result<Exit> {
        let places = self.places(&args.common.workspace)?;
        let settings = settings::load(&places)?.merge(false).mods;
        let bench = Bench {
            children: Children { exe: &self.process.exe, cwd: &places.cwd },
            effort: &args.effort,
            load_timeout: settings.load_timeout(),
            hook_timeout: settings.hook_timeout(),
            bar: bar(),
            counts: allocations::can_be_counted().await,
        };
        let mut mods = Vec::new();
        for path in &args.paths {
            mods.push(bench.row(self.typed(path)).await);
        }
        bench.bar.finish_and_clear();
        let (messages, iterations) = (args.effort.messages, args.effort.iterations.get());
        let uncounted = (!bench.counts).then_some(UNCOUNTED);
        let benched = Benched { messages, iterations, optimized: !cfg!(debug_assertions), uncounted, mods };
        self.streams.report(&benched, args.common.json)?;
        if let Some(file) = &args.svg {
            let file = self.typed(file);
            std::fs::write(&file, chart::svg(&benched))
                .with_context(|| format!("cannot write the chart, name another file: {}", file.display()))?;
        }
        Ok(if benched.mods.iter().all(Row::is_well) { Exit::Success } else { Exit::Failure })
    }
}

/// Tells how far it is, on a terminal.
fn bar() -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}, {elapsed}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}

struct Bench<'a> {
    children: Children<'a>,
    effort: &'a Effort,
    load_timeout: Duration,
    hook_timeout: Option<Duration>,
    bar: ProgressBar,
    /// Whether allocations are counted.
    counts: bool,
}

impl Bench<'_> {
    async fn row(&self, path: PathBuf) -> Row {
        self.bar.set_message(format!("loading {}", path.display()));
        let opened = match self.open(&path).await {
            Ok(opened) => opened,
            Err(error) => return Row { path, opened: None, error: Some(told(&error)), measured: Vec::new() },
        };
        let mut measured = Vec::new();
        for hook in &opened.hooks {
            self.bar.set_message(format!("{}: {hook}", opened.name));
            measured.push(self.hook_row(&path, hook).await);
        }
        Row { path, opened: Some(opened), error: None, measured }
    }

    async fn hook_row(&self, path: &Path, hook: &str) -> HookRow {
        let (measured, mut error) = match self.child::<Measured>(path, Some(hook)).await {
            Ok(measured) => (Some(measured), None),
            Err(error) => (None, Some(self.told_of_hook(&error))),
        };
        let mut allocations = None;
        // What fails takes memory for that.
        if self.counts && measured.as_ref().is_some_and(|measured| measured.faults == 0) {
            match allocations::counted(self, path, hook).await {
                Ok(counted) => allocations = Some(counted),
                Err(why) => error = Some(format!("allocations were not counted: {}", told(&why))),
            }
        }
        HookRow { hook: hook.to_owned(), measured, allocations, error }
    }

    /// Loads a mod some times, and takes the median of the times.
    async fn open(&self, path: &Path) -> Result<Opened, Error> {
        let mut opened: Opened = self.child(path, None).await?;
        let mut times = vec![opened.load_ns];
        for _ in 1..LOADS {
            times.push(self.child::<Opened>(path, None).await?.load_ns);
        }
        times.sort_unstable();
        opened.load_ns = times[LOADS / 2];
        Ok(opened)
    }

    async fn child<T: serde::de::DeserializeOwned>(
        &self,
        path: &Path,
        hook: Option<&str>,
    ) -> Result<T, Error> {
        let (args, limit) = one::command(self, hook, self.effort.iterations.get(), 1);
        let name = path.file_name().unwrap_or(path.as_os_str()).display().to_string();
        self.children.ask(&name, path, &args, limit).await
    }

    fn told_of_hook(&self, error: &Error) -> String {
        match error {
            Error::Crashed { status, .. } if status.code() == Some(one::BLOCKED) => {
                let patience = one::patience(self.hook_timeout);
                format!(
                    "a call did not come back within {patience:?}: it blocks, or waits for something outside"
                )
            }
            Error::Crashed { status, .. } => format!("it ended the process: {status}"),
            Error::TimedOut { limit, .. } => format!("its process did not end within {limit:?}"),
            Error::Refused { .. } | Error::NotTried { .. } | Error::Interrupted => told(error),
        }
    }
}

/// Why a mod does not load, without its name: that stands beside it.
fn told(error: &Error) -> String {
    match error {
        Error::Refused { reason, .. } => reason.clone(),
        error => describe(error),
    }
}

impl Row {
    fn is_well(&self) -> bool {
        let failed = |row: &HookRow| row.measured.as_ref().is_none_or(|measured| measured.faults > 0);
        self.error.is_none() && !self.measured.iter().any(failed)
    }
}

impl Report for Benched {
    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        for row in &self.mods {
            match (&row.opened, &row.error) {
                (Some(opened), _) => writeln!(out, "{}", head(opened))?,
                (None, error) => {
                    let error = one_line(error.as_deref().unwrap_or_default());
                    writeln!(out, "{}\n    does not load: {error}", row.path.display())?;
                    continue;
                }
            }
            table(&row.measured).iter().try_for_each(|line| writeln!(out, "    {line}"))?;
            failures(&row.measured).iter().try_for_each(|line| writeln!(out, "    {}", one_line(line)))?;
        }
        let measured =
            || self.mods.iter().flat_map(|row| &row.measured).filter_map(|row| row.measured.as_ref());
        if let Some(clock) = measured().map(|measured| measured.clock_ns).max() {
            self.explanation(out, clock)?;
        }
        if !self.optimized {
            writeln!(
                out,
                "This cmd is built without optimization: only with --release do the figures count."
            )?;
        }
        Ok(())
    }
}

impl Benched {
    /// What the columns are.
    fn explanation(&self, out: &mut dyn Write, clock_ns: u64) -> io::Result<()> {
        let clock = duration(Duration::from_nanos(clock_ns));
        let messages = match self.messages {
            1 => "1 message".to_owned(),
            messages => format!("{messages} messages"),
        };
        writeln!(
            out,
            "With {messages}; EMPTY is the P50 of a compiled-in hook that does nothing, answered alike."
        )?;
        writeln!(out, "Reading the clock, {clock}, is taken off.")?;
        match self.uncounted {
            Some(why) => writeln!(out, "Allocations are not counted: {why}."),
            None => writeln!(out, "ALLOCATIONS are those of a call, of the mod and of cmd together."),
        }
    }
}

fn head(opened: &Opened) -> String {
    let Opened { name, version, size, load_ns, .. } = opened;
    let size = indicatif::DecimalBytes(*size);
    format!("{name} {version}: {size}, loads in {}", duration(Duration::from_nanos(*load_ns)))
}

/// The rows of the hooks that were measured.
fn table(rows: &[HookRow]) -> Vec<String> {
    if rows.is_empty() {
        return vec!["has no hooks".to_owned()];
    }
    let answers = rows.iter().flat_map(answers);
    let cells = answers.map(|(row, answer, beside)| {
        let Beside { calls, took, empty } = beside;
        let [p50, p99, max, empty] =
            [took.p50_ns, took.p99_ns, took.max_ns, empty.p50_ns].map(Duration::from_nanos).map(duration);
        let allocations = row.allocations.map_or_else(|| "-".to_owned(), |counted| format!("{counted:.1}"));
        [row.hook.clone(), answer.to_owned(), calls.to_string(), p50, p99, max, empty, allocations]
    });
    let heads = ["HOOK", "ANSWER", "CALLS", "P50", "P99", "MAX", "EMPTY", "ALLOCATIONS"].map(str::to_owned);
    let cells: Vec<_> = std::iter::once(heads).chain(cells).collect();
    if cells.len() == 1 { Vec::new() } else { columns(&cells, 2) }
}

/// The calls of a hook by how they were answered: those that were answered at once first.
fn answers(row: &HookRow) -> impl Iterator<Item = (&HookRow, &'static str, &Beside)> {
    let measured = row.measured.iter();
    let all = measured.flat_map(|measured| [("ready", &measured.ready), ("pending", &measured.pending)]);
    all.filter_map(move |(answer, beside)| Some((row, answer, beside.as_ref()?)))
}

/// What went wrong, a line each.
fn failures(rows: &[HookRow]) -> Vec<String> {
    let failed = rows.iter().filter_map(|row| match (&row.measured, &row.error) {
        (_, Some(error)) => Some(format!("{}: {error}", row.hook)),
        (Some(Measured { calls, faults, fault: Some(fault), .. }), None) => {
            Some(format!("{} failed {faults} of {calls} times: {fault}", row.hook))
        }
        _ => None,
    });
    failed.collect()
}

//! What the hooks of mods take: `cmd mods bench`.

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
    mod_host::{Measured, Opened},
    settings,
};

pub(super) use one::one;

/// How often a mod is loaded: the median counts.
const LOADS: usize = 5;

/// What was found out, and how.
#[derive(Debug, Serialize)]
struct Benched {
    messages: usize,
    iterations: u32,
    /// Whether this program was built with optimization.
    optimized: bool,
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
        };
        let mut mods = Vec::new();
        for path in &args.paths {
            mods.push(bench.row(self.typed(path)).await);
        }
        bench.bar.finish_and_clear();
        let (messages, iterations) = (args.effort.messages, args.effort.iterations.get());
        let benched = Benched { messages, iterations, optimized: !cfg!(debug_assertions), mods };
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
            let (measured_hook, error) = match self.child(&path, Some(hook)).await {
                Ok(measured) => (Some(measured), None),
                Err(error) => (None, Some(self.told_of_hook(&error))),
            };
            measured.push(HookRow { hook: hook.clone(), measured: measured_hook, error });
        }
        Row { path, opened: Some(opened), error: None, measured }
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
        let (args, limit) = one::command(self, hook);
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
        let clocks = self.mods.iter().flat_map(|row| &row.measured).filter_map(|row| row.measured.as_ref());
        if let Some(clock) = clocks.map(|measured| measured.clock_ns).max() {
            let (messages, clock) = (self.messages, duration(Duration::from_nanos(clock)));
            let messages =
                if messages == 1 { "1 message".to_owned() } else { format!("{messages} messages") };
            writeln!(out, "With {messages}; EMPTY is the P50 of a compiled-in hook that does nothing.")?;
            writeln!(out, "Reading the clock, {clock}, is taken off.")?;
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
    let measured: Vec<_> = rows.iter().filter_map(|row| Some((&row.hook, row.measured.as_ref()?))).collect();
    if measured.is_empty() {
        return Vec::new();
    }
    let heads = ["HOOK", "CALLS", "PENDING", "P50", "P99", "MAX", "EMPTY"].map(str::to_owned);
    let cells = measured.into_iter().map(|(hook, measured)| {
        let Measured { calls, pending, took, empty, .. } = measured;
        let share = 100.0 * f64::from(*pending) / f64::from((*calls).max(1));
        let [p50, p99, max, empty] =
            [took.p50_ns, took.p99_ns, took.max_ns, empty.p50_ns].map(Duration::from_nanos).map(duration);
        [hook.clone(), calls.to_string(), format!("{share:.0} %"), p50, p99, max, empty]
    });
    columns(&std::iter::once(heads).chain(cells).collect::<Vec<_>>(), 1)
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

use std::{
    io::Write,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread,
    time::Duration,
};

use super::Bench;
use crate::{
    builtin,
    cli::{args::BenchOneArgs, output::Exit, process::Process},
    mod_host::{self, BENCH_TIME, BenchConfig},
};

/// How the process ends that measures a hook that blocks.
pub(super) const BLOCKED: i32 = 3;

/// How long a call may take where nothing else says so.
const LONG: Duration = Duration::from_secs(60);

/// How much longer than its limit a call is waited for before it is said to block.
const GRACE: Duration = Duration::from_secs(1);

/// How long a call is waited for that has `limit` of its own time.
pub(super) fn patience(limit: Option<Duration>) -> Duration {
    limit.unwrap_or(LONG) + GRACE
}

/// The arguments of the process that measures `hook`, or the loading, and how long it has. It may take `slower`
/// times as long as a run's.
pub(super) fn command(
    bench: &Bench<'_>,
    hook: Option<&str>,
    iterations: u32,
    slower: u32,
) -> (Vec<String>, Duration) {
    let (effort, load) = (bench.effort, slower * bench.load_timeout);
    let hook_timeout = bench.hook_timeout.map(|limit| slower * limit);
    let mut args = vec!["bench-one".to_owned()];
    let mut add = |name: &str, value: String| args.push(format!("--{name}={value}"));
    add("messages", effort.messages.to_string());
    add("iterations", iterations.to_string());
    add("limit-ms", load.as_millis().to_string());
    effort.mod_options.iter().for_each(|(name, value)| add("mod-option", format!("{name}={value}")));
    if let Some(limit) = hook_timeout {
        add("hook-limit-ms", limit.as_millis().to_string());
    }
    if let Some(hook) = hook {
        add("hook", hook.to_owned());
    }
    // It ends by itself before that, unless it hangs where it cannot.
    (args, 2 * load + BENCH_TIME + 4 * patience(hook_timeout))
}

/// What the child does: measures a hook of a mod, or loads it, and prints what came of it as one line of JSON.
pub(in crate::cli::mods) async fn one(
    out: &mut dyn Write,
    process: &Process,
    args: &BenchOneArgs,
) -> anyhow::Result<Exit> {
    let hook_timeout = args.hook_limit_ms.map(Duration::from_millis);
    let empty = builtin::empty();
    let bench = mod_host::Bench::open(BenchConfig {
        path: process.cwd.join(&args.path),
        cargo_target: process.cargo_target.clone(),
        cwd: process.cwd.clone(),
        empty: empty.ready,
        empty_pending: empty.pending,
        options: args.effort.mod_options.iter().cloned().collect(),
        load_timeout: Duration::from_millis(args.limit_ms),
        hook_timeout,
        messages: args.effort.messages,
        iterations: args.effort.iterations.get(),
    })
    .await?;
    let line = match args.hook {
        None => serde_json::to_string(bench.opened())?,
        Some(hook) => {
            let calls = Arc::new(AtomicU64::new(0));
            end_when_it_blocks(Arc::clone(&calls), patience(hook_timeout))?;
            serde_json::to_string(&bench.measure(hook, &calls).await)?
        }
    };
    writeln!(out, "{line}")?;
    out.flush()?;
    Ok(Exit::Success)
}

/// Ends the process when no call comes back any more.
fn end_when_it_blocks(calls: Arc<AtomicU64>, patience: Duration) -> std::io::Result<()> {
    let watch = move || {
        let mut last = 0;
        loop {
            let now = calls.load(Relaxed);
            if now == last && now > 0 {
                signal_hook::low_level::exit(BLOCKED);
            }
            last = now;
            thread::sleep(patience);
        }
    };
    thread::Builder::new().name("patience".to_owned()).spawn(watch).map(drop)
}

//! What a start with mods costs, by step, for 1, 10 and 100 installed packages; what the steps before any code runs
//! cost against hashing the same bytes, and what `cmd mods list` costs against a start.
//!
//! `cargo bench --bench loading` prints the best times, and compares them with what they may be; with `-- --check` it fails
//! when one is missed. A library is never unloaded, so each load is in a process of its own: this program calls itself.
// What a benchmark is for.
#![allow(clippy::print_stdout)]

use std::{
    error::Error,
    fs,
    hint::black_box,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
    time::{Duration, Instant},
};

use host::{
    mod_host::{Code, LoadSteps, Lookup, ModHost, ModHostConfig, Plan, ProjectMods, host_facts},
    settings::{self, Places},
};
use memchr::memmem;
use registry::{PackArtifact, PackInput, hash_bytes};
use tokio::runtime::Runtime;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// How often each measurement is taken.
const SAMPLES: usize = 11;
/// The library that the mods are made of: they differ in their names.
const NAME: &[u8] = b"numbered-000";
/// As many mods as a start is measured with.
const MODS: usize = 100;

/// The steps of a start, in their order.
const STEPS: [&str; 8] = ["plan", "read", "hash", "checks", "dlopen", "layout", "register", "load"];

/// How long they took: settings, folders, locks and manifests; those of all mods together; and everything from the
/// bytes of the first library to the end of the last factory, in which the steps before dlopen overlap.
type Steps = [Duration; STEPS.len()];

fn main() -> Outcome<ExitCode> {
    let args: Vec<_> = std::env::args().skip(1).collect();
    if let [first, home] = args.as_slice()
        && first == "--start"
    {
        let nanos = start(Path::new(home))?.map(|step| step.as_nanos().to_string());
        println!("{}", nanos.join(" "));
        return Ok(ExitCode::SUCCESS);
    }
    let around = ["process", "no code", "sha256", "parallel", "list", "--static"];
    let heads = ["mods", "MB"].into_iter().chain(STEPS).chain(around);
    println!("{}", heads.map(|head| format!("{head:>9}")).collect::<Vec<_>>().join(" "));
    let mut last = None;
    for count in [1, 10, MODS] {
        let measured = Measured::of(count)?;
        println!("{measured}");
        last = Some(measured);
    }
    let met = last.is_some_and(|measured| measured.compare());
    let strict = args.iter().any(|arg| arg == "--check");
    Ok(if met || !strict { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The best times for a number of mods: what else runs on a machine only adds to them.
struct Measured {
    count: usize,
    bytes: u64,
    steps: Steps,
    /// All that comes before any code of a mod runs: the plan, the bytes, their hashes, what is in them.
    before_code: Duration,
    /// A whole process that starts with the mods and ends.
    process: Duration,
    /// Reading and hashing the same bytes, one file after the other, and on all cores.
    sha256: Duration,
    parallel: Duration,
    /// The program, whole processes.
    list: Duration,
    list_static: Duration,
}

impl Measured {
    fn of(count: usize) -> Outcome<Self> {
        let home = tempfile::tempdir()?;
        install(home.path(), count)?;
        let libraries = libraries(&planned(home.path())?);
        let bytes = libraries.iter().map(|path| Ok(path.metadata()?.len())).sum::<Outcome<u64>>()?;
        let runtime = Runtime::new()?;
        let wrong = runtime.block_on(planned(home.path())?.check());
        if !wrong.is_empty() || libraries.len() != count {
            return Err(format!("a mod is not what was installed: {wrong:?}").into());
        }
        let mut best = Self { count, bytes, ..Self::WORST };
        for _ in 0..SAMPLES {
            let (took, steps) = timed(|| in_a_process(home.path()))?;
            best.process = best.process.min(took);
            best.steps = std::array::from_fn(|step| best.steps[step].min(steps[step]));
            let before_code = || Ok(black_box(runtime.block_on(planned(home.path())?.check())));
            best.before_code = best.before_code.min(timed(before_code)?.0);
            best.sha256 = best.sha256.min(timed(|| hash(&libraries))?.0);
            best.parallel = best.parallel.min(timed(|| hash_in_parallel(&libraries))?.0);
            best.list = best.list.min(timed(|| list(home.path(), &[]))?.0);
            best.list_static = best.list_static.min(timed(|| list(home.path(), &["--static"]))?.0);
        }
        Ok(best)
    }

    const WORST: Self = Self {
        count: 0,
        bytes: 0,
        steps: [Duration::MAX; STEPS.len()],
        before_code: Duration::MAX,
        process: Duration::MAX,
        sha256: Duration::MAX,
        parallel: Duration::MAX,
        list: Duration::MAX,
        list_static: Duration::MAX,
    };

    /// Prints how the figures compare with what they may be; false when one is missed. That holds for a machine that has
    /// its cores to itself.
    fn compare(&self) -> bool {
        let hashed = self.sha256.mul_f64(1.2) + Duration::from_millis(20);
        let count = self.count;
        let rows = [
            ("before any code runs, 1.2 x sha256 + 20 ms", self.before_code, hashed),
            ("mods list --static, 50 ms", self.list_static, Duration::from_millis(50)),
            ("mods list, 1.5 x a process that starts with them", self.list, self.process.mul_f64(1.5)),
        ];
        for (what, took, allowed) in rows {
            let verdict = if took <= allowed { "met" } else { "MISSED" };
            let ratio = took.as_secs_f64() / allowed.as_secs_f64();
            println!("{count} mods: {what}: {took:.1?} of {allowed:.1?} ({ratio:.2}): {verdict}");
        }
        rows.iter().all(|(_, took, allowed)| took <= allowed)
    }
}

impl std::fmt::Display for Measured {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { count, bytes, steps, process, before_code, sha256, parallel, list, list_static } = *self;
        write!(f, "{count:>9} {:>9.1}", bytes as f64 / 1e6)?;
        let around = [process, before_code, sha256, parallel, list, list_static];
        steps.iter().chain(&around).try_for_each(|duration| write!(f, " {:>9}", format!("{duration:.1?}")))
    }
}

/// Installs `count` packages, and names them in the settings.
fn install(home: &Path, count: usize) -> Outcome<()> {
    let built = fs::read(std::env::current_exe()?.with_file_name(format!(
        "{}numbered{}",
        std::env::consts::DLL_PREFIX,
        std::env::consts::DLL_SUFFIX
    )))?;
    let facts = host_facts();
    let mut sources = Vec::new();
    for number in 0..count {
        let name = format!("numbered-{number:03}");
        let mut bytes = built.clone();
        for at in memmem::find_iter(&built, NAME) {
            bytes[at..at + NAME.len()].copy_from_slice(name.as_bytes());
        }
        let path = home.join("library");
        fs::write(&path, bytes)?;
        let archive = registry::pack(&PackInput {
            name,
            package: None,
            version: "0.3.7".parse()?,
            interface: (1, 0),
            description: None,
            license: None,
            artifacts: vec![PackArtifact { target: facts.target.clone(), path, glibc: None }],
            out_dir: home.join("archives"),
        })?;
        sources.push(registry::install_archive(home, &archive, &facts)?.id);
    }
    fs::create_dir(home.join("work"))?;
    let settings = serde_json::json!({ "mods": { "sources": sources } });
    fs::write(home.join("settings.json"), settings.to_string())?;
    Ok(())
}

fn planned(home: &Path) -> Outcome<Plan> {
    let places = Places::new(home.join("work"), Some(home.to_owned()), None)?;
    let settings = settings::load(&places)?.merge(false);
    let lookup = Lookup {
        places: &places,
        settings: &settings.mods,
        host: &host_facts(),
        session: &[],
        project: &ProjectMods::None,
    };
    Ok(lookup.plan())
}

fn libraries(plan: &Plan) -> Vec<PathBuf> {
    let paths = plan.mods.iter().filter_map(|planned| match &planned.code {
        Code::Library { path, .. } => Some(path.clone()),
        Code::BuiltIn { .. } => None,
    });
    paths.collect()
}

fn hash(libraries: &[PathBuf]) -> Outcome<()> {
    for library in libraries {
        black_box(hash_bytes(&fs::read(library)?));
    }
    Ok(())
}

/// The same on all cores: each takes the next file that nobody has.
fn hash_in_parallel(libraries: &[PathBuf]) -> Outcome<()> {
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(library) = libraries.get(next.fetch_add(1, Relaxed)) {
            black_box(hash_bytes(&fs::read(library)?));
        }
        std::io::Result::Ok(())
    };
    let cores = std::thread::available_parallelism()?.get();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        workers
            .into_iter()
            .try_for_each(|worker| worker.join().map_err(|_| "a thread panicked")?.map_err(Into::into))
    })
}

/// `cmd mods list`, as somebody types it.
fn list(home: &Path, args: &[&str]) -> Outcome<()> {
    let mut cmd = Command::new(env!("CARGO_BIN_EXE_cmd"));
    cmd.args(["mods", "list"]).args(args).env("COMMANDCODE_HOME", home).current_dir(home.join("work"));
    let output = cmd.output()?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stdout).into()) }
}

/// A start in this process.
fn start(home: &Path) -> Outcome<Steps> {
    let began = Instant::now();
    let plan = planned(home)?;
    let planned = began.elapsed();
    let runtime = Runtime::new()?;
    let began = Instant::now();
    let loaded = runtime.block_on(async {
        let host = ModHost::new(ModHostConfig::alone(Path::new("/"), Duration::from_secs(10)));
        host.load(plan, |_| false).await
    })?;
    let load = began.elapsed();
    if !loaded.warnings.is_empty() {
        return Err(format!("a mod did not load: {:?}", loaded.warnings).into());
    }
    let LoadSteps { read, hash, checks, dlopen, layout, register } = loaded.steps;
    Ok([planned, read, hash, checks, dlopen, layout, register, load])
}

fn in_a_process(home: &Path) -> Outcome<Steps> {
    let output = Command::new(std::env::current_exe()?).arg("--start").arg(home).output()?;
    let text = String::from_utf8(output.stdout)?;
    let nanos = text.split_whitespace().map(str::parse).collect::<Result<Vec<u64>, _>>()?;
    match Steps::try_from(nanos.into_iter().map(Duration::from_nanos).collect::<Vec<_>>()) {
        Ok(steps) => Ok(steps),
        Err(_) => Err(format!("a start failed: {}", String::from_utf8_lossy(&output.stderr)).into()),
    }
}

fn timed<T>(work: impl Fn() -> Outcome<T>) -> Outcome<(Duration, T)> {
    let began = Instant::now();
    let done = work()?;
    Ok((began.elapsed(), done))
}

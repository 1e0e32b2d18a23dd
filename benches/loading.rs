//! What a start with mods costs, by step, for 1, 10 and 100 installed packages; and what the steps before any code
//! runs cost against hashing the same bytes.
//!
//! `cargo bench --bench loading` prints medians. A library is never unloaded, so each load is in a process of its
//! own: this program calls itself.
// What a benchmark is for.
#![allow(clippy::print_stdout)]

use std::{
    error::Error,
    fs,
    hint::black_box,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use host::{
    mod_host::{Code, Lookup, ModHost, ModHostConfig, Plan, ProjectMods, host_facts},
    settings::{self, Places},
};
use memchr::memmem;
use registry::{PackArtifact, PackInput, hash_bytes};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// How often each measurement is taken.
const SAMPLES: usize = 11;
/// The library that the mods are made of: they differ in their names.
const NAME: &[u8] = b"numbered-000";
/// What the steps before any code runs may cost more than hashing alone.
const ALLOWED: (f64, Duration) = (1.2, Duration::from_millis(20));

/// How long the steps of a start took.
#[derive(Debug, Clone, Copy, Default)]
struct Steps {
    /// Settings, folders, locks, manifests.
    plan: Duration,
    /// Everything from the bytes of a library to its factory's end.
    load: Duration,
}

fn main() -> Outcome<()> {
    let mut args = std::env::args().skip(1);
    if args.next().as_deref() == Some("--start") {
        let home = args.next().ok_or("--start takes a folder")?;
        let Steps { plan, load } = start(Path::new(&home))?;
        println!("{} {}", plan.as_nanos(), load.as_nanos());
        return Ok(());
    }
    println!("{:>5}  {:>10}  {:>10}  {:>10}  {:>10}", "mods", "plan", "hash", "load", "sha256");
    for count in [1, 10, 100] {
        let home = tempfile::tempdir()?;
        install(home.path(), count)?;
        let steps = (0..SAMPLES).map(|_| in_a_process(home.path())).collect::<Outcome<Vec<_>>>()?;
        let plan = median(steps.iter().map(|steps| steps.plan));
        let load = median(steps.iter().map(|steps| steps.load));
        let libraries = libraries(&planned(home.path())?);
        let before_code = median((0..SAMPLES).map(|_| time(|| before_code(home.path()))));
        let sha256 = median((0..SAMPLES).map(|_| time(|| hash(&libraries))));
        println!(
            "{count:>5}  {plan:>10.2?}  {:>10.2?}  {load:>10.2?}  {sha256:>10.2?}",
            before_code.saturating_sub(plan)
        );
        let allowed = sha256.mul_f64(ALLOWED.0) + ALLOWED.1;
        let verdict = if before_code <= allowed { "met" } else { "MISSED" };
        println!("       plan and hashes {before_code:.2?}, allowed {allowed:.2?}: {verdict}");
    }
    Ok(())
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

/// All that is read and hashed before any code of a mod runs.
fn before_code(home: &Path) -> Outcome<()> {
    hash(&libraries(&planned(home)?))
}

fn hash(libraries: &[PathBuf]) -> Outcome<()> {
    for library in libraries {
        black_box(hash_bytes(&fs::read(library)?));
    }
    Ok(())
}

/// A start in this process.
fn start(home: &Path) -> Outcome<Steps> {
    let began = Instant::now();
    let plan = planned(home)?;
    let planned = began.elapsed();
    let runtime = tokio::runtime::Runtime::new()?;
    let began = Instant::now();
    let loaded = runtime.block_on(async {
        let host = ModHost::new(ModHostConfig::alone(Path::new("/"), Duration::from_secs(10)));
        host.load(plan, |_| false).await
    })?;
    let load = began.elapsed();
    if !loaded.warnings.is_empty() {
        return Err(format!("a mod did not load: {:?}", loaded.warnings).into());
    }
    Ok(Steps { plan: planned, load })
}

fn in_a_process(home: &Path) -> Outcome<Steps> {
    let output = Command::new(std::env::current_exe()?).arg("--start").arg(home).output()?;
    let text = String::from_utf8(output.stdout)?;
    let mut nanos = text.split_whitespace().map(str::parse::<u64>);
    match (nanos.next(), nanos.next()) {
        (Some(plan), Some(load)) => {
            Ok(Steps { plan: Duration::from_nanos(plan?), load: Duration::from_nanos(load?) })
        }
        _ => Err(format!("a start failed: {}", String::from_utf8_lossy(&output.stderr)).into()),
    }
}

fn time(work: impl Fn() -> Outcome<()>) -> Duration {
    let began = Instant::now();
    // What fails here failed before, where it was told.
    let _ = black_box(work());
    began.elapsed()
}

fn median(durations: impl Iterator<Item = Duration>) -> Duration {
    let mut durations: Vec<_> = durations.collect();
    durations.sort();
    durations.get(durations.len() / 2).copied().unwrap_or_default()
}

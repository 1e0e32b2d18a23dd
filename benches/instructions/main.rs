//! How many instructions and allocations a call takes, on both sides of a library together, as valgrind counts them:
//! figures that hardly depend on what else the machine does, so that a regression shows.
//!
//! `cargo bench --bench instructions` prints them beside those of the last run. Where there is no valgrind it says so.
//! This program runs itself under valgrind, with few calls and with more: what a call takes is the difference by their
//! number, so that nothing of the start is in it and no marks in the code are needed. That is why no benchmarking
//! library stands here: it would bring a runner that must be installed beside it, in the same version.
// What a benchmark is for.
#![allow(clippy::print_stdout)]

#[path = "../hook_overhead/each.rs"]
mod each;
#[path = "../hook_overhead/jobs.rs"]
#[allow(dead_code, reason = "one of the jobs is counted: nobody asks for its name")]
mod jobs;
mod rows;
#[path = "../hook_overhead/ways.rs"]
mod ways;

use std::{
    collections::BTreeMap,
    error::Error,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use self::rows::{ROWS, Row};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Calls that are over before it is counted, and those that are counted.
const CALLS: [u64; 2] = [200, 1_200];

/// What a call takes.
type Counts = BTreeMap<String, (f64, f64)>;

fn main() -> Outcome<ExitCode> {
    let args: Vec<_> = std::env::args().skip(1).collect();
    if let [first, name, calls] = args.as_slice()
        && first == "--child"
    {
        let row = ROWS.iter().find(|row| row.name == name).ok_or("no such row")?;
        rows::run(row, calls.parse()?)?;
        return Ok(ExitCode::SUCCESS);
    }
    if Command::new("valgrind").arg("--version").output().is_err() {
        println!("skipped: instructions are counted by valgrind, and it is not installed");
        return Ok(ExitCode::SUCCESS);
    }
    let wanted =
        |row: &&Row| args.iter().filter(|arg| !arg.starts_with('-')).all(|arg| row.name.contains(arg));
    let last = last_run();
    let mut counts = last.clone();
    println!(
        "{:<44} {:>12} {:>9} {:>12} {:>9}",
        "a call", "instructions", "last run", "allocations", "last run"
    );
    for row in ROWS.iter().filter(wanted) {
        let (instructions, allocations) = (counted(row, instructions)?, counted(row, allocations)?);
        let (were, allocated) = match last.get(row.name) {
            Some((were, allocated)) => (format!("{were:.0}"), format!("{allocated:.1}")),
            None => Default::default(),
        };
        println!("{:<44} {instructions:>12.0} {were:>9} {allocations:>12.1} {allocated:>9}", row.name);
        counts.insert(row.name.to_owned(), (instructions, allocations));
    }
    fs::write(kept(), serde_json::to_string_pretty(&counts)?)?;
    Ok(ExitCode::SUCCESS)
}

/// Where the counts of the last run are.
fn kept() -> PathBuf {
    let exe = std::env::current_exe().unwrap_or_default();
    exe.ancestors().nth(3).unwrap_or(Path::new("target")).join("instructions.json")
}

fn last_run() -> Counts {
    fs::read_to_string(kept()).ok().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
}

/// What one call takes of what `count` counts.
fn counted(row: &Row, count: impl Fn(&Row, u64) -> Outcome<u64>) -> Outcome<f64> {
    let [few, many] = [count(row, CALLS[0])?, count(row, CALLS[1])?];
    Ok(many.saturating_sub(few) as f64 / (CALLS[1] - CALLS[0]) as f64)
}

fn instructions(row: &Row, calls: u64) -> Outcome<u64> {
    let text = valgrind(row, calls, &["--tool=callgrind".into(), "--callgrind-out-file=/dev/null".into()])?;
    number_after(&text, "Collected : ")
}

/// Those of the libraries too: all of them take their memory from the C library.
fn allocations(row: &Row, calls: u64) -> Outcome<u64> {
    let text = valgrind(row, calls, &["--tool=dhat".into(), "--dhat-out-file=/dev/null".into()])?;
    let total = text.lines().find(|line| line.contains("Total:")).ok_or("no total")?;
    number_after(total, "bytes in ")
}

/// Runs one row under valgrind, and gives what that says.
fn valgrind(row: &Row, calls: u64, tool: &[OsString]) -> Outcome<String> {
    let mut command = Command::new("valgrind");
    command.args(tool).arg(std::env::current_exe()?).args(["--child", row.name, &calls.to_string()]);
    let output = command.output()?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() { Ok(said) } else { Err(format!("{}: {said}", row.name).into()) }
}

fn number_after(text: &str, what: &str) -> Outcome<u64> {
    let at = text.find(what).ok_or_else(|| format!("valgrind did not say `{what}`: {text}"))?;
    let digits = text[at + what.len()..].chars().take_while(|char| char.is_ascii_digit() || *char == ',');
    Ok(digits.filter(char::is_ascii_digit).collect::<String>().parse()?)
}

//! What the record of a session costs: an append to a short one and to one of 100,000 messages, beside a plain write
//! and sync of as many bytes, and the resume of 100,000 entries, its time and its memory.
//!
//! `cargo bench --bench session` prints medians, and compares them with what they may be; with `-- --check` it fails when
//! one is missed. What a resume needs of memory is seen from outside, so each is in a process of its own: this program
//! calls itself.
// What a benchmark is for.
#![allow(clippy::print_stdout)]

use std::{
    error::Error,
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use host::session::{Clock, Session};
use mod_interface::types::{AgentState, ContentBlock, Message, MessageSource, Role};
use serde_json::json;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// How many messages, and how many entries, a long session has.
const LONG: usize = 100_000;
/// How many appends are measured at each length.
const APPENDS: usize = 301;
/// How often a resume is measured.
const RESUMES: usize = 9;
/// How many entries a turn has: two messages and a commit.
const TURN: usize = 3;

fn main() -> Outcome<ExitCode> {
    let args: Vec<_> = std::env::args().skip(1).collect();
    if let [first, file] = args.as_slice()
        && first == "--resume"
    {
        let began = Instant::now();
        let (session, state) = Session::open(Path::new(file), clock())?;
        println!("{} {} {}", began.elapsed().as_nanos(), peak_memory()?, state.messages.len());
        drop(session);
        return Ok(ExitCode::SUCCESS);
    }
    let folder = tempfile::tempdir()?;
    let met = [appends(folder.path())?, resumes(folder.path())?];
    let fails = args.iter().any(|arg| arg == "--check") && met.contains(&false);
    Ok(if fails { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Measures an append at both lengths; false when a promise is missed.
fn appends(folder: &Path) -> Outcome<bool> {
    let mut plain = File::create_new(folder.join("plain"))?;
    let write_and_sync = |bytes: &[u8]| {
        plain.write_all(bytes)?;
        plain.sync_data()
    };
    let [short, long] = [Sessions::of(folder, 0)?, Sessions::of(folder, LONG)?];
    let [short, long] = measured(short, long, write_and_sync)?;
    println!("{:>9} {:>12} {:>12} {:>12}", "messages", "in memory", "in a file", "plain");
    for (messages, took) in [(1, &short), (LONG, &long)] {
        let cells =
            [took.in_memory, took.in_a_file, took.plain].map(|took| format!("{:>12}", format!("{took:.1?}")));
        println!("{messages:>9} {}", cells.join(" "));
    }
    let by = |one: Duration, other: Duration| one.as_secs_f64() / other.as_secs_f64();
    Ok([
        promise("an append in memory, at 100,000 by at 1", by(long.in_memory, short.in_memory), 1.5),
        promise("an append in a file, at 100,000 by at 1", by(long.in_a_file, short.in_a_file), 1.5),
        promise("an append at 100,000, by a plain write and sync", by(long.in_a_file, long.plain), 2.0),
    ]
    .iter()
    .all(|met| *met))
}

/// A session in memory and one in a file, of the same length.
struct Sessions {
    in_memory: (Session, AgentState),
    in_a_file: (Session, AgentState),
}

/// The median of an append to each, and of a plain write and sync of as many bytes.
struct Appended {
    in_memory: Duration,
    in_a_file: Duration,
    plain: Duration,
}

impl Sessions {
    fn of(folder: &Path, messages: usize) -> Outcome<Self> {
        let id: Arc<str> = format!("session-{messages}").into();
        let mut state = AgentState::new(Arc::clone(&id));
        (0..messages).for_each(|number| state.push(message(number)));
        let mut in_memory = Session::in_memory(Arc::clone(&id));
        let mut in_a_file = Session::create(folder, Path::new("/project"), id, clock())?;
        let mut other = AgentState::new(Arc::clone(&state.session_id));
        (0..messages).for_each(|number| other.push(message(number)));
        in_memory.commit(&state)?;
        in_a_file.commit(&other)?;
        Ok(Self { in_memory: (in_memory, state), in_a_file: (in_a_file, other) })
    }
}

/// Measures both in turn, so that what the machine does besides falls on both.
fn measured(
    short: Sessions,
    long: Sessions,
    mut write_and_sync: impl FnMut(&[u8]) -> std::io::Result<()>,
) -> Outcome<[Appended; 2]> {
    let mut both = [short, long];
    let mut took = [const { [const { Vec::new() }; 3] }; 2];
    let bytes = vec![b'x'; serde_json::to_vec(&message(0))?.len() + 200];
    for number in 0..APPENDS {
        for (sessions, took) in both.iter_mut().zip(&mut took) {
            took[0].push(append(&mut sessions.in_memory, number)?);
            took[1].push(append(&mut sessions.in_a_file, number)?);
            let began = Instant::now();
            write_and_sync(&bytes)?;
            took[2].push(began.elapsed());
        }
    }
    Ok(took.map(|took| {
        let [in_memory, in_a_file, plain] = took.map(median);
        Appended { in_memory, in_a_file, plain }
    }))
}

fn append((session, state): &mut (Session, AgentState), number: usize) -> Outcome<Duration> {
    state.push(message(number));
    let began = Instant::now();
    session.commit(state)?;
    Ok(began.elapsed())
}

/// Measures a resume of a tenth and of the whole; false when a promise is missed.
fn resumes(folder: &Path) -> Outcome<bool> {
    println!("{:>9} {:>9} {:>12} {:>12} {:>12}", "entries", "MB", "resume", "read", "memory MB");
    let none = resumed(&recorded(folder, 1)?)?;
    let mut rows = Vec::new();
    for turns in [LONG / TURN / 10, LONG / TURN + 1] {
        let file = recorded(folder, turns)?;
        let size = fs::metadata(&file)?.len() as f64;
        let began = Instant::now();
        let read = fs::read(&file)?.len();
        let read_took = began.elapsed();
        let (took, memory) = resumed(&file)?;
        let memory = memory.saturating_sub(none.1) as f64;
        println!(
            "{:>9} {:>9.1} {:>12} {:>12} {:>12.1}",
            turns * TURN,
            read as f64 / 1e6,
            format!("{took:.1?}"),
            format!("{read_took:.1?}"),
            memory / 1e6
        );
        rows.push((took, memory / size));
    }
    let [short, long] = rows[..] else { return Ok(false) };
    Ok([
        promise("a resume of 100,000 entries, in seconds", long.0.as_secs_f64(), 0.5),
        promise("its memory, by the file's size", long.1, 3.0),
        promise("its memory by the file's size, by that of a tenth", long.1 / short.1, 1.2),
    ]
    .iter()
    .all(|met| *met))
}

/// The median time, and the most memory, of a resume in a process of its own.
fn resumed(file: &Path) -> Outcome<(Duration, u64)> {
    let mut took = Vec::new();
    let mut memory = 0;
    for _ in 0..RESUMES {
        let output = Command::new(std::env::current_exe()?).arg("--resume").arg(file).output()?;
        let text = String::from_utf8(output.stdout)?;
        let numbers = text.split_whitespace().map(str::parse).collect::<Result<Vec<u64>, _>>()?;
        let [nanos, peak, _messages] = numbers[..] else {
            return Err(format!("a resume failed: {}", String::from_utf8_lossy(&output.stderr)).into());
        };
        took.push(Duration::from_nanos(nanos));
        memory = memory.max(peak);
    }
    Ok((median(took), memory))
}

/// Records a session of so many turns.
fn recorded(folder: &Path, turns: usize) -> Outcome<PathBuf> {
    let id: Arc<str> = format!("turns-{turns}").into();
    let mut session = Session::create(folder, Path::new("/project"), Arc::clone(&id), clock())?;
    let path = session.path().ok_or("a session in a file")?.to_owned();
    let mut state = AgentState::new(id);
    // Every turn of a real one is synced. What is measured here is how it is read.
    session.commit(&state)?;
    drop(session);
    let header = fs::read_to_string(&path)?;
    let mut lines = std::io::BufWriter::new(File::create(&path)?);
    lines.write_all(header.as_bytes())?;
    let _ = &mut state;
    let mut id = 0;
    let mut line = |what: serde_json::Value| -> Outcome<()> {
        let parent = (id > 0).then(|| format!("{id:08x}"));
        id += 1;
        let mut entry =
            json!({ "id": format!("{id:08x}"), "parentId": parent, "timestamp": "2026-01-01T00:00:00.000Z" });
        if let (Some(entry), serde_json::Value::Object(what)) = (entry.as_object_mut(), what) {
            entry.extend(what);
        }
        serde_json::to_writer(&mut lines, &entry)?;
        Ok(lines.write_all(b"\n")?)
    };
    for number in 0..turns {
        line(json!({ "type": "message", "message": message(2 * number + 1) }))?;
        line(json!({ "type": "message", "message": message(2 * number + 2) }))?;
        line(json!({ "type": "commit" }))?;
    }
    lines.flush()?;
    Ok(path)
}

/// A message of a session that works: calls with an input, and their results.
fn message(number: usize) -> Message {
    let id = format!("call_{number:08}");
    if number % 2 == 1 {
        let input = json!({ "path": format!("src/module_{number}.rs"), "offset": 10, "limit": 200 });
        let text =
            ContentBlock::text("I look at the module that is named there, before I change what it says.");
        return Message::assistant(vec![
            text,
            ContentBlock::ToolUse { id, name: "read_file".to_owned(), input },
        ]);
    }
    let lines = format!("fn number_{number}() -> u32 {{\n    \"{number}\".len() as u32\n}}\n").repeat(8);
    let result = ContentBlock::ToolResult {
        tool_use_id: id,
        content: vec![ContentBlock::text(lines)],
        is_error: false,
    };
    Message { role: Role::User, content: vec![result], source: MessageSource::ToolResults }
}

fn clock() -> Clock {
    Arc::new(SystemTime::now)
}

/// The most memory that this process has had, in bytes; none where the system does not say it.
fn peak_memory() -> Outcome<u64> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0");
    Ok(peak.trim().trim_end_matches(" kB").parse::<u64>()? * 1024)
}

fn median(mut took: Vec<Duration>) -> Duration {
    took.sort();
    took.get(took.len() / 2).copied().unwrap_or_default()
}

/// Prints how a figure compares with what it may be at most; false when it is missed.
fn promise(what: &str, got: f64, at_most: f64) -> bool {
    let met = got <= at_most;
    println!("{what}, at most {at_most}: {got:.2}: {}", if met { "met" } else { "MISSED" });
    met
}

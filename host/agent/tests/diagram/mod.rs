//! Both order diagrams of the specification, as a reader of logs: every line of every run must stand where they
//! say, and every mod must have been asked where they say.
//!
//! The log is read agent by agent. Lines that a test adds in words of its own are left out.

mod reader;

use std::{collections::VecDeque, sync::Arc};

use mod_interface::types::EventKind;

use self::reader::Reader;
use super::fakes::Scene;
use crate::hooks::Handlers;

impl Scene {
    /// Panics where a line of the log stands in another place than the diagrams say.
    pub(crate) fn follows_the_diagrams(&self) {
        let given = Given {
            mods: self.mods.given.lock().unwrap().clone().into(),
            parallel: self.parallel,
            max_turns: self.max_turns,
            interrupted: self.cancel.is_cancelled(),
        };
        follows(&self.log.lines(), given);
    }
}

/// What the lines are held against.
struct Given {
    /// The mods as the runs asked for them: once a round, and once at the end.
    mods: VecDeque<Arc<Handlers>>,
    parallel: bool,
    /// 0 is without end.
    max_turns: u32,
    interrupted: bool,
}

fn follows(log: &[String], mut given: Given) {
    let of_main = log.iter().map(String::as_str).filter(|line| !line.starts_with('[') && is_told(line));
    for run in runs(of_main) {
        read(run, true, &mut given, log);
    }
    for (id, lines) in subagents(log) {
        inside_of_its_call(&id, log);
        read(lines, false, &mut given, log);
    }
    assert!(given.mods.is_empty(), "mods were asked for too often: {log:#?}");
}

fn read(lines: Vec<&str>, main: bool, given: &mut Given, log: &[String]) {
    let reason = lines.last().and_then(|last| last.strip_prefix("run_end ")?.split(' ').next());
    // The call of a sub-agent that does not end after an interruption is given up, wherever it is.
    let given_up = !main && reason.is_none() && given.interrupted;
    let reason = reason.unwrap_or_default();
    let mut reader = Reader::new(&lines, main, reason, given);
    if let Err(expected) = reader.run() {
        let (at, line) = (reader.at(), reader.line());
        assert!(given_up && at == lines.len(), "line {at}: expected {expected}, got {line:?} in {log:#?}");
    }
}

fn runs<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<Vec<&'a str>> {
    let mut runs: Vec<Vec<&str>> = Vec::new();
    for line in lines {
        match runs.last_mut() {
            Some(run) if !line.starts_with("run_start") => run.push(line),
            _ => runs.push(vec![line]),
        }
    }
    runs
}

/// Whether the agent tells this line, and not the test.
fn is_told(line: &str) -> bool {
    let kind = line.split(' ').next().unwrap_or_default();
    let event = EventKind::ALL.iter().any(|event| event.as_str() == kind);
    // Whoever changes the mode tells it at once.
    (event && kind != "permission_mode_changed") || ["◆", "commit", "ask"].contains(&kind)
}

/// The sub-agents in the order in which they begin, by the ids of their calls, and the lines of each.
fn subagents(log: &[String]) -> Vec<(String, Vec<&str>)> {
    let mut all: Vec<(String, Vec<&str>)> = Vec::new();
    for line in log {
        let Some((id, line)) = line.strip_prefix("[agent:").and_then(|line| line.split_once("] ")) else {
            continue;
        };
        if !is_told(line) {
            continue;
        }
        match all.iter_mut().find(|(it, _)| it == id) {
            Some((_, lines)) => lines.push(line),
            None => all.push((id.to_owned(), vec![line])),
        }
    }
    all
}

/// Holds the place of all that is told of a sub-agent, and by it, against its call's.
fn inside_of_its_call(id: &str, log: &[String]) {
    let place = |line: String| {
        let found = log.iter().position(|it| begins(it, &line));
        found.unwrap_or_else(|| panic!("no {line} in {log:#?}"))
    };
    let ends = log.iter().position(|line| {
        ["tool_completed", "tool_errored"].iter().any(|kind| begins(line, &format!("{kind} {id}")))
    });
    let (start, stop) = (place(format!("subagent_start {id}")), place(format!("subagent_stop {id}")));
    let own = format!("[agent:{id}] ");
    let queued = format!("{own}tool_queued ");
    let around = |line: &&String| line.starts_with(&own);
    let inside = log[start..stop].iter().filter(around).count();
    assert!(place(format!("tool_running {id}")) < start && ends.is_some_and(|end| stop < end), "{log:#?}");
    assert_eq!(inside, log.iter().filter(around).count(), "outside of {start}..{stop}: {log:#?}");
    for (at, line) in log.iter().enumerate() {
        let progress = format!("subagent_progress {id}");
        let told = log.get(at + 1).is_some_and(|next| begins(next, &progress));
        assert_eq!(line.starts_with(&queued), told, "line {at}, and its progress: {log:#?}");
    }
}

/// Whether `line` is `start`, or begins with it as a word of its own.
fn begins(line: &str, start: &str) -> bool {
    line.strip_prefix(start).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', ':']))
}

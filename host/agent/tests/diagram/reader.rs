//! The diagrams themselves.

use std::sync::Arc;

use mod_interface::types::Hook;

use super::{Given, begins};
use crate::hooks::Handlers;

/// The end of a part of the diagram, or what was expected where something else stands.
type Read<T = ()> = Result<T, String>;

/// Reads the lines of one run of one agent.
pub(super) struct Reader<'a> {
    lines: &'a [&'a str],
    at: usize,
    main: bool,
    /// Why the run stops, as its last line says.
    reason: &'a str,
    committed: u32,
    /// Those of the round.
    mods: Arc<Handlers>,
    given: &'a mut Given,
}

/// How many mods were asked, and how many were left out.
#[derive(Clone, Copy)]
struct Asked {
    asked: usize,
    left_out: usize,
}

impl Asked {
    fn nobody(self) -> bool {
        self.asked == 0
    }

    fn all(self) -> bool {
        self.left_out == 0
    }
}

/// A call of a batch.
struct Call<'a> {
    id: &'a str,
    tool: &'a str,
}

impl<'a> Reader<'a> {
    pub(super) fn new(lines: &'a [&'a str], main: bool, reason: &'a str, given: &'a mut Given) -> Self {
        Self { lines, at: 0, main, reason, committed: 0, mods: Arc::default(), given }
    }

    /// How many lines are read.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// The next line; empty at the end.
    pub(super) fn line(&self) -> &'a str {
        self.lines.get(self.at).copied().unwrap_or_default()
    }

    pub(super) fn run(&mut self) -> Read {
        self.take("run_start")?;
        let mut turn = 1;
        while !self.at_end() && self.round(turn)? {
            turn += 1;
        }
        self.end()
    }

    /// Whether the run goes on.
    fn round(&mut self, turn: u32) -> Read<bool> {
        self.mods = self.given.mods.pop_front().ok_or("mods asked for once a round")?;
        self.ask_all(Hook::OnTurnStart)?;
        self.take(&format!("turn_start {turn}"))?;
        self.compaction()?;
        if self.stops(&["interrupted"]) {
            return Ok(false);
        }
        self.ask_all(Hook::AppendSystemPrompt)?;
        self.ask_all(Hook::TransformContext)?;
        if self.stops(&["interrupted", "error"]) {
            return Ok(false);
        }
        self.take("message_start")?;
        self.take("model_request_start")?;
        while self.is("text_delta") {
            self.at += 1;
        }
        if self.stops(&["interrupted", "error"]) {
            return Ok(false);
        }
        self.take("model_request_end")?;
        let said = self.take("message_end")?;
        let calls = self.queued();
        let called = said.split(' ').filter(|part| *part == "tool_use").count();
        self.check(called == calls.len(), "every call queued")?;
        let denied = !calls.is_empty() && self.batch(&calls)?;
        self.ask_all(Hook::OnTurnEnd)?;
        self.take(&format!("turn_end {turn} tools={}", !calls.is_empty()))?;
        if self.main {
            self.take("commit")?;
        }
        self.goes_on(turn, !calls.is_empty(), denied)
    }

    /// Reads that the conversation was compacted, or that this failed.
    fn compaction(&mut self) -> Read {
        if self.is("compaction_start") {
            self.at += 1;
            self.take("compaction_done")?;
            self.at += usize::from(self.is("notice the conversation is sent as it"));
        }
        Ok(())
    }

    /// Whether the run goes on behind a turn that is committed.
    fn goes_on(&mut self, turn: u32, called: bool, denied: bool) -> Read<bool> {
        if self.stops(&["error"]) {
            return Ok(false);
        }
        self.committed += 1;
        if denied {
            self.check(self.stops(&["permission_denied"]), "a denied batch to end the run")?;
            return Ok(false);
        }
        if self.stops(&["interrupted"]) || (called && self.stops(&["terminate"])) {
            return Ok(false);
        }
        let asked = self.ask(Hook::ShouldStopAfterTurn, "");
        if !asked.nobody() && self.stops(&["stop_hook"]) {
            return Ok(false);
        }
        self.check(asked.all(), "every mod asked whether the run should stop")?;
        let last = self.given.max_turns == turn;
        if last || self.stops(&["interrupted"]) {
            self.check(self.stops(&["max_turns", "interrupted"]), "the end after the last turn")?;
            return Ok(false);
        }
        if !called && !self.is_wanted()? {
            return Ok(false);
        }
        self.check(!self.at_end(), "another round")?;
        self.ask_all(Hook::PrepareNextTurn)?;
        Ok(true)
    }

    /// Whether something keeps a run going that would end.
    fn is_wanted(&mut self) -> Read<bool> {
        if self.is("continuation_recovery") {
            self.at += 1;
            return Ok(true);
        }
        if self.is("notice the answer") {
            self.at += 1;
        }
        let asked = self.ask(Hook::OnStop, "");
        let capped = self.is("notice the run ends although a stop hook wants to go");
        if capped {
            self.at += 1;
        }
        let all_asked = asked.all() || capped;
        self.check(all_asked || !self.at_end(), "every mod asked before the end")?;
        Ok(!self.stops(&["end_turn", "interrupted"]))
    }

    /// Reads how a batch goes; whether it was denied.
    fn batch(&mut self, calls: &[Call<'_>]) -> Read<bool> {
        while self.is("tool_input_coerced") || self.is("tool_input_repaired") {
            self.at += 1;
        }
        let mut tools = calls.iter().map(|call| call.tool);
        while let Some(question) = self.line().strip_prefix("ask ") {
            let asked = question.split(' ').next().unwrap_or_default();
            self.check(tools.any(|tool| tool == asked), "questions in the order of the calls")?;
            self.at += 1;
        }
        if self.is("tool_denied") {
            let denied = calls.iter().any(|call| self.is(&format!("tool_denied {}", call.id)));
            self.check(denied, "one of the batch denied")?;
            self.at += 1;
            return Ok(true);
        }
        if self.given.parallel { self.at_once(calls) } else { self.one_by_one(calls) }
    }

    fn one_by_one(&mut self, calls: &[Call<'_>]) -> Read<bool> {
        let mut denied = false;
        for Call { id, .. } in calls {
            let asked = self.ask(Hook::BeforeToolCall, id);
            self.check(asked.nobody() || !denied, "nothing more of a denied batch")?;
            if self.begins_to_run(id, asked)? {
                self.check(!denied, "nothing more of a denied batch")?;
                while self.is_progress_of(&[id]) {
                    self.at += 1;
                }
                self.ends(id)?;
            } else {
                denied |= self.settles(id, asked, denied)?;
            }
        }
        Ok(denied)
    }

    /// Hooks before come for every call, then the tools run, then hooks and ends come for every call.
    fn at_once(&mut self, calls: &[Call<'_>]) -> Read<bool> {
        let asked: Vec<_> = calls.iter().map(|call| self.ask(Hook::BeforeToolCall, call.id)).collect();
        let mut running = Vec::new();
        for (Call { id, .. }, asked) in calls.iter().zip(&asked) {
            if self.begins_to_run(id, *asked)? {
                running.push(*id);
            }
            while self.is_progress_of(&running) {
                self.at += 1;
            }
        }
        let left = &self.lines[self.at..];
        let over =
            calls.iter().any(|call| left.iter().any(|it| begins(it, &format!("tool_denied {}", call.id))));
        let mut denied = None;
        for (index, (Call { id, .. }, asked)) in calls.iter().zip(&asked).enumerate() {
            if running.contains(id) {
                self.ends(id)?;
            } else if self.settles(id, *asked, over)? {
                self.check(denied.is_none(), "one denied call")?;
                denied = Some(index);
            }
        }
        if let Some(index) = denied {
            let later = asked[index + 1..].iter().all(|asked| asked.nobody());
            self.check(running.is_empty() && later, "nothing more of a denied batch")?;
        }
        Ok(denied.is_some())
    }

    fn begins_to_run(&mut self, id: &str, asked: Asked) -> Read<bool> {
        let runs = self.is(&format!("tool_running {id}"));
        if runs {
            self.check(asked.all(), "every mod asked before the tool runs")?;
            self.at += 1;
        }
        Ok(runs)
    }

    /// Reads the end of a call that has run.
    fn ends(&mut self, id: &str) -> Read {
        let asked = self.ask(Hook::AfterToolCall, id);
        self.check(asked.all(), "every mod asked after the call")?;
        let failed = self.is("tool_errored");
        self.take(&format!("{} {id}", if failed { "tool_errored" } else { "tool_completed" })).map(drop)
    }

    /// Reads the end of a call that does not run; whether it was denied. In a batch that is `over` it may be silent.
    fn settles(&mut self, id: &str, asked: Asked, over: bool) -> Read<bool> {
        let kinds = ["tool_hook_blocked", "tool_denied", "tool_errored"];
        let kind = kinds.into_iter().find(|kind| self.is(&format!("{kind} {id}")));
        let fits = match kind {
            Some("tool_hook_blocked") => !asked.nobody(),
            Some("tool_denied") => !asked.nobody() && asked.all(),
            Some(_) => asked.nobody() || asked.all(),
            None => (over || self.given.interrupted) && (asked.nobody() || asked.all()),
        };
        self.check(fits, &format!("what becomes of the call {id}"))?;
        self.at += usize::from(kind.is_some());
        Ok(kind == Some("tool_denied"))
    }

    fn end(&mut self) -> Read {
        match self.reason {
            "interrupted" => drop(self.take("interrupted")?),
            "error" => drop(self.take("run_error")?),
            _ => {}
        }
        self.mods = self.given.mods.pop_front().ok_or("mods asked for at the end")?;
        self.ask_all(Hook::OnRunEnd)?;
        while self.is_repeats() {
            self.at += 1;
        }
        self.take(&format!("run_end {} {}", self.reason, self.committed))?;
        self.check(self.at == self.lines.len(), "nothing behind the end")
    }

    /// Reads that the mods were asked, each with what went wrong in it.
    fn ask(&mut self, hook: Hook, call: &str) -> Asked {
        let mods = Arc::clone(&self.mods);
        let mut asked = Asked { asked: 0, left_out: mods.of(hook).len() };
        for handler in mods.of(hook) {
            let id = handler.mod_id();
            if !self.is(format!("◆ {id} {hook} {call}").trim_end()) {
                break;
            }
            self.at += 1;
            if self.is(&format!("mod_error {id} {hook}")) {
                self.at += 1;
            }
            asked = Asked { asked: asked.asked + 1, left_out: asked.left_out - 1 };
        }
        asked
    }

    fn ask_all(&mut self, hook: Hook) -> Read {
        let asked = self.ask(hook, "");
        self.check(asked.all(), &format!("every mod asked at {hook}"))
    }

    fn queued(&mut self) -> Vec<Call<'a>> {
        let mut calls = Vec::new();
        while let Some(queued) = self.line().strip_prefix("tool_queued ") {
            let mut words = queued.split(' ');
            let mut word = || words.next().unwrap_or_default();
            calls.push(Call { id: word(), tool: word() });
            self.at += 1;
        }
        calls
    }

    fn is_progress_of(&self, ids: &[&str]) -> bool {
        let kinds = ["tool_update", "subagent_start", "subagent_progress", "subagent_stop"];
        // A tool may ask for one.
        ["compaction_start", "compaction_done"].iter().any(|kind| self.is(kind))
            || ids.iter().any(|id| kinds.iter().any(|kind| self.is(&format!("{kind} {id}"))))
    }

    /// Whether the run ends at this line, with one of `reasons`.
    fn stops(&self, reasons: &[&str]) -> bool {
        self.at_end() && reasons.contains(&self.reason)
    }

    fn at_end(&self) -> bool {
        let asks = self.line().starts_with('◆') && self.line().ends_with(Hook::OnRunEnd.wire_name());
        let ends = ["interrupted", "run_error", "run_end"].iter().any(|kind| self.is(kind));
        asks || ends || self.is_repeats()
    }

    fn is_repeats(&self) -> bool {
        self.line().starts_with("notice mod:") && self.line().contains(" more at ")
    }

    fn is(&self, start: &str) -> bool {
        begins(self.line(), start)
    }

    fn take(&mut self, start: &str) -> Read<&'a str> {
        self.check(self.is(start), start)?;
        self.at += 1;
        Ok(self.lines[self.at - 1])
    }

    fn check(&self, holds: bool, expected: &str) -> Read {
        if holds { Ok(()) } else { Err(expected.to_owned()) }
    }
}

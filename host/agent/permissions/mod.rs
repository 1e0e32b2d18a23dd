//! Who may do what.
//!
//! Deny rules come first and always hold; then the mode says whether anything may change at all; then
//! allow rules; then the mode again, which accepts edits of the project alone. What is left is asked. This is
//! a guard against mistakes, not a sandbox: a program that may run may do whatever it can.
//!
//! A path has two names, the one given and the one where links lead. A deny rule that holds for one of them,
//! or for a folder above it, denies; an allow rule must hold for both. The deny patterns of `read_file` hold
//! for every tool that takes a path, and for what those find ([`Access::bound_by`]). A command line is every
//! command that it would run.

mod pattern;
mod rule;
mod shell;
mod subject;
#[cfg(test)]
mod tests;
mod workspace;

use std::sync::{Arc, Mutex, PoisonError};

use futures::future::{BoxFuture, ready};
use mod_interface::types::{EventPayload, PermissionMode};
use serde_json::Value;

use super::BoxError;
use crate::{
    events::Emitter,
    hooks::ToolCallInput,
    tools::{Access, Hidden, Tool},
};

pub use rule::Rule;
use subject::Subject;
pub use workspace::Workspace;

/// The rules, the mode, and whom to ask.
pub struct Permissions {
    allow: Vec<Rule>,
    deny: Vec<Rule>,
    mode: Arc<LiveMode>,
    ask: Arc<dyn Ask>,
    workspace: Workspace,
}

/// Answers what no rule and no mode answers.
pub trait Ask: Send + Sync {
    /// Puts a question to whoever may answer it. An error denies.
    fn ask(&self, question: Question) -> BoxFuture<'_, Result<Answer, BoxError>>;
}

/// May this call run?
#[derive(Debug, Clone)]
pub struct Question {
    /// The agent that calls.
    pub agent_id: Arc<str>,
    /// The tool.
    pub tool_name: Arc<str>,
    /// The input.
    pub input: Arc<Value>,
    /// What the call is about to do, for people.
    pub description: Option<String>,
    /// Rules that would allow just this call.
    pub rules: Vec<String>,
}

/// An answer to a [`Question`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// It may run.
    Allow,
    /// It may not.
    Deny {
        /// Why, for the model.
        reason: String,
    },
}

/// Nobody is there: what would be asked is denied, with a text that says how to allow it.
pub struct NobodyToAsk;

impl Ask for NobodyToAsk {
    fn ask(&self, question: Question) -> BoxFuture<'_, Result<Answer, BoxError>> {
        let reason = format!(
            "nobody is there to allow this call; to allow it, start with --dangerously-skip-permissions, or \
             add to the allow rules: {}",
            question.rules.join(", ")
        );
        Box::pin(ready(Ok(Answer::Deny { reason })))
    }
}

/// The permission mode in force. A run reads it once a round.
pub struct LiveMode {
    mode: Mutex<PermissionMode>,
    emitter: Emitter,
}

impl LiveMode {
    /// Starts with `mode`; `emitter` raises `permission_mode_changed`.
    pub fn new(mode: PermissionMode, emitter: Emitter) -> Self {
        Self { mode: Mutex::new(mode), emitter }
    }

    /// The mode.
    pub fn get(&self) -> PermissionMode {
        *self.mode.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes another mode, from the next round on.
    pub fn set(&self, mode: PermissionMode) {
        let before = std::mem::replace(&mut *self.mode.lock().unwrap_or_else(PoisonError::into_inner), mode);
        if before != mode {
            self.emitter.emit(EventPayload::PermissionModeChanged { mode });
        }
    }
}

/// What rules and mode make of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Decision {
    Allow,
    Deny(String),
    Ask,
}

/// How a call stands to the deny rules.
enum Held {
    Free,
    Forbidden(String),
    /// It cannot be read, and a rule might forbid it.
    Unsure(String),
}

impl Permissions {
    /// Judges calls by `allow` and `deny`.
    pub fn new(
        allow: Vec<Rule>,
        deny: Vec<Rule>,
        mode: Arc<LiveMode>,
        ask: Arc<dyn Ask>,
        workspace: Workspace,
    ) -> Self {
        Self { allow, deny, mode, ask, workspace }
    }

    /// The mode, to read and to change.
    pub fn mode(&self) -> &Arc<LiveMode> {
        &self.mode
    }

    /// All rules, those that allow first.
    pub fn rules(&self) -> impl Iterator<Item = &Rule> {
        self.allow.iter().chain(&self.deny)
    }

    /// Judges a call in `mode`, and asks where it must. `Err` is why it is denied.
    pub(super) async fn check(
        &self,
        mode: PermissionMode,
        agent_id: &Arc<str>,
        tool: &dyn Tool,
        call: &ToolCallInput,
        description: Option<String>,
    ) -> Result<(), String> {
        match self.decide(mode, tool, &call.input) {
            Decision::Allow => return Ok(()),
            Decision::Deny(reason) => return Err(reason),
            Decision::Ask => {}
        }
        let question = Question {
            agent_id: Arc::clone(agent_id),
            tool_name: Arc::clone(&call.name),
            input: Arc::clone(&call.input),
            description,
            rules: self.subject(tool, &call.input).rules(&call.name, &self.workspace),
        };
        match self.ask.ask(question).await {
            Ok(Answer::Allow) => Ok(()),
            Ok(Answer::Deny { reason }) => Err(reason),
            Err(error) => Err(format!("the permission could not be asked for: {error}")),
        }
    }

    pub(super) fn decide(&self, mode: PermissionMode, tool: &dyn Tool, input: &Value) -> Decision {
        let (name, access) = (&tool.spec().name, tool.access());
        let subject = self.subject(tool, input);
        let unsure = match self.held_against_deny_rules(tool, &subject) {
            Held::Forbidden(reason) => return Decision::Deny(reason),
            Held::Unsure(reason) => Some(reason),
            Held::Free => None,
        };
        match (mode, access) {
            // A plan changes nothing, whatever the rules allow elsewhere.
            (PermissionMode::Plan, Access::Edit | Access::Other) => {
                Decision::Deny(format!("only tools that read run in plan mode, got: {name}"))
            }
            // Nobody is asked in this mode, and a deny rule might hold.
            (PermissionMode::Bypass, _) => unsure.map_or(Decision::Allow, Decision::Deny),
            _ if unsure.is_some() => Decision::Ask,
            (_, Access::Read) => Decision::Allow,
            (PermissionMode::AcceptEdits, Access::Edit) if subject.is_project_files(&self.workspace) => {
                Decision::Allow
            }
            _ if subject.is_allowed(name, &self.allow, &self.workspace) => Decision::Allow,
            _ => Decision::Ask,
        }
    }

    /// Why a call whose input a mod has rewritten may not run after all, if so.
    pub(super) fn recheck(&self, tool: &dyn Tool, input: &Value) -> Option<String> {
        match self.held_against_deny_rules(tool, &self.subject(tool, input)) {
            Held::Forbidden(reason) | Held::Unsure(reason) => Some(reason),
            Held::Free => None,
        }
    }

    /// What `tool` must not find.
    pub(super) fn hidden(&self, tool: &dyn Tool) -> Arc<Hidden> {
        let rules = self.deny.iter().filter(|rule| tool.access() == Access::Read && binds(rule, tool));
        let patterns = rules.filter_map(Rule::pattern).flat_map(|pattern| self.workspace.patterns(pattern));
        let patterns: Vec<_> = patterns.collect();
        Arc::new(move |path| subject::is_at_or_below(path, &patterns))
    }

    fn held_against_deny_rules(&self, tool: &dyn Tool, subject: &Subject) -> Held {
        let is_path = matches!(subject, Subject::Paths(_));
        let names = |rule: &Rule| rule.names(&tool.spec().name) || is_path && binds(rule, tool);
        let mut rules = self.deny.iter().filter(|rule| names(rule));
        if let Some(rule) = rules.clone().find(|rule| subject.is_denied(rule, &self.workspace)) {
            return Held::Forbidden(format!("a deny rule forbids this call: {rule}"));
        }
        match (rules.find(|rule| subject.may_be_denied(rule)), subject) {
            (None, _) => Held::Free,
            (Some(rule), Subject::None) => Held::Unsure(format!(
                "this tool has nothing that the pattern of a deny rule could hold for, deny it whole: {rule}"
            )),
            (Some(rule), _) => Held::Unsure(format!(
                "this command is too intricate to be held against a deny rule, write it plainly: {rule}"
            )),
        }
    }

    fn subject(&self, tool: &dyn Tool, input: &Value) -> Subject {
        let subjects = tool.rule_subjects(input);
        match tool.access() {
            _ if subjects.is_empty() => Subject::None,
            // What may do anything is read as a command, what reads or edits as a path.
            Access::Other => {
                let commands: Option<Vec<_>> = subjects.iter().map(|text| shell::commands(text)).collect();
                commands.map_or(Subject::Unreadable, |commands| Subject::Commands(commands.concat()))
            }
            Access::Read | Access::Edit => {
                Subject::Paths(subjects.iter().map(|path| self.workspace.names(path)).collect())
            }
        }
    }
}

/// Whether the pattern of a deny rule holds for the paths of `tool`.
fn binds(rule: &Rule, tool: &dyn Tool) -> bool {
    let mut named = tool.access().bound_by().iter();
    rule.pattern().is_some() && (rule.names(&tool.spec().name) || named.any(|name| rule.names(name)))
}

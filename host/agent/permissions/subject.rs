use std::path::{Path, PathBuf};

use super::{
    Rule,
    pattern::Pattern,
    shell::{ANY, Command, Needs},
    workspace::Workspace,
};

/// A pattern that is too long for people to read.
const LONG_PATTERN: usize = 80;

/// What a call is about, as rules see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Subject {
    /// Nothing that a pattern could hold for.
    None,
    /// Every path that the call would touch, each under all of its names.
    Paths(Vec<Vec<PathBuf>>),
    /// Every command that the call would run.
    Commands(Vec<Command>),
    /// A command line whose commands cannot be told.
    Unreadable,
}

impl Subject {
    /// Whether `rule` forbids a call of the tool that it names: one part that it holds for is enough.
    pub(super) fn is_denied(&self, rule: &Rule, workspace: &Workspace) -> bool {
        let Some(pattern) = rule.pattern() else { return true };
        match self {
            Self::None | Self::Unreadable => false,
            Self::Paths(paths) => {
                let patterns = workspace.patterns(pattern);
                paths.iter().flatten().any(|name| is_at_or_below(name, &patterns))
            }
            Self::Commands(parts) => {
                parts.iter().flat_map(Command::forms).any(|form| holds_for_command(pattern, form))
            }
        }
    }

    /// Whether `rule` might forbid a call that it does not forbid for certain.
    pub(super) fn may_be_denied(&self, rule: &Rule) -> bool {
        match (self, rule.pattern()) {
            (Self::None | Self::Unreadable, _) => true,
            (Self::Paths(_), _) | (_, None) => false,
            (Self::Commands(parts), Some(pattern)) => {
                let bare = pattern.strip_suffix(" *");
                // An expansion may leave no word behind.
                let forms = parts.iter().flat_map(Command::forms).filter(|form| form.contains(ANY));
                forms.map(|form| form.replace(&format!(" {ANY}"), &ANY.to_string())).any(|form| {
                    [Some(pattern), bare]
                        .into_iter()
                        .flatten()
                        .any(|pattern| Pattern::new(pattern).may_hold_for(&form))
                })
            }
        }
    }

    /// Whether `rules` allow a call of `tool`: every part needs one that holds for it, a path one for each
    /// of its names.
    pub(super) fn is_allowed(&self, tool: &str, rules: &[Rule], workspace: &Workspace) -> bool {
        let mut rules = rules.iter().filter(|rule| rule.names(tool));
        let patterns = || rules.clone().filter_map(Rule::pattern);
        let by_pattern = match self {
            Self::None | Self::Unreadable => false,
            Self::Paths(paths) => {
                let patterns: Vec<_> = patterns().flat_map(|pattern| workspace.patterns(pattern)).collect();
                paths.iter().flatten().all(|name| is_at(name, &patterns))
            }
            Self::Commands(parts) => {
                let holds = |part: &str| patterns().any(|pattern| holds_for_command(pattern, part));
                let allowed = |part: &Command| match part.needs() {
                    Needs::Nothing => true,
                    Needs::Rule => holds(part.as_written()),
                    Needs::More => false,
                };
                !parts.is_empty() && parts.iter().all(allowed)
            }
        };
        by_pattern || rules.any(|rule| rule.pattern().is_none())
    }

    /// Whether it is files of the project alone, under all of their names.
    pub(super) fn is_project_files(&self, workspace: &Workspace) -> bool {
        match self {
            Self::Paths(paths) => paths.iter().flatten().all(|name| workspace.is_project_file(name)),
            Self::None | Self::Commands(_) | Self::Unreadable => false,
        }
    }

    /// Rules that would allow just this.
    pub(super) fn rules(&self, tool: &str, workspace: &Workspace) -> Vec<String> {
        let parts: Vec<String> = match self {
            Self::None | Self::Unreadable => vec![],
            Self::Paths(paths) => paths.iter().flatten().map(|name| workspace.shown(name)).collect(),
            Self::Commands(parts) if parts.iter().any(|part| part.needs() == Needs::More) => vec![],
            Self::Commands(parts) => {
                let parts = parts.iter().filter(|part| part.needs() == Needs::Rule);
                parts.map(|part| part.as_written().to_owned()).collect()
            }
        };
        let too_long = |part: &String| part.contains('\n') || part.len() > LONG_PATTERN;
        if parts.is_empty() || parts.iter().any(too_long) {
            return vec![tool.to_owned()];
        }
        parts.iter().map(|part| format!("{tool}({part})")).collect()
    }
}

fn is_at(name: &Path, patterns: &[Pattern]) -> bool {
    patterns.iter().any(|pattern| pattern.holds_for(&name.to_string_lossy()))
}

/// Whether a pattern holds for the path or for a folder that it is in.
pub(super) fn is_at_or_below(name: &Path, patterns: &[Pattern]) -> bool {
    name.ancestors().any(|folder| is_at(folder, patterns))
}

fn holds_for_command(pattern: &str, command: &str) -> bool {
    let holds = |pattern| Pattern::new(pattern).holds_for(command);
    holds(pattern) || pattern.strip_suffix(" *").is_some_and(holds)
}

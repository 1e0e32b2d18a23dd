mod bench;
mod mods;
mod new;

use std::{
    num::NonZeroU32,
    path::{Path, PathBuf},
};

use clap::{Args, Parser, Subcommand, ValueEnum};
use mod_interface::types::PermissionMode;

use crate::{
    agent::Rule,
    harness::{Earlier, Recording},
};

pub(super) use mods::{
    AddArgs, Common, Fetching, InspectArgs, ListArgs, LockArgs, ModsCommand, PackArgs, RemoveArgs, TrustArgs,
    UntrustArgs, UpdateArgs, VerifyArgs,
};

pub(super) use new::NewArgs;

pub(super) use bench::{BenchArgs, BenchOneArgs, Effort};

const EXAMPLES: &str = "\
Examples:
  cmd -p \"What does this project do?\"
  git diff | cmd -p \"Review this change\"
  cmd -p \"Run the tests\" --allow \"shell_command(cargo test *)\"
  cmd -p \"Count the TODOs\" --mod ./target/release/libcustom_tool.so
  cmd -p \"List the files\" --output-format stream-json
  cmd mods add ./review-guard-1.0.0.tgz

Exit status: 0 when the run came to its own end, 1 when it did not, 2 for a wrong command line.";

const MODS_EXAMPLES: &str = "\
Examples:
  cmd mods new my-mod
  cmd mods pack ./my-mod
  cmd mods add ./my-mod-1.0.0.tgz
  cmd mods add npm:@team/review-mod@1.2.0
  cmd mods add -g owner/repo@v1
  cmd mods list
  cmd mods update --latest
  cmd mods remove owner/repo
  cmd mods inspect ./target/release/libmy_mod.so
  cmd mods bench ./target/release/libmy_mod.so";

/// What was typed.
#[derive(Debug, Parser)]
#[command(
    name = "cmd",
    version,
    about = "A coding agent whose behaviour native mods can change",
    after_help = EXAMPLES,
    subcommand_negates_reqs = true,
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true,
    max_term_width = 100
)]
pub(super) struct Cli {
    #[command(subcommand)]
    pub(super) command: Option<Command>,
    #[command(flatten)]
    pub(super) run: RunArgs,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Install, list, check and make mods
    #[command(after_help = MODS_EXAMPLES, disable_help_subcommand = true)]
    Mods {
        #[command(subcommand)]
        command: ModsCommand,
    },
}

/// The arguments of a session.
#[derive(Debug, Args)]
pub(super) struct RunArgs {
    /// Run one prompt and print the answer; `-` or nothing reads the prompt from standard input.
    /// What is piped in is put behind the prompt
    #[arg(short, long, value_name = "PROMPT", num_args = 0..=1, default_missing_value = "-")]
    pub(super) print: Option<String>,

    /// The model, as provider/id
    #[arg(long, value_name = "MODEL")]
    pub(super) model: Option<String>,

    /// What to print
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t, requires = "print")]
    pub(super) output_format: OutputFormat,

    /// Load this mod too, ahead of the installed ones: a library, a mod's folder, or a built cargo
    /// package. May be repeated
    #[arg(help_heading = "Mods", long = "mod", value_name = "PATH")]
    pub(super) mods: Vec<PathBuf>,

    /// Give a mod's flag a value. May be repeated
    #[arg(help_heading = "Mods", long = "mod-option", value_name = "NAME=VALUE", value_parser = name_and_value)]
    pub(super) mod_options: Vec<(String, String)>,

    /// Load no mods but the built-in ones
    #[arg(help_heading = "Mods", long, conflicts_with = "mods")]
    pub(super) no_mods: bool,

    /// Also print at the end what each mod's hooks took: calls, faults, and the time in the mod's code
    #[arg(help_heading = "Mods", long, requires = "print")]
    pub(super) mod_timing: bool,

    /// Stop after this many turns
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub(super) max_turns: Option<NonZeroU32>,

    /// What may run unasked
    #[arg(help_heading = "Permissions", long, value_name = "MODE", value_parser = permission_mode())]
    pub(super) permission_mode: Option<PermissionMode>,

    /// Run every tool unasked, and load the project's own mods unasked. Deny rules still hold
    #[arg(help_heading = "Permissions", long, conflicts_with = "permission_mode")]
    pub(super) dangerously_skip_permissions: bool,

    /// Run this unasked, such as "shell_command(git *)". May be repeated
    #[arg(help_heading = "Permissions", long, value_name = "RULE", value_parser = rule)]
    pub(super) allow: Vec<String>,

    /// Never run this. May be repeated
    #[arg(help_heading = "Permissions", long, value_name = "RULE", value_parser = rule)]
    pub(super) deny: Vec<String>,

    /// Go on with the session of this folder that was written to last
    #[arg(help_heading = "Session", short = 'c', long = "continue")]
    pub(super) latest: bool,

    /// Go on with this session of this folder: its id, or enough of either end of it. Without one, list them
    #[arg(
        help_heading = "Session",
        short,
        long,
        value_name = "ID",
        num_args = 0..=1,
        default_missing_value = "",
        conflicts_with = "latest"
    )]
    pub(super) resume: Option<String>,

    /// Keep no record of the session on disk
    #[arg(help_heading = "Session", long, conflicts_with_all = ["latest", "resume"])]
    pub(super) no_session: bool,

    /// Also print what the tools do, to standard error
    #[arg(long)]
    pub(super) verbose: bool,

    #[command(flatten)]
    pub(super) workspace: Workspace,
}

impl RunArgs {
    /// Where the session is recorded.
    pub(super) fn record(&self) -> Recording {
        match &self.resume {
            Some(id) => Recording::Resume(Earlier::Id(id.clone())),
            None if self.latest => Recording::Resume(Earlier::Latest),
            None if self.no_session => Recording::InMemory,
            None => Recording::New,
        }
    }
}

/// Where the work is done.
#[derive(Debug, Args)]
pub(super) struct Workspace {
    /// Work in this folder instead of the current one
    #[arg(long, value_name = "DIR")]
    pub(super) cwd: Option<PathBuf>,
}

impl Workspace {
    /// The folder, without links.
    pub(super) fn resolve(&self, current: &Path) -> std::io::Result<PathBuf> {
        let folder = current.join(self.cwd.as_deref().unwrap_or(Path::new(""))).canonicalize()?;
        if folder.is_dir() { Ok(folder) } else { Err(std::io::ErrorKind::NotADirectory.into()) }
    }
}

/// What print mode prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(super) enum OutputFormat {
    /// The answer's text
    #[default]
    Text,
    /// One JSON object at the end, even where no run came of it
    Json,
    /// One JSON object a line for every event
    StreamJson,
}

fn name_and_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("expected NAME=VALUE".to_owned()),
    }
}

/// Checks a rule where it was typed; the agent reads it again.
fn rule(text: &str) -> Result<String, String> {
    text.parse::<Rule>().map(|_| text.to_owned()).map_err(|_| "expected TOOL or TOOL(PATTERN)".to_owned())
}

fn at_least_one(text: &str) -> Result<NonZeroU32, String> {
    text.parse().map_err(|_| "expected a whole number, 1 or more".to_owned())
}

fn permission_mode() -> impl clap::builder::TypedValueParser<Value = PermissionMode> {
    use clap::builder::{PossibleValuesParser, TypedValueParser};
    const MODES: [PermissionMode; 4] =
        [PermissionMode::Default, PermissionMode::Plan, PermissionMode::AcceptEdits, PermissionMode::Bypass];
    PossibleValuesParser::new(MODES.map(PermissionMode::as_str))
        .map(|name| MODES.into_iter().find(|mode| mode.as_str() == name).unwrap_or_default())
}

#[cfg(test)]
mod tests;

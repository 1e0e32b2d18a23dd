mod bench;

use std::{
    num::NonZeroU32,
    path::{Path, PathBuf},
};

use clap::{Args, Parser, Subcommand, ValueEnum};
use mod_interface::types::PermissionMode;

use crate::agent::Rule;

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

    /// Keep no record of the session on disk
    #[arg(long)]
    pub(super) no_session: bool,

    /// Also print what the tools do, to standard error
    #[arg(long)]
    pub(super) verbose: bool,

    #[command(flatten)]
    pub(super) workspace: Workspace,
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
        match &self.cwd {
            Some(folder) => current.join(folder).canonicalize(),
            None => current.canonicalize(),
        }
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

#[derive(Debug, Subcommand)]
pub(super) enum ModsCommand {
    /// Install a package of mods
    Add(AddArgs),
    /// Show every mod, what it registered, and what is wrong with it
    List(ListArgs),
    /// Bring back what is missing, and follow what changed in the settings
    Update(UpdateArgs),
    /// Remove a package
    Remove(RemoveArgs),
    /// Compare the installed packages with the lock files
    Verify(VerifyArgs),
    /// Compare settings, lock files and installed packages
    Lock(LockArgs),
    /// Trust the mods that the workspace has now, or the new key of a package
    Trust(TrustArgs),
    /// Take the trust in the workspace back
    Untrust(UntrustArgs),
    /// Show what a library or a mod's folder says about itself, without running it
    Inspect(InspectArgs),
    /// Measure what each hook of a mod takes
    #[command(after_help = bench::HELP)]
    Bench(BenchArgs),
    /// Build a mod and pack it into an archive
    Pack(PackArgs),
    /// Measure one hook in this process, or the loading, and print it as JSON
    #[command(hide = true)]
    BenchOne(BenchOneArgs),
    /// Load one mod and print what it registered, as JSON
    #[command(hide = true)]
    TrialLoad {
        /// The mod's folder or library
        path: PathBuf,
        /// How long it may take, in milliseconds
        #[arg(long, value_name = "MS")]
        limit_ms: u64,
    },
}

#[derive(Debug, Args)]
pub(super) struct AddArgs {
    /// npm:NAME[@VERSION], OWNER/REPO[@REF], git:HOST/PATH[@REF], https://HOST/PATH, ./FOLDER, or an
    /// archive that `cmd mods pack` made
    #[arg(value_name = "SOURCE")]
    pub(super) source: String,
    /// Install for yourself, not for the project
    #[arg(short, long)]
    pub(super) global: bool,
    /// Install without asking
    #[arg(short, long)]
    pub(super) yes: bool,
    #[command(flatten)]
    pub(super) fetching: Fetching,
    #[command(flatten)]
    pub(super) common: Common,
}

#[derive(Debug, Args)]
pub(super) struct UpdateArgs {
    /// Only these packages; all, when none is named
    #[arg(value_name = "PACKAGE")]
    pub(super) packages: Vec<String>,
    /// Move what is not pinned to its newest version
    #[arg(long)]
    pub(super) latest: bool,
    /// Go back to the version that this package had before
    #[arg(long, value_name = "PACKAGE", conflicts_with_all = ["packages", "latest"])]
    pub(super) rollback: Option<String>,
    /// Take a tag that its author moved
    #[arg(long)]
    pub(super) accept_moved: bool,
    /// Take a version that is older than one seen before
    #[arg(long)]
    pub(super) allow_downgrade: bool,
    #[command(flatten)]
    pub(super) fetching: Fetching,
    #[command(flatten)]
    pub(super) common: Common,
}

#[derive(Debug, Args)]
pub(super) struct RemoveArgs {
    /// The package, in any form that names it: the version does not matter
    #[arg(value_name = "PACKAGE")]
    pub(super) package: String,
    /// Remove it for yourself, not from the project
    #[arg(short, long)]
    pub(super) global: bool,
    #[command(flatten)]
    pub(super) common: Common,
}

#[derive(Debug, Args)]
pub(super) struct LockArgs {
    /// Fail when they do not agree. Nothing is written
    #[arg(long, required = true)]
    pub(super) check: bool,
    #[command(flatten)]
    pub(super) common: Common,
}

#[derive(Debug, Args)]
pub(super) struct TrustArgs {
    /// A package that is signed by another key than before: its new key is trusted
    #[arg(value_name = "PACKAGE")]
    pub(super) package: Option<String>,
    #[command(flatten)]
    pub(super) common: Common,
}

#[derive(Debug, Args)]
pub(super) struct UntrustArgs {
    #[command(flatten)]
    pub(super) common: Common,
}

/// How packages are fetched.
#[derive(Debug, Args)]
pub(super) struct Fetching {
    /// Use what is on this machine alone
    #[arg(long)]
    pub(super) offline: bool,
    /// Fail where another cmd that changes packages would be waited for
    #[arg(long)]
    pub(super) no_wait: bool,
}

#[derive(Debug, Args)]
pub(super) struct ListArgs {
    /// Read files only; load no mod
    #[arg(long = "static")]
    pub(super) unloaded: bool,
    #[command(flatten)]
    pub(super) common: Common,
}

#[derive(Debug, Args)]
pub(super) struct PackArgs {
    /// The folder of the mod's cargo package
    #[arg(default_value = ".")]
    pub(super) path: PathBuf,
    /// Pack this library, which is built already, instead of building one. May be repeated, once for
    /// each target
    #[arg(long = "library", value_name = "FILE")]
    pub(super) libraries: Vec<PathBuf>,
    /// Where the archive goes
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(super) out: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, Args)]
pub(super) struct InspectArgs {
    /// A library, or a mod's folder
    pub(super) file: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, Args)]
pub(super) struct VerifyArgs {
    /// Bring back what is missing or damaged
    #[arg(long)]
    pub(super) fix: bool,
    #[command(flatten)]
    pub(super) fetching: Fetching,
    #[command(flatten)]
    pub(super) common: Common,
}

/// What the commands on installed mods share.
#[derive(Debug, Args)]
pub(super) struct Common {
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
    #[command(flatten)]
    pub(super) workspace: Workspace,
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
#[path = "args_tests.rs"]
mod tests;

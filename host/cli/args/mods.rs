use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{BenchArgs, BenchOneArgs, NewArgs, Workspace};

#[derive(Debug, Subcommand)]
pub(crate) enum ModsCommand {
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
    #[command(after_help = super::bench::HELP)]
    Bench(BenchArgs),
    /// Make the folder of a new mod, with a test
    #[command(after_help = super::new::HELP)]
    New(NewArgs),
    /// Build a mod and pack it into an archive
    Pack(PackArgs),
    /// Measure one hook in this process, or the loading, and print it as JSON
    #[command(hide = true)]
    BenchOne(BenchOneArgs),
    /// Load mods and print what each registered, as a line of JSON
    #[command(hide = true)]
    TrialLoad {
        /// The mods' folders or libraries
        paths: Vec<PathBuf>,
        /// How long it may take, in milliseconds
        #[arg(long, value_name = "MS")]
        limit_ms: u64,
    },
}

impl ModsCommand {
    /// Whether programs read what it prints.
    pub(crate) fn is_json(&self) -> bool {
        match self {
            Self::Add(args) => args.common.json,
            Self::List(args) => args.common.json,
            Self::Update(args) => args.common.json,
            Self::Remove(args) => args.common.json,
            Self::Verify(args) => args.common.json,
            Self::Lock(args) => args.common.json,
            Self::Trust(args) => args.common.json,
            Self::Untrust(args) => args.common.json,
            Self::Inspect(args) => args.json,
            Self::Bench(args) => args.common.json,
            Self::New(args) => args.json,
            Self::Pack(args) => args.json,
            Self::BenchOne(_) | Self::TrialLoad { .. } => false,
        }
    }

    /// Whether it waits for child processes, the network or the user, and can be interrupted there.
    pub(crate) fn waits_for_others(&self) -> bool {
        match self {
            Self::Add(_) | Self::Update(_) | Self::Verify(_) | Self::Trust(_) => true,
            Self::List(args) => !args.unloaded,
            Self::Remove(_)
            | Self::Lock(_)
            | Self::Untrust(_)
            | Self::Inspect(_)
            | Self::Bench(_)
            | Self::BenchOne(_)
            | Self::New(_)
            | Self::Pack(_)
            | Self::TrialLoad { .. } => false,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct AddArgs {
    /// npm:NAME[@VERSION], OWNER/REPO[@REF], git:HOST/PATH[@REF], https://HOST/PATH, ./FOLDER, or an
    /// archive that `cmd mods pack` made
    #[arg(value_name = "SOURCE")]
    pub(crate) source: String,
    /// Install for yourself, not for the project
    #[arg(short, long)]
    pub(crate) global: bool,
    /// Install without asking
    #[arg(short, long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) fetching: Fetching,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct UpdateArgs {
    /// Only these packages, or those of these mods; all, when none is named
    #[arg(value_name = "PACKAGE")]
    pub(crate) packages: Vec<String>,
    /// Move what is not pinned to its newest version
    #[arg(long)]
    pub(crate) latest: bool,
    /// Install exactly what is locked; fail where settings and lock do not agree
    #[arg(long, conflicts_with_all = ["latest", "accept_moved", "allow_downgrade"])]
    pub(crate) locked: bool,
    /// Go back to the version that this package had before
    #[arg(long, value_name = "PACKAGE", conflicts_with_all = ["packages", "latest", "locked"])]
    pub(crate) rollback: Option<String>,
    /// Take a tag that its author moved
    #[arg(long)]
    pub(crate) accept_moved: bool,
    /// Take a version that is older than one seen before
    #[arg(long)]
    pub(crate) allow_downgrade: bool,
    #[command(flatten)]
    pub(crate) fetching: Fetching,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct RemoveArgs {
    /// The package, in any form that names it (the version does not matter), or the name of its mod
    #[arg(value_name = "PACKAGE")]
    pub(crate) package: String,
    /// Remove it for yourself, not from the project
    #[arg(short, long)]
    pub(crate) global: bool,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct LockArgs {
    /// Fail when they do not agree. Nothing is written
    #[arg(long, required = true)]
    pub(crate) check: bool,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct TrustArgs {
    /// A package that is signed by another key than before: its new key is trusted
    #[arg(value_name = "PACKAGE")]
    pub(crate) package: Option<String>,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct UntrustArgs {
    #[command(flatten)]
    pub(crate) common: Common,
}

/// How packages are fetched.
#[derive(Debug, Args)]
pub(crate) struct Fetching {
    /// Use what is on this machine alone
    #[arg(long)]
    pub(crate) offline: bool,
    /// Fail where another cmd that changes packages would be waited for
    #[arg(long)]
    pub(crate) no_wait: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Read files only; load no mod
    #[arg(long = "static")]
    pub(crate) unloaded: bool,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct PackArgs {
    /// The folder of the mod's cargo package
    #[arg(default_value = ".")]
    pub(crate) path: PathBuf,
    /// Pack this library, which is built already, instead of building one. May be repeated, once for
    /// each target
    #[arg(long = "library", value_name = "FILE")]
    pub(crate) libraries: Vec<PathBuf>,
    /// Where the archive goes
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) out: PathBuf,
    /// Sign it with this secret key of minisign. Its password is asked for, or is the value of
    /// COMMANDCODE_SIGN_PASSWORD
    #[arg(long, value_name = "KEY")]
    pub(crate) sign_with: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct InspectArgs {
    /// A library, or a mod's folder
    pub(crate) file: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// Bring back what is missing or damaged
    #[arg(long)]
    pub(crate) fix: bool,
    #[command(flatten)]
    pub(crate) fetching: Fetching,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// What the commands on installed mods share.
#[derive(Debug, Args)]
pub(crate) struct Common {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) workspace: Workspace,
}

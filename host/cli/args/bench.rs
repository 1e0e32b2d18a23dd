use std::{num::NonZeroU32, path::PathBuf};

use clap::Args;
use mod_interface::types::Hook;

use super::{Common, at_least_one, name_and_value};

pub(super) const HELP: &str = "\
Each hook of a mod is called in a process of its own, in turn with a compiled-in hook that does nothing. \
The hooks are really called: what they do, they do as often as that. What counts is the time from the call \
to the answer, whatever the hook waits for. A call may take as long as in a run (mods.hookTimeoutMs), and \
all calls of a hook together 10 s. Where valgrind is installed, some more calls are made in it to count the \
allocations, of the mod and of cmd together.

Examples:
  cmd mods bench ./target/release/libmy_mod.so
  cmd mods bench . --messages 100000 --svg hooks.svg
  cmd mods bench a.so b.so --mod-option a.strict=true --iterations 1000 --json

Exit status: 0 when every mod loads and no hook fails, 1 otherwise, 2 for a wrong command line.";

#[derive(Debug, Args)]
pub(in crate::cli) struct BenchArgs {
    /// Libraries, mods' folders, or built cargo packages
    #[arg(value_name = "PATH", required = true)]
    pub(in crate::cli) paths: Vec<PathBuf>,
    #[command(flatten)]
    pub(in crate::cli) effort: Effort,
    /// Also draw it into this file
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) svg: Option<PathBuf>,
    #[command(flatten)]
    pub(in crate::cli) common: Common,
}

/// How a hook is measured.
#[derive(Debug, Args)]
pub(in crate::cli) struct Effort {
    /// How many messages the conversation has
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(in crate::cli) messages: usize,
    /// How often each hook is called
    #[arg(long, value_name = "N", default_value = "10000", value_parser = at_least_one)]
    pub(in crate::cli) iterations: NonZeroU32,
    /// Give a mod's flag a value. May be repeated
    #[arg(long = "mod-option", value_name = "NAME=VALUE", value_parser = name_and_value)]
    pub(in crate::cli) mod_options: Vec<(String, String)>,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct BenchOneArgs {
    /// The mod
    pub(in crate::cli) path: PathBuf,
    /// The hook; the loading, where none is named
    #[arg(long, value_name = "HOOK", value_parser = hook)]
    pub(in crate::cli) hook: Option<Hook>,
    #[command(flatten)]
    pub(in crate::cli) effort: Effort,
    /// How long loading may take, in milliseconds
    #[arg(long, value_name = "MS")]
    pub(in crate::cli) limit_ms: u64,
    /// How long a call may take, in milliseconds; for ever, where none is given
    #[arg(long, value_name = "MS")]
    pub(in crate::cli) hook_limit_ms: Option<u64>,
}

fn hook(name: &str) -> Result<Hook, String> {
    Hook::ALL
        .into_iter()
        .find(|hook| hook.wire_name() == name)
        .ok_or_else(|| "there is no such hook".to_owned())
}

use std::path::PathBuf;

use clap::Args;

pub(super) const HELP: &str = "\
The mod has one hook, one command, and a test that cargo test runs without cmd. It depends on mod-interface: that of \
the checkout that this folder or cmd itself stands in, else that of cmd's repository, unless --interface says otherwise.

Examples:
  cmd mods new review-guard
  cmd mods new review-guard --path ../mods/review-guard
  cmd mods new review-guard --interface ../cmd
  cmd mods new review-guard --interface https://example.com/cmd.git

Then, in the new folder:
  cargo test
  cargo build && cmd --mod . -p \"…\"
  cmd mods pack";

#[derive(Debug, Args)]
pub(in crate::cli) struct NewArgs {
    /// What it is called: lower-case letters, digits and dashes
    #[arg(value_name = "NAME")]
    pub(in crate::cli) name: String,
    /// The folder to make; NAME in the current folder when it is not given
    #[arg(long, value_name = "DIR")]
    pub(in crate::cli) path: Option<PathBuf>,
    /// Where mod-interface comes from: a checkout of cmd, a git URL, or a version of a registry
    #[arg(long, value_name = "PATH|URL|VERSION")]
    pub(in crate::cli) interface: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(in crate::cli) json: bool,
}

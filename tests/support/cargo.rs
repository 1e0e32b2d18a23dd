//! Cargo, run by a test.

use std::{
    env,
    path::Path,
    process::{Command, Output},
};

/// Where it builds: beside this program, so that what is built already need not be built again.
pub(crate) fn target() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap()
}

/// Runs cargo in a folder, without a network.
pub(crate) fn cargo(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO"));
    command.args(args.iter().take(1)).arg("--offline").args(args.iter().skip(1)).current_dir(folder);
    command.env("CARGO_TARGET_DIR", target()).env("CARGO_TERM_COLOR", "never");
    // What cargo says to a test of its package: where a build script asks for that, all that depends on it would be
    // built once more.
    let said = |name: &str| ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|start| name.starts_with(start));
    for (name, _) in env::vars_os().filter(|(name, _)| name.to_str().is_some_and(said)) {
        command.env_remove(name);
    }
    command.output().unwrap()
}

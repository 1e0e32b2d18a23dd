//! Answers who it is. Tests make many mods of its library: they write another number over its name,
//! another letter over its edition.
#![forbid(unsafe_code)]

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use mod_interface::prelude::*;

export_mod!(numbered);

/// Which library it is, by its own word.
const EDITION: &str = "edition-a";

/// A library that is loaded twice has two of these.
static CALLS: AtomicU32 = AtomicU32::new(0);

async fn numbered(cmd: ModApi) -> Result<()> {
    let name = cmd.name().to_owned();
    cmd.add_command(Command::new(&name, "Says who it is").run(|_| async {
        let calls = CALLS.fetch_add(1, Relaxed) + 1;
        Ok(CommandOutcome::message(format!("{} {EDITION}, call {calls}", env!("CARGO_PKG_NAME"))))
    }))?;
    Ok(())
}

//! Compacts the conversation when a turn takes more tokens than `--mod-option trigger-compact.tokens=N`, and with
//! `/trigger-compact`.
//!
//! It shows that a hook may wait for a compaction of the run that it is called by, and how to ask once for what stays
//! true for many turns.
#![forbid(unsafe_code)]

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering::Relaxed},
};

use mod_interface::prelude::*;

export_mod!(trigger_compact);

async fn trigger_compact(cmd: ModApi) -> Result<()> {
    let limit = cmd.flag(Flag::number("tokens").default(100_000).description("From how many tokens on"))?;

    let (api, was_over) = (cmd.clone(), Arc::new(AtomicBool::new(false)));
    cmd.hooks(Hooks::new().on_turn_end(move |turn, ctx| {
        let (api, was_over) = (api.clone(), Arc::clone(&was_over));
        async move {
            // A sub-agent has a conversation of its own.
            if ctx.agent_id() == MAIN_AGENT {
                let is_over = turn.usage().total() >= limit;
                if is_over && !was_over.swap(is_over, Relaxed) {
                    compact(&api, &ctx.ui()).await;
                } else {
                    was_over.store(is_over, Relaxed);
                }
            }
            Ok(StatePatch::default())
        }
    }))?;

    let api = cmd.clone();
    cmd.add_command(Command::new("trigger-compact", "Compacts the conversation now").run(move |_| {
        let compacting = api.sessions().compact();
        async move {
            compacting.await?;
            Ok(CommandOutcome::message("compacted"))
        }
    }))?;
    Ok(())
}

/// The run goes on whatever comes of it.
async fn compact(cmd: &ModApi, ui: &Ui<'_>) {
    if let Err(error) = cmd.sessions().compact().await {
        ui.notify(&format!("trigger-compact: {error}"));
    }
}

//! Shows how much of what the models read came from their provider's cache: in the status line, with `/cache`, and a
//! line a call in a file of `--mod-option cache-tracker.log=FILE`.
//!
//! It shows that what only observes needs no hook: it cannot change a run, and cannot spoil the cache that it watches.
#![forbid(unsafe_code)]

use std::{
    fs::OpenOptions,
    io::Write,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use mod_interface::prelude::*;

export_mod!(cache_tracker);

async fn cache_tracker(cmd: ModApi) -> Result<()> {
    let log = cmd
        .flag(Flag::string("log").description("A file that gets a line of JSON for each call of a model"))?;
    let log = log.filter(|log| !log.is_empty()).map(|log| cmd.place(log));

    let total = Arc::new(Mutex::new(Usage::default()));
    let adding = Arc::clone(&total);
    cmd.on(EventKind::ModelRequestEnd, move |event| {
        let EventPayload::ModelRequestEnd { model, usage, .. } = event.parse()?.payload else {
            return Ok(());
        };
        let total = {
            let mut total = adding.lock().unwrap_or_else(PoisonError::into_inner);
            *total += usage;
            *total
        };
        event.ctx().ui().set_status(&format!("cache {}%", hit_rate(total)))?;
        let line = json!({ "model": model, "usage": usage, "hitRate": hit_rate(usage) });
        log.as_deref().map_or(Ok(()), |log| append(log, &line))
    })?;

    cmd.add_command(Command::new("cache", "Says how much came from the cache").run_sync(move |_| {
        let total = *total.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(CommandOutcome::message(summary(total)))
    }))?;
    Ok(())
}

/// What was read, the cache's part in it included.
fn read(usage: Usage) -> u64 {
    usage.total().saturating_sub(usage.output_tokens)
}

/// In percent, rounded.
fn hit_rate(usage: Usage) -> u64 {
    let read = read(usage);
    usage.cache_read_tokens.saturating_mul(100).saturating_add(read / 2).checked_div(read).unwrap_or(0)
}

fn summary(total: Usage) -> String {
    let (hits, writes) = (total.cache_read_tokens, total.cache_write_tokens);
    format!("{}%: {hits} of {} tokens from the cache, {writes} put into it", hit_rate(total), read(total))
}

fn append(log: &Path, line: &Value) -> Result<()> {
    let mut file = OpenOptions::new().create(true).append(true).open(log)?;
    Ok(file.write_all(format!("{line}\n").as_bytes())?)
}

//! Observes a run without changing it: counts turns, tool calls and blocked calls, and says so when
//! the run is over.
#![forbid(unsafe_code)]

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering::Relaxed},
};

use mod_interface::prelude::*;

export_mod!(observe_events);

#[derive(Default)]
struct Counts {
    turns: AtomicU32,
    tools: AtomicU32,
    blocked: AtomicU32,
}

async fn observe_events(cmd: ModApi) -> Result<()> {
    let counts = Arc::new(Counts::default());
    count(&cmd, EventKind::TurnEnd, &counts, |counts| &counts.turns)?;
    count(&cmd, EventKind::ToolRunning, &counts, |counts| &counts.tools)?;
    count(&cmd, EventKind::ToolHookBlocked, &counts, |counts| &counts.blocked)?;

    let api = cmd.clone();
    cmd.on(EventKind::RunEnd, move |_event| {
        // A sub-agent's run ends too; only what is new since then is told.
        let [turns, tools, blocked] =
            [&counts.turns, &counts.tools, &counts.blocked].map(|count| count.swap(0, Relaxed));
        api.ui()
            .notify(&format!("observe-events: {turns} turns, {tools} tools run, {blocked} calls blocked"));
    })?;
    Ok(())
}

fn count(
    cmd: &ModApi,
    kind: EventKind,
    counts: &Arc<Counts>,
    which: fn(&Counts) -> &AtomicU32,
) -> Result<()> {
    let counts = Arc::clone(counts);
    cmd.on(kind, move |_event| {
        which(&counts).fetch_add(1, Relaxed);
    })?;
    Ok(())
}

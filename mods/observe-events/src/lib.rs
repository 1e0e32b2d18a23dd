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

#[cfg(test)]
mod tests {
    use mod_interface::{
        prelude::*,
        testing::{Script, TestHost, block_on},
    };

    use super::observe_events;

    #[test]
    fn each_run_is_counted_for_itself() -> Result<()> {
        block_on(async {
            let observer = TestHost::new().load(observe_events).await?;
            let script = Script::new("Look").tool("grep", "nothing").calls("grep", json!({})).says("Done.");
            observer.run(script).await?;
            observer.run(Script::new("And?").says("That was all.")).await?;
            let counted = ["2 turns, 1 tools run, 0 calls blocked", "1 turns, 0 tools run, 0 calls blocked"];
            assert_eq!(observer.notices(), counted.map(|counts| format!("observe-events: {counts}")));
            Ok(())
        })
    }
}

//! A hook that waits for the end of its run.

use std::{sync::Arc, time::Duration};

use host::hooks::Mods;
use mod_interface::{
    builtin_mod,
    prelude::*,
    types::{EventPayload, StopReason},
};
use tokio::time::Instant;

use crate::support::mods::{Host, compiled_in};

/// Waits in a hook for the interruption, and says then what came.
async fn waits(cmd: ModApi) -> Result<()> {
    cmd.hooks(Hooks::new().on_stop(|_, ctx| async move {
        let came = ctx.interrupted().await.map_err(|error| error.to_string());
        ctx.emit("came", &json!([came, ctx.cancelled()]))?;
        Ok(StopDecision::Stop)
    }))?;
    Ok(())
}

async fn host() -> Host {
    let host = Host::with(|config| config.hook_timeout = Some(Duration::from_secs(10)));
    host.load([compiled_in("waits", builtin_mod!("waits", waits))]).await;
    tokio::time::pause();
    host
}

async fn stops(host: &Host) {
    let (runner, state) = (host.runner(), AgentState::new("s"));
    let round = runner.round(host.mods.handlers(), 1);
    let asked = round.on_stop(&state, StopReason::EndTurn, Arc::from(""));
    // What takes longer shows in the time that it took, and does not hang.
    let _took_too_long = tokio::time::timeout(Duration::from_secs(60), asked).await;
}

#[tokio::test]
async fn a_hook_that_waits_for_the_interruption_goes_on_with_it() {
    let host = host().await;
    let start = Instant::now();
    let interrupted = async {
        tokio::time::sleep(Duration::from_secs(9)).await;
        host.cancel.cancel();
    };
    tokio::join!(stops(&host), interrupted);
    assert_eq!(start.elapsed().as_secs(), 9);
    let came = EventPayload::ModEvent {
        mod_id: "mod:waits".into(),
        name: "mod:waits/came".into(),
        data: json!([{ "Ok": null }, true]),
    };
    assert_eq!(host.take_events(), [came]);
}

#[tokio::test]
async fn the_time_in_which_a_hook_waits_for_the_interruption_is_its_own() {
    let host = host().await;
    let start = Instant::now();
    stops(&host).await;
    assert_eq!(start.elapsed().as_secs(), 10);
    let error = "timeout: took longer than 10000 ms of its own time";
    assert_eq!(host.take_errors(), [["mod:waits", "onStop", error].map(str::to_owned)]);
}

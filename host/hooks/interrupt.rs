use std::{future::Future, sync::OnceLock, time::Duration};

use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

/// How long after an interruption what is still pending may take to end well.
pub(crate) const GRACE: Duration = Duration::from_secs(2);

/// How long what is waited for in any case may take in all once it was interrupted: who interrupts wants an end.
/// It counts from when the first of it is waited for, so that a grace before it takes nothing away.
pub(crate) const FAREWELL: Duration = Duration::from_secs(5);

/// One interruption of one run. All that is pending then shares one grace, however much it is.
pub struct Interrupt {
    cancel: CancellationToken,
    grace: OnceLock<Instant>,
    farewell: OnceLock<Instant>,
}

impl Interrupt {
    /// Watches `cancel`.
    pub fn new(cancel: CancellationToken) -> Self {
        Self { cancel, grace: OnceLock::new(), farewell: OnceLock::new() }
    }

    /// Whether the run was interrupted.
    pub fn happened(&self) -> bool {
        self.cancel.is_cancelled()
    }

    /// Awaits `work`; `None` when it was interrupted and did not end within the grace. What is ready
    /// at its first poll always counts.
    pub async fn limit<F: Future>(&self, work: F) -> Option<F::Output> {
        self.within(GRACE, &self.grace, work).await
    }

    /// Awaits `work` that is done although the run was interrupted; `None` when it did not end within the time
    /// that there is for it then.
    pub async fn last<F: Future>(&self, work: F) -> Option<F::Output> {
        self.within(FAREWELL, &self.farewell, work).await
    }

    async fn within<F: Future>(&self, time: Duration, end: &OnceLock<Instant>, work: F) -> Option<F::Output> {
        let expired = async {
            self.cancel.cancelled().await;
            sleep_until(*end.get_or_init(|| Instant::now() + time)).await;
        };
        tokio::select! {
            biased;
            output = work => Some(output),
            () = expired => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{path::Path, sync::Arc};

    use mod_interface::types::{AgentState, Hook, SessionChange, SessionEndReason};

    use super::*;
    use crate::hooks::{
        HookRunner, Scope,
        fakes::{FakeMod, Log, handlers},
    };

    #[tokio::test(start_paused = true)]
    async fn hooks_at_the_end_share_a_short_time_after_an_interruption() {
        let (log, cancel) = (Log::default(), CancellationToken::new());
        let emitter = log.bus().main();
        let runner = HookRunner::new(Arc::new(Scope::new(emitter, cancel.clone(), Path::new("/"))));
        let end = Hook::OnSessionEnd;
        let mods = handlers([
            FakeMod::new(&log, "a").slowly(end, Duration::from_secs(4), |_| Ok(None)),
            FakeMod::new(&log, "b").never_answering(end),
            FakeMod::new(&log, "c").never_answering(end),
            FakeMod::new(&log, "d").watching([end]),
        ]);
        let start = Instant::now();
        let (round, state) = (runner.round(mods, 0), AgentState::new("s1"));
        let told = round.on_session(&state, SessionChange::End(SessionEndReason::Shutdown));
        let interrupted = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            cancel.cancel();
        };
        tokio::join!(told, interrupted);
        assert_eq!(start.elapsed(), Duration::from_secs(6));
        let given_up = |id| {
            format!(
                "notice {id} is given up: its onSessionEnd is not done in the 5 s that all mods share for it after an interruption"
            )
        };
        assert_eq!(
            log.lines(),
            [
                "◆ mod:a onSessionEnd".to_owned(),
                "◆ mod:b onSessionEnd".to_owned(),
                given_up("mod:b"),
                "◆ mod:c onSessionEnd".to_owned(),
                given_up("mod:c"),
                "◆ mod:d onSessionEnd".to_owned(),
            ]
        );
    }
}

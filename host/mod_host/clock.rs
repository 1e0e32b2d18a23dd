use std::{
    future::pending,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use crate::hooks::HookFault;

/// The clock of one entry into a mod: it stands while the mod waits for the host.
#[derive(Clone, Default)]
pub(crate) struct Clock(Arc<Mutex<Stopped>>);

#[derive(Default)]
struct Stopped {
    waits: u32,
    since: Option<Instant>,
    total: Duration,
}

/// Lets the clock run on when dropped.
pub(crate) struct Wait(Clock);

impl Clock {
    /// Stops the clock until the guard is dropped; several at once stop it once.
    pub(crate) fn wait(&self) -> Wait {
        let mut stopped = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if stopped.waits == 0 {
            stopped.since = Some(Instant::now());
        }
        stopped.waits += 1;
        drop(stopped);
        Wait(self.clone())
    }

    /// How long the clock stood so far.
    fn stood(&self) -> Duration {
        let stopped = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        stopped.total + stopped.since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// Ends when the mod has used up `limit` of its own time, counted from now; never without a limit.
    pub(crate) fn over(&self, limit: Option<Duration>) -> impl Future<Output = HookFault> + Send + use<> {
        let clock = self.clone();
        async move {
            let Some(limit) = limit else { return pending().await };
            let (start, stood_before) = (Instant::now(), clock.stood());
            let mut end = start.checked_add(limit);
            // Beyond what a clock can show is never.
            while let Some(at) = end {
                tokio::time::sleep_until(at).await;
                let stood = clock.stood() - stood_before;
                end = limit.checked_add(stood).and_then(|time| start.checked_add(time));
                if end.is_some_and(|end| end <= Instant::now()) {
                    return HookFault::Timeout(u64::try_from(limit.as_millis()).unwrap_or(u64::MAX));
                }
            }
            pending().await
        }
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        let mut stopped = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        stopped.waits -= 1;
        if stopped.waits == 0
            && let Some(since) = stopped.since.take()
        {
            stopped.total += since.elapsed();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::{Instant, sleep};

    use super::{Clock, HookFault};

    #[tokio::test(start_paused = true)]
    async fn the_clock_stands_while_the_mod_waits_for_the_host() {
        let clock = Clock::default();
        let start = Instant::now();
        let waiting = clock.clone();
        let waiter = tokio::spawn(async move {
            sleep(Duration::from_secs(1)).await;
            let first = waiting.wait();
            let second = waiting.wait();
            sleep(Duration::from_secs(30)).await;
            drop(first);
            sleep(Duration::from_secs(30)).await;
            drop(second);
        });
        assert_eq!(clock.over(Some(Duration::from_secs(10))).await, HookFault::Timeout(10_000));
        assert_eq!(start.elapsed().as_secs(), 70);
        waiter.await.unwrap();
    }
}

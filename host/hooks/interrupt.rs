use std::{future::Future, sync::OnceLock, time::Duration};

use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

/// How long after an interruption what is still pending may take to end well.
pub(crate) const GRACE: Duration = Duration::from_secs(2);

/// One interruption of one run. All that is pending then shares one grace, however much it is.
pub struct Interrupt {
    cancel: CancellationToken,
    deadline: OnceLock<Instant>,
}

impl Interrupt {
    /// Watches `cancel`.
    pub fn new(cancel: CancellationToken) -> Self {
        Self { cancel, deadline: OnceLock::new() }
    }

    /// Whether the run was interrupted.
    pub fn happened(&self) -> bool {
        self.cancel.is_cancelled()
    }

    /// Awaits `work`; `None` when it was interrupted and did not end within the grace. What is ready
    /// at its first poll always counts.
    pub async fn limit<F: Future>(&self, work: F) -> Option<F::Output> {
        tokio::select! {
            biased;
            output = work => Some(output),
            () = self.expired() => None,
        }
    }

    async fn expired(&self) {
        self.cancel.cancelled().await;
        sleep_until(*self.deadline.get_or_init(|| Instant::now() + GRACE)).await;
    }
}

use std::time::Duration;

/// The longest wait that a server may ask for; one that asks for more will not be tried again.
pub const MAX_RETRY_AFTER: Duration = Duration::from_secs(60);

/// How often a call is tried, and how long is waited in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// How often it is tried in all.
    pub max_attempts: u32,
    /// The wait after the first failure; each later one is twice the one before.
    pub base_delay: Duration,
    /// The longest wait, unless the server asks for more.
    pub max_delay: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self { max_attempts: 8, base_delay: Duration::from_millis(500), max_delay: Duration::from_secs(8) }
    }
}

impl RetryPolicy {
    /// The wait after failure number `failures`. Between half of it and all of it, as `jitter`
    /// (0 to 1) says, so that many callers do not come back at once; never less than `retry_after`.
    pub(super) fn delay(&self, failures: u32, jitter: f64, retry_after: Option<Duration>) -> Duration {
        let doublings = failures.saturating_sub(1).min(31);
        let full = self.base_delay.saturating_mul(1 << doublings).min(self.max_delay);
        let backoff = full.mul_f64(0.5 + jitter.clamp(0.0, 1.0) / 2.0);
        backoff.max(retry_after.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest_one() {
        let policy = RetryPolicy::default();
        let waits = |jitter| (1..=7).map(move |n| policy.delay(n, jitter, None).as_millis());
        assert!(waits(1.0).eq([500, 1000, 2000, 4000, 8000, 8000, 8000]));
        assert!(waits(0.0).eq([250, 500, 1000, 2000, 4000, 4000, 4000]));
        assert_eq!(policy.delay(u32::MAX, 1.0, None), policy.max_delay);
    }

    #[test]
    fn a_wait_is_never_shorter_than_the_server_asks() {
        let policy = RetryPolicy::default();
        assert_eq!(policy.delay(1, 1.0, Some(Duration::from_secs(30))), Duration::from_secs(30));
        assert_eq!(policy.delay(1, 1.0, Some(Duration::ZERO)), Duration::from_millis(500));
    }
}

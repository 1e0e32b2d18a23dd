use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::nanos;

/// How often the clock is read to know what that takes.
const READINGS: usize = 1000;

/// How measured times are spread, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Spread {
    /// The median.
    pub p50_ns: u64,
    /// What one in a hundred exceeds.
    pub p99_ns: u64,
    /// The longest.
    pub max_ns: u64,
}

impl Spread {
    /// The spread of `times`, `off` taken off each.
    pub(super) fn of(mut times: Vec<u64>, off: u64) -> Self {
        times.sort_unstable();
        let at = |hundredths: usize| {
            let place = times.len().saturating_sub(1) * hundredths / 100;
            times.get(place).map_or(0, |time| time.saturating_sub(off))
        };
        Self { p50_ns: at(50), p99_ns: at(99), max_ns: at(100) }
    }
}

/// How long it takes to read the clock.
pub(super) fn clock() -> u64 {
    let readings = (0..READINGS).map(|_| nanos(Instant::now().elapsed())).collect();
    Spread::of(readings, 0).p50_ns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_is_of_the_times_in_order_less_the_clock() {
        let spread = |p50_ns, p99_ns, max_ns| Spread { p50_ns, p99_ns, max_ns };
        assert_eq!(Spread::of((0..=100).rev().collect(), 10), spread(40, 89, 90));
        assert_eq!(Spread::of(vec![7], 10), spread(0, 0, 0));
        assert_eq!(Spread::of(Vec::new(), 10), spread(0, 0, 0));
    }
}

//! Ctrl-C, once and twice.

use std::{io, thread};

use signal_hook::{consts::signal, iterator::Signals, low_level};
use tokio_util::sync::CancellationToken;

/// Interrupts the work at the first signal, so that it can end cleanly, and ends the process at the
/// second, with the code that shells expect of a program that a signal ended.
///
/// It listens on a thread of its own: however many threads a mod keeps busy, this one is awake. And the
/// second signal runs no exit handler: a mod that hangs while it is being loaded would hold those up.
pub(super) fn interrupt_on_signal(what: &'static str, cancel: CancellationToken) -> io::Result<()> {
    let mut signals = Signals::new(handled())?;
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        for number in &mut signals {
            if cancel.is_cancelled() {
                low_level::exit(128 + number);
            }
            anstream::eprintln!("interrupting {what}; once more ends it at once");
            cancel.cancel();
        }
    })?;
    Ok(())
}

/// A terminal that goes away ends the run as well, or else what a tool has started would run on; not a
/// run that `nohup` has started.
fn handled() -> Vec<i32> {
    let status = std::fs::read_to_string("/proc/self/status").ok();
    let hang_up = status.is_some_and(|status| !is_ignored(signal::SIGHUP, &status));
    [signal::SIGINT, signal::SIGTERM].into_iter().chain(hang_up.then_some(signal::SIGHUP)).collect()
}

/// Whether a process ignores a signal, by its `/proc/PID/status`; one whose line cannot be read does.
fn is_ignored(number: i32, status: &str) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(u64::MAX);
    mask & (1 << (number - 1)) != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_is_ignored_where_its_bit_is_set() {
        let status =
            "Name:\tcmd\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000001001\nSigCgt:\t0000000000000002\n";
        let ignored = |number| is_ignored(number, status);
        assert_eq!([signal::SIGHUP, signal::SIGINT, signal::SIGPIPE].map(ignored), [true, false, true]);
        assert!(is_ignored(signal::SIGHUP, ""));
    }
}

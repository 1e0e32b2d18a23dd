//! Ctrl-C, once and twice.

use std::{
    io, iter,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicI32, Ordering::Relaxed},
    },
    thread::{self, Thread},
    time::{Duration, Instant},
};

use signal_hook::{consts::signal, low_level};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use crate::process;

/// How long a start that was interrupted may take to end by itself; hooks have two seconds of it.
const START: Duration = Duration::from_secs(4);

/// What comes this soon after the first signal has the same cause: `timeout` signals its child and then the
/// whole group, and a terminal that closes tells both the shell and its children.
const ECHO: Duration = Duration::from_millis(500);

/// Interrupts the work at the first signal, so that it can end cleanly, and ends the process with all that it
/// has started at the second, with the code that shells expect of a program that a signal ended. Before the
/// work has `begun` the first one is enough, whatever the start is waiting for.
///
/// It listens on a thread of its own: however many threads a mod keeps busy, this one is awake. And
/// no exit handler runs: a mod that hangs while it is being loaded would hold those up.
pub(super) fn interrupt_on_signal(
    what: &'static str,
    cancel: CancellationToken,
    begun: Arc<AtomicBool>,
) -> io::Result<()> {
    let signals = signals()?;
    let first = Arc::new(AtomicI32::new(0));
    let given_up = end_of_start(Arc::clone(&first), begun)?;
    let mut heard = Heard::default();
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        // What waking a task needs is made now.
        let _none = Handle::try_current();
        for number in signals {
            match heard.hear(Instant::now(), cancel.is_cancelled()) {
                Meaning::Interrupt => {
                    anstream::eprintln!("interrupting {what}; once more ends it at once");
                    first.store(number, Relaxed);
                    given_up.unpark();
                    cancel.cancel();
                }
                Meaning::Echo => {}
                Meaning::End => end(number),
            }
        }
    })?;
    Ok(())
}

/// What a signal is meant to say.
#[derive(Debug, PartialEq, Eq)]
enum Meaning {
    Interrupt,
    Echo,
    End,
}

/// When the first signal came.
#[derive(Default)]
struct Heard(Option<Instant>);

impl Heard {
    fn hear(&mut self, now: Instant, interrupted: bool) -> Meaning {
        match self.0 {
            Some(first) if now.saturating_duration_since(first) < ECHO => Meaning::Echo,
            None if !interrupted => {
                self.0 = Some(now);
                Meaning::Interrupt
            }
            _ => Meaning::End,
        }
    }
}

/// Makes the thread that ends a start which does not end by itself once it is interrupted.
///
/// Neither thread begins, or uses for the first time, anything that is local to a thread once mods load: a
/// mod that hangs in its constructor holds the system's loader, and that has to be asked.
fn end_of_start(first: Arc<AtomicI32>, begun: Arc<AtomicBool>) -> io::Result<Thread> {
    let thread = thread::Builder::new().name("start".to_owned()).spawn(move || {
        while first.load(Relaxed) == 0 {
            thread::park();
        }
        thread::sleep(START);
        if !begun.load(Relaxed) {
            end(first.load(Relaxed));
        }
    })?;
    Ok(thread.thread().clone())
}

/// Ends the process as a signal would.
fn end(number: i32) -> ! {
    process::end_all();
    registry::fetch::end_programs();
    low_level::exit(128 + number)
}

/// The signals that come, one after the other.
#[cfg(unix)]
fn signals() -> io::Result<impl Iterator<Item = i32> + Send + 'static> {
    let mut signals = signal_hook::iterator::Signals::new(handled())?;
    Ok(iter::from_fn(move || signals.forever().next()))
}

#[cfg(not(unix))]
fn signals() -> io::Result<impl Iterator<Item = i32> + Send + 'static> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut pressed = {
        let _inside = runtime.enter();
        tokio::signal::windows::ctrl_c()?
    };
    Ok(iter::from_fn(move || runtime.block_on(pressed.recv()).map(|()| signal::SIGINT)))
}

/// A terminal that goes away ends the run as well, or else what a tool has started would run on; not a
/// run that `nohup` has started.
#[cfg(unix)]
fn handled() -> Vec<i32> {
    let status = std::fs::read_to_string("/proc/self/status").ok();
    let hang_up = status.is_some_and(|status| !is_ignored(signal::SIGHUP, &status));
    [signal::SIGINT, signal::SIGTERM].into_iter().chain(hang_up.then_some(signal::SIGHUP)).collect()
}

/// Whether a process ignores a signal, by its `/proc/PID/status`; one whose line cannot be read does.
#[cfg(unix)]
fn is_ignored(number: i32, status: &str) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(u64::MAX);
    mask & (1 << (number - 1)) != 0
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_that_follows_at_once_is_the_same_one_and_a_later_one_is_the_second() {
        let start = Instant::now();
        let mut heard = Heard::default();
        let mut hear = |millis, interrupted| heard.hear(start + Duration::from_millis(millis), interrupted);
        let meanings = [hear(0, false), hear(0, true), hear(499, true), hear(500, true)];
        assert_eq!(meanings, [Meaning::Interrupt, Meaning::Echo, Meaning::Echo, Meaning::End]);
        assert_eq!(Heard::default().hear(start, true), Meaning::End, "something else has interrupted it");
    }

    #[test]
    fn a_signal_is_ignored_where_its_bit_is_set() {
        let status =
            "Name:\tcmd\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000001001\nSigCgt:\t0000000000000002\n";
        let ignored = |number| is_ignored(number, status);
        assert_eq!([signal::SIGHUP, signal::SIGINT, signal::SIGPIPE].map(ignored), [true, false, true]);
        assert!(is_ignored(signal::SIGHUP, ""));
    }
}

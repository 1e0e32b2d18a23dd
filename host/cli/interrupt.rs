//! Ctrl-C, once and twice.

use std::{io, thread};

use signal_hook::{consts::signal, iterator::Signals, low_level};
use tokio_util::sync::CancellationToken;

/// Interrupts a run at the first signal, so that it can end cleanly, and ends the process at the
/// second, with the code that shells expect of a program that a signal ended.
///
/// It listens on a thread of its own: however many threads a mod keeps busy, this one is awake. And the
/// second signal runs no exit handler: a mod that hangs while it is being loaded would hold those up.
pub(super) fn interrupt_on_signal(cancel: CancellationToken) -> io::Result<()> {
    let mut signals = Signals::new([signal::SIGINT, signal::SIGTERM])?;
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        for number in &mut signals {
            if cancel.is_cancelled() {
                low_level::exit(128 + number);
            }
            anstream::eprintln!("interrupting the run; once more ends it at once");
            cancel.cancel();
        }
    })?;
    Ok(())
}

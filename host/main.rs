//! Entry of `cmd`.

use std::io::Write;

use host::cli::{self, Process};

fn main() -> ! {
    let code = match Process::current() {
        Ok(process) => cli::run(&process),
        Err(error) => {
            anstream::eprintln!("error: {error}");
            1
        }
    };
    // A stream that is closed has nobody to be told of it.
    let _closed = std::io::stdout().flush();
    // No exit handlers: a mod that hangs in its constructor would hold them up for ever.
    signal_hook::low_level::exit(code.into())
}

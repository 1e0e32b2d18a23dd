//! Rings the terminal's bell when a run is over, where somebody is there to hear it.
//!
//! It shows an observer that does something outside, and can fail: what it returns is told as a `mod_error`.
#![forbid(unsafe_code)]

use std::{fs::OpenOptions, io::Write};

use mod_interface::prelude::*;

export_mod!(completion_bell);

const BELL: &[u8] = b"\x07";

async fn completion_bell(cmd: ModApi) -> Result<()> {
    let terminal = cmd.flag(Flag::string("terminal").default("/dev/tty").description("What rings"))?;
    cmd.on(EventKind::RunEnd, move |event| {
        // A sub-agent's run ends inside of another.
        if event.agent_id() == MAIN_AGENT && event.ctx().ui().is_interactive() {
            OpenOptions::new().append(true).open(&terminal)?.write_all(BELL)?;
        }
        Ok(())
    })?;
    Ok(())
}

//! The jobs of `overhead` in a mod whose code runs inside a tokio runtime of its own: what that costs.
#![forbid(unsafe_code)]

use mod_interface::export_mod;
// The jobs use it.
use serde as _;

// Compiled here too, as a library exports one mod.
#[path = "../../overhead/src/jobs.rs"]
#[allow(unreachable_pub, reason = "public in the other mod")]
mod jobs;

export_mod!(jobs::overhead, runtime);

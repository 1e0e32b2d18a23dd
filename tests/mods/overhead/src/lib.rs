//! The jobs that `benches/hook_overhead` measures.
#![forbid(unsafe_code)]

use mod_interface::export_mod;

mod jobs;

pub use jobs::{NEVER, SAID, Shell, overhead, pending_for};

export_mod!(overhead);

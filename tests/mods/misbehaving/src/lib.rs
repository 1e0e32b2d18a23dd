//! Does each bad thing that a mod can do: `--mod-option misbehaving.how=<how>`, at the hook that
//! `misbehaving.at` names (`factory`, `tool`, `observer` or a hook's wire name).
//!
//! With the variable `MISBEHAVING_CONSTRUCTOR` set, its constructor never returns (`hang`), leaves a mark
//! (a path), or does both (`hang:` and a path).

mod bad;

use mod_interface::prelude::*;

export_mod!(bad::misbehaving);

/// Runs inside dlopen, before anything of the mod can be asked for.
#[used]
#[cfg_attr(target_os = "linux", unsafe(link_section = ".init_array"))]
static CONSTRUCTOR: extern "C" fn() = {
    extern "C" fn constructor() {
        match std::env::var("MISBEHAVING_CONSTRUCTOR").as_deref() {
            Err(_) => {}
            Ok("hang") => bad::block(),
            Ok(mark) => {
                let (hangs, mark) = mark.strip_prefix("hang:").map_or((false, mark), |mark| (true, mark));
                drop(std::fs::write(mark, "the constructor ran"));
                if hangs {
                    bad::block()
                }
            }
        }
    }
    constructor
};

//! Today's interface with a fourteenth hook: `build.rs` makes it of `mod-interface/src`.
#![allow(non_local_definitions, unused_braces)]

include!(concat!(env!("OUT_DIR"), "/interface/lib.rs"));

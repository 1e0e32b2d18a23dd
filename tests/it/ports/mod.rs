//! Mods of other harnesses, written anew as native ones: each runs as a shared library, and does what can be observed
//! of the one that it ports.

mod cache_tracker;
mod cmd_mod_hi;
mod hex_color_swatch;
mod hooku;
mod quality_guards;
mod tamagotchi;
mod write_quota;

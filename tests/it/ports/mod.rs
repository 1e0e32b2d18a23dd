//! Mods of other harnesses, written anew as native ones: each runs as a shared library, and does what can be observed
//! of the one that it ports.

mod cache_tracker;
mod clock;
mod cmd_mod_hi;
mod file_rules;
mod guards;
mod hex_color_swatch;
mod hooku;
mod prompts;
mod quality_guards;
mod tamagotchi;
mod tools;
mod write_quota;

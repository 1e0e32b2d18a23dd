//! Mods of other harnesses, written anew as native ones: each runs as a shared library, and does what can be observed
//! of the one that it ports.

mod bell;
mod cache_tracker;
mod clock;
mod cmd_mod_hi;
mod file_rules;
mod guards;
mod hex_color_swatch;
mod hooku;
mod memory;
mod prompts;
mod quality_guards;
mod tamagotchi;
mod tools;
mod trigger_compact;
mod write_quota;

//! The integration tests, one binary.

// The lint knows test functions, but not the functions that they share.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[cfg(target_os = "linux")]
mod active_tools;
mod anthropic;
mod architecture;
#[cfg(target_os = "linux")]
mod bad_files;
#[cfg(target_os = "linux")]
mod bad_input;
#[cfg(target_os = "linux")]
mod behaving;
mod bench_promises;
mod built_in_mods;
#[cfg(target_os = "linux")]
mod catalogue;
#[cfg(target_os = "linux")]
mod channels;
#[cfg(target_os = "linux")]
mod compaction;
#[cfg(target_os = "linux")]
mod discovery;
mod dropped;
mod embed;
#[cfg(target_os = "linux")]
mod example_mods;
#[cfg(target_os = "linux")]
mod flags;
#[cfg(target_os = "linux")]
mod garbage;
#[cfg(target_os = "linux")]
mod interface;
mod interrupt;
mod interrupted;
#[cfg(target_os = "linux")]
mod isolation;
mod journal;
#[cfg(target_os = "linux")]
mod live;
#[cfg(target_os = "linux")]
mod load_chain;
#[cfg(target_os = "linux")]
mod merges;
mod mod_calls;
#[cfg(target_os = "linux")]
mod mod_options;
#[cfg(target_os = "linux")]
mod modes;
mod mods;
mod mods_bench;
mod mods_commands;
#[cfg(target_os = "linux")]
mod mods_json;
#[cfg(target_os = "linux")]
mod mods_names;
mod mods_new;
#[cfg(target_os = "linux")]
mod no_session;
mod observers;
#[cfg(target_os = "linux")]
mod odd_calls;
mod openai;
mod openai_cmd;
mod openai_responses;
#[cfg(target_os = "linux")]
mod order;
#[cfg(target_os = "linux")]
mod packages;
#[cfg(target_os = "linux")]
mod packages_faults;
#[cfg(target_os = "linux")]
mod packages_git;
#[cfg(target_os = "linux")]
mod packages_npm;
#[cfg(target_os = "linux")]
mod packages_signed;
#[cfg(target_os = "linux")]
mod ports;
mod print_mode;
mod print_permissions;
mod provider_sample;
mod providers;
#[cfg(target_os = "linux")]
mod registration;
mod resume;
#[cfg(target_os = "linux")]
mod screen;
#[cfg(target_os = "linux")]
mod session_entries;
#[cfg(target_os = "linux")]
mod session_faults;
#[cfg(target_os = "linux")]
mod session_kills;
#[cfg(target_os = "linux")]
mod session_tree;
#[cfg(target_os = "linux")]
mod sessions;
mod slash_commands;
mod slow_hooks;
mod subagents;
#[path = "../support/mod.rs"]
mod support;
#[cfg(target_os = "linux")]
mod test_host;
mod timing;
mod tool_input;
mod tool_inputs;
#[cfg(target_os = "linux")]
mod trust;

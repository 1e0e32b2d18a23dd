//! An agent driven by a scripted model: what a run tells, asks and leaves behind, line by line.

mod compaction;
mod diagram;
pub(crate) mod fakes;
mod intake;
mod interruption;
mod merges;
mod order;
mod permissions;
mod recovery;
mod stop_reasons;
mod stopping;
mod subagents;
mod tool_hooks;
mod tools;
mod turn_hooks;
mod wire;

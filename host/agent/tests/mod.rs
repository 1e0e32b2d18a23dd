//! An agent driven by a scripted model: what a run tells, asks and leaves behind, line by line.

pub(crate) mod fakes;
mod interruption;
mod merges;
mod order;
mod stopping;
mod tool_hooks;
mod tools;
mod turn_hooks;
mod wire;

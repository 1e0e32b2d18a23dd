//! The command line.
mod args;

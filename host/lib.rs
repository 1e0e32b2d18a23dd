//! The harness: everything that `cmd` does, as a library.
//!
//! # In a program of your own
//!
//! A [`Harness`](harness::Harness) is a session. [`Harness::builder`](harness::Harness::builder) takes what it is made
//! of, `start` makes the mods' host, loads the mods, in the order compiled in, named, installed, and binds the session;
//! `prompt` runs a prompt to its end, and `end` tears down. Nothing is read from the environment: folders, settings and
//! keys come in as values. What is not given is harmless: every permission question is denied, dialogs of mods are
//! answered as by nobody, and no mod of the project is loaded.
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use host::{
//!     harness::{Harness, Prompted},
//!     settings::Places,
//! };
//! use mod_interface::{builtin_mod, prelude::*, types::{AgentEvent, SessionEndReason}};
//! use tokio_util::sync::CancellationToken;
//!
//! /// A mod of this program: written like any other, only compiled in.
//! async fn polite(cmd: ModApi) -> Result<()> {
//!     cmd.hooks(Hooks::new().append_system_prompt_sync(|_, _| Ok(Some("Be polite.".to_owned()))))?;
//!     Ok(())
//! }
//!
//! # async fn run() -> std::result::Result<(), Box<dyn std::error::Error>> {
//! let places = Places::new("/srv/checkout".into(), Some("/srv/agent".into()), None)?;
//! let harness = Harness::builder()
//!     .places(places)
//!     .model(Some("anthropic/claude-sonnet-5".to_owned()))
//!     .built_in("polite", builtin_mod!("polite", polite))
//!     .mods(["/srv/mods/libreview_guard.so".into()])
//!     .sink(Arc::new(|event: &AgentEvent| eprintln!("{}", event.payload.kind().as_str())))
//!     .start()
//!     .await?;
//! // A mod that does not load is no failed start. Whoever counts on one says so.
//! if let Some(warning) = harness.warnings().first() {
//!     return Err(warning.to_string().into());
//! }
//! if let Prompted::Ran(outcome) = harness.prompt("What is this?", &CancellationToken::new()).await {
//!     println!("{}", outcome.result.final_text);
//! }
//! harness.end(SessionEndReason::Shutdown).await;
//! # Ok(())
//! # }
//! ```
//!
//! A tool of the program's own is a [`Tool`](tools::Tool), its answer to permission questions an
//! [`Ask`](agent::Ask), its models a [`Provider`](providers::Provider), its way to ask a person a [`Ui`](ui::Ui):
//! `examples/embed.rs` has them, and runs as it is.
//!
//! # Mods without an agent
//!
//! The harness makes the mods' host itself, as the two share tools, models, events and the person at the keyboard, and
//! as the tools of the harness must have their names before a mod asks for one;
//! [`Harness::mods`](harness::Harness::mods) is it. Whoever wants mods and has a loop of their own makes one:
//!
//! ```no_run
//! use std::{path::Path, time::Duration};
//!
//! use host::{
//!     hooks::Mods,
//!     mod_host::{Code, ModHost, ModHostConfig, Origin, Plan, Planned},
//! };
//! use mod_interface::types::Hook;
//!
//! # async fn load() -> Result<(), Box<dyn std::error::Error>> {
//! let mods = ModHost::new(ModHostConfig::alone(Path::new("/srv/checkout"), Duration::from_secs(10)));
//! let path = "/srv/mods/libreview_guard.so".into();
//! let origin = Origin::Session { path: "/srv/mods/libreview_guard.so".into() };
//! let plan = Plan { mods: vec![Planned { origin, code: Code::Library { path, expected: None } }], ..Plan::default() };
//! let loaded = mods.load(plan, |_disabled| false).await?;
//! assert!(loaded.warnings.is_empty());
//! println!("{} handlers", mods.handlers().of(Hook::BeforeToolCall).len());
//! # Ok(())
//! # }
//! ```
#![allow(missing_docs)]

pub mod agent;
pub mod builtin;
pub mod cli;
pub mod events;
mod files;
pub mod harness;
pub mod hooks;
pub mod mod_host;
pub mod process;
pub mod providers;
pub mod session;
pub mod settings;
pub mod tools;
pub mod ui;

/// What the README shows compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

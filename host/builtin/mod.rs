//! The first-party mods: compiled in, registered first, and written on the same SDK as any other.
//!
//! - `provider-openai`: the providers `openai` and `openai-responses`.
//! - `provider-anthropic`: the provider `anthropic`.
//! - `titling`: names a session after the first line that a person said in it. It observes, and has no hook.
//!
//! Each is turned off by its name in `mods.disabled`. How their models are reached comes as their options `base-url`
//! and `api-key`, which the harness sets and `--mod-option` can set too. `empty` are what `cmd mods bench` measures
//! others beside.

mod empty;
mod forward;
mod titling;

use std::sync::Arc;

use mod_interface::{abi::ModRootRef, builtin_mod, prelude::*};

pub(crate) use empty::empty;

use crate::providers::{Access, anthropic, openai};

/// The mod of OpenAI's APIs.
pub(crate) const OPENAI: &str = "provider-openai";
/// The mod of Anthropic's API.
pub(crate) const ANTHROPIC: &str = "provider-anthropic";
/// The mod that names sessions.
const TITLING: &str = "titling";
/// The option of the address.
pub(crate) const BASE_URL: &str = "base-url";
/// The option of the key.
pub(crate) const API_KEY: &str = "api-key";

/// The built-in mods by name, in load order.
pub(crate) fn roots() -> Vec<(&'static str, ModRootRef)> {
    vec![
        (OPENAI, builtin_mod!(OPENAI, provider_openai)),
        (ANTHROPIC, builtin_mod!(ANTHROPIC, provider_anthropic)),
        (TITLING, builtin_mod!(TITLING, titling::titling)),
    ]
}

/// The providers that the built-in mod of that name has.
pub(crate) fn providers_of(name: &str) -> &'static [&'static str] {
    match name {
        OPENAI => &[openai::ID, openai::responses::ID],
        ANTHROPIC => &[anthropic::ID],
        _ => &[],
    }
}

async fn provider_openai(cmd: ModApi) -> Result<()> {
    let access = access(&cmd)?;
    forward::add(&cmd, Arc::new(openai::OpenAi::new(access.clone())))?;
    forward::add(&cmd, Arc::new(openai::responses::Responses::new(access)))
}

async fn provider_anthropic(cmd: ModApi) -> Result<()> {
    forward::add(&cmd, Arc::new(anthropic::Anthropic::new(access(&cmd)?)))
}

fn access(cmd: &ModApi) -> Result<Access> {
    Ok(Access { base_url: cmd.get_flag(BASE_URL)?, api_key: cmd.get_flag(API_KEY)? })
}

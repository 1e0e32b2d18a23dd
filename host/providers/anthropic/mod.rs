//! Anthropic's Messages, and what speaks the same.
//!
//! - **Reasoning** comes when an effort is chosen: as a budget of tokens for Claude up to 4.5 and for models of
//!   other names, adaptive for later ones, which take no budget. Its signature goes back with it.
//! - **The prompt cache** is told where to break: behind the system prompt (or the tools, where there is none), and
//!   behind the last two messages of the user's side. So each call reads what the one before it wrote.
//! - **The longest answer** must be said in each request: 32,000 tokens, less for Claude before 3.7.

mod event;
mod model;
mod request;

use self::event::Decoder;
use super::{
    Access, ModelRequest, ModelStream, Provider, ProviderError,
    endpoint::{Api, Connection, json},
};

/// The provider's id.
pub const ID: &str = "anthropic";

/// `ANTHROPIC_BASE_URL` is the address before `/v1/messages`, with or without the `/v1`.
const MESSAGES: Api = Api {
    provider: ID,
    key_variable: "ANTHROPIC_API_KEY",
    base_variable: "ANTHROPIC_BASE_URL",
    official: "https://api.anthropic.com",
    example: "http://127.0.0.1:8080",
    path: &["v1", "messages"],
    authorization: ("x-api-key", ""),
    headers: &[("anthropic-version", "2023-06-01")],
};

/// The provider `anthropic`.
pub struct Anthropic(Connection);

impl Anthropic {
    /// A provider that reaches the endpoint as `access` says. Nothing is opened or read before a call.
    pub fn new(access: Access) -> Self {
        Self(Connection::new(&MESSAGES, access))
    }
}

impl Provider for Anthropic {
    fn id(&self) -> &str {
        ID
    }

    fn prepare(&self, _model: &str) -> Result<(), ProviderError> {
        self.0.check()
    }

    fn stream(&self, request: ModelRequest) -> ModelStream {
        self.0.call::<Decoder>(request, |request| json(&request::body(request)))
    }
}

#[cfg(test)]
mod tests;

//! OpenAI's Responses.
//!
//! Nothing is kept at the server: each request has the whole conversation. Where an effort is chosen, what the
//! model reasoned comes encrypted and goes back with the conversation; without one it is not asked for, since a
//! model that does not reason refuses the question.

mod event;
mod request;

use self::event::Decoder;
use super::CHAT;
use crate::providers::{
    Access, ModelRequest, ModelStream, Provider, ProviderError,
    endpoint::{Api, Connection, json},
};

/// The provider's id.
pub const ID: &str = "openai-responses";

/// With the key and the address of Chat Completions.
const RESPONSES: Api = Api { path: &["responses"], ..CHAT };

/// The provider `openai-responses`.
pub struct Responses(Connection);

impl Responses {
    /// A provider that reaches the endpoint as `access` says. Nothing is opened or read before a call.
    pub fn new(access: Access) -> Self {
        Self(Connection::new(&RESPONSES, access))
    }
}

impl Provider for Responses {
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

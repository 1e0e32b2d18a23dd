//! OpenAI's Chat Completions, and everything that speaks the same. `openai-responses` is the newer API.

mod chunk;
mod request;
pub mod responses;

use self::chunk::Decoder;
use super::{
    Access, ModelRequest, ModelStream, Provider, ProviderError,
    endpoint::{Api, Connection, json},
};

/// The provider's id.
pub const ID: &str = "openai";

/// `OPENAI_BASE_URL` is the address before `/chat/completions`.
const CHAT: Api = Api {
    provider: ID,
    key_variable: "OPENAI_API_KEY",
    base_variable: "OPENAI_BASE_URL",
    official: "https://api.openai.com/v1",
    example: "http://127.0.0.1:8080/v1",
    path: &["chat", "completions"],
    authorization: ("authorization", "Bearer "),
    headers: &[],
};

/// The provider `openai`.
pub struct OpenAi(Connection);

impl OpenAi {
    /// A provider that reaches the endpoint as `access` says. Nothing is opened or read before a call.
    pub fn new(access: Access) -> Self {
        Self(Connection::new(&CHAT, access))
    }
}

impl Provider for OpenAi {
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

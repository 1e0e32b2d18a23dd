//! OpenAI's Chat Completions, and everything that speaks the same.
//!
//! The key goes into one header of requests to the configured address and nowhere else: not into a
//! message, not into `Debug` output, and out of what a server sends back.

mod chunk;
mod failure;
mod request;

use std::{
    fmt,
    sync::{Arc, OnceLock},
};

use futures::{StreamExt, TryStreamExt, stream};
use reqwest::{Client, Response, Url, header};

use self::{chunk::Decoder, failure::Redactor};
use super::{ModelEvent, ModelRequest, ModelStream, Provider, ProviderError, http, sse::SseParser};

/// The provider's id.
pub const ID: &str = "openai";

const OFFICIAL_BASE_URL: &str = "https://api.openai.com/v1";

/// How to reach the endpoint.
#[derive(Clone, Default)]
pub struct OpenAiConfig {
    /// `OPENAI_BASE_URL`: the address before `/chat/completions`; the official one when it is not set.
    pub base_url: Option<String>,
    /// `OPENAI_API_KEY`.
    pub api_key: Option<String>,
}

impl fmt::Debug for OpenAiConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let api_key = self.api_key.as_ref().map(|_| "***");
        f.debug_struct("OpenAiConfig").field("base_url", &self.base_url).field("api_key", &api_key).finish()
    }
}

/// The provider `openai`.
pub struct OpenAi {
    config: OpenAiConfig,
    /// Made at the first call: a run with another model does not pay for it.
    endpoint: OnceLock<Result<Arc<Endpoint>, ProviderError>>,
}

/// Where requests go, and with what.
struct Endpoint {
    client: Client,
    url: Url,
    authorization: header::HeaderValue,
    redactor: Redactor,
}

impl OpenAi {
    /// A provider that reaches the endpoint of `config`. Nothing is opened or read before a call.
    pub fn new(config: OpenAiConfig) -> Self {
        Self { config, endpoint: OnceLock::new() }
    }

    fn endpoint(&self) -> Result<Arc<Endpoint>, ProviderError> {
        self.endpoint.get_or_init(|| Endpoint::open(&self.config).map(Arc::new)).clone()
    }
}

impl Provider for OpenAi {
    fn id(&self) -> &str {
        ID
    }

    fn prepare(&self, _model: &str) -> Result<(), ProviderError> {
        self.endpoint().map(|_| ())
    }

    fn stream(&self, request: ModelRequest) -> ModelStream {
        let endpoint = self.endpoint();
        stream::once(async move {
            let endpoint = endpoint?;
            let response = endpoint.send(&request).await?;
            Ok::<_, ProviderError>(events(response, endpoint))
        })
        .try_flatten()
        .boxed()
    }
}

impl Endpoint {
    fn open(config: &OpenAiConfig) -> Result<Self, ProviderError> {
        let url = completions_url(config.base_url.as_deref().unwrap_or(OFFICIAL_BASE_URL))?;
        let key = config.api_key.as_deref().map(str::trim).filter(|key| !key.is_empty()).ok_or_else(|| {
            ProviderError::fatal(
                "no key for the model provider openai: set OPENAI_API_KEY (with OPENAI_BASE_URL at a server on \
                 this machine, any value will do)",
            )
        })?;
        let mut authorization = header::HeaderValue::try_from(format!("Bearer {key}")).map_err(|_| {
            ProviderError::fatal("the key in OPENAI_API_KEY holds characters that no key has: set it anew")
        })?;
        authorization.set_sensitive(true);
        let client = http::client(&url).map_err(ProviderError::Fatal)?;
        Ok(Self { client, url, authorization, redactor: Redactor::new(key) })
    }

    async fn send(&self, request: &ModelRequest) -> Result<Response, ProviderError> {
        let body = serde_json::to_vec(&request::body(request))
            .map_err(|error| ProviderError::fatal(format!("cannot write the request as JSON: {error}")))?;
        let response = self
            .client
            .post(self.url.clone())
            .header(header::AUTHORIZATION, self.authorization.clone())
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "text/event-stream")
            .body(body)
            .send()
            .await
            .map_err(|error| self.cut(&error))?;
        if response.status().is_success() && !failure::is_document(&response) {
            return Ok(response);
        }
        Err(failure::of_response(response, &self.redactor).await)
    }

    fn cut(&self, error: &reqwest::Error) -> ProviderError {
        let origin = self.url.origin().ascii_serialization();
        let message = format!("cannot talk to {origin}: {}", http::chain(error));
        if http::is_untrusted(error) {
            ProviderError::Fatal(message)
        } else {
            ProviderError::retryable(message)
        }
    }
}

fn completions_url(base: &str) -> Result<Url, ProviderError> {
    let unusable = |why: &str| {
        ProviderError::fatal(format!(
            "OPENAI_BASE_URL must be like http://127.0.0.1:8080/v1 or {OFFICIAL_BASE_URL}, {why}"
        ))
    };
    let mut url = Url::parse(base.trim()).map_err(|error| unusable(&format!("got no address: {error}")))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(unusable(&format!("got another kind of address: {}", url.scheme())));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(unusable("got one with a user name or password in it: put the key into OPENAI_API_KEY"));
    }
    if let Ok(mut path) = url.path_segments_mut() {
        path.pop_if_empty().extend(["chat", "completions"]);
    }
    Ok(url)
}

/// The events of a response's body.
fn events(response: Response, endpoint: Arc<Endpoint>) -> ModelStream {
    struct Reading<B> {
        body: B,
        parser: SseParser,
        decoder: Decoder,
        endpoint: Arc<Endpoint>,
    }
    let reading = Reading {
        body: response.bytes_stream(),
        parser: SseParser::default(),
        decoder: Decoder::default(),
        endpoint,
    };
    stream::try_unfold(reading, |mut reading| async move {
        if let Some(event) = reading.decoder.next() {
            return Ok(Some((event, reading)));
        }
        if reading.decoder.is_done() {
            return Ok(None);
        }
        let redactor = &reading.endpoint.redactor;
        match reading.body.next().await {
            Some(Ok(bytes)) => {
                let events = reading.parser.push(&bytes);
                for data in events.map_err(|error| ProviderError::retryable(error.to_string()))? {
                    reading.decoder.push(&data, redactor)?;
                }
                Ok(Some((reading.decoder.next().unwrap_or(ModelEvent::Alive), reading)))
            }
            Some(Err(error)) => Err(reading.endpoint.cut(&error)),
            None => {
                reading.decoder.end_of_stream()?;
                Ok(reading.decoder.next().map(|event| (event, reading)))
            }
        }
    })
    .boxed()
}

#[cfg(test)]
mod tests;

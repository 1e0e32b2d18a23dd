//! What the providers share whose models are behind HTTP and answer with server-sent events.
//!
//! The key goes into one header of requests to the configured address and nowhere else: not into a
//! message, not into `Debug` output, and out of what a server sends back.

mod failure;
mod http;
mod sse;
mod told;

use std::{
    fmt,
    sync::{Arc, OnceLock},
};

use futures::{StreamExt, TryStreamExt, stream};
use reqwest::{
    Client, Response, Url,
    header::{self, HeaderMap, HeaderName, HeaderValue},
};
use serde::Serialize;

use self::sse::SseParser;
pub(super) use self::{
    failure::{Redactor, WireError},
    told::Told,
};
use super::{ModelEvent, ModelRequest, ModelStream, ProviderError};

/// How an API outside is reached.
#[derive(Clone, Default)]
pub struct Access {
    /// The address before the API's own path; the official one when it is not set.
    pub base_url: Option<String>,
    /// The key.
    pub api_key: Option<String>,
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let api_key = self.api_key.as_ref().map(|_| "***");
        f.debug_struct("Access").field("base_url", &self.base_url).field("api_key", &api_key).finish()
    }
}

/// What tells one API from another: where it is, and what people call that.
pub(super) struct Api {
    /// The name that people know its provider by.
    pub(super) provider: &'static str,
    /// Where the key is set.
    pub(super) key_variable: &'static str,
    /// Where the address is set.
    pub(super) base_variable: &'static str,
    /// The address, when none is set.
    pub(super) official: &'static str,
    /// What an address of a server on this machine is like.
    pub(super) example: &'static str,
    /// What follows the address; nothing of it stands there twice.
    pub(super) path: &'static [&'static str],
    /// The header of the key, and what stands before the key in it.
    pub(super) authorization: (&'static str, &'static str),
    /// The headers that every request has.
    pub(super) headers: &'static [(&'static str, &'static str)],
}

/// Makes events of the data of a response.
pub(super) trait Decode: Default + Send + 'static {
    /// What it has told.
    fn told(&mut self) -> &mut Told;

    /// Reads the data of a server-sent event, of a response that is not complete.
    fn read(&mut self, data: &str, redactor: &Redactor) -> Result<(), ProviderError>;

    /// Is told that nothing more comes, although the response is not complete.
    fn cut_off(&mut self) {}

    /// Takes the data of the next server-sent event.
    fn push(&mut self, data: &str, redactor: &Redactor) -> Result<(), ProviderError> {
        if self.told().is_done() { Ok(()) } else { self.read(data, redactor) }
    }

    /// Takes the end of the data.
    fn end_of_stream(&mut self) {
        if !self.told().is_done() {
            self.cut_off();
        }
    }
}

/// An API, and the way to it.
pub(super) struct Connection {
    api: &'static Api,
    access: Access,
    /// Made at the first call: a run with another model does not pay for it.
    endpoint: OnceLock<Result<Arc<Endpoint>, ProviderError>>,
}

/// Where requests go, and with what.
struct Endpoint {
    api: &'static Api,
    client: Client,
    url: Url,
    headers: HeaderMap,
    redactor: Redactor,
}

impl Connection {
    /// Nothing is opened or read before a call.
    pub(super) fn new(api: &'static Api, access: Access) -> Self {
        Self { api, access, endpoint: OnceLock::new() }
    }

    /// Makes sure that there is a key, and an address.
    pub(super) fn check(&self) -> Result<(), ProviderError> {
        self.endpoint().map(drop)
    }

    /// Makes one call: posts what `body` makes of the request, and reads the answer with a `D`.
    pub(super) fn call<D: Decode>(
        &self,
        request: ModelRequest,
        body: impl Fn(&ModelRequest) -> serde_json::Result<Vec<u8>> + Send + 'static,
    ) -> ModelStream {
        let endpoint = self.endpoint();
        stream::once(async move {
            let endpoint = endpoint?;
            let body = body(&request).map_err(|error| {
                ProviderError::fatal(format!("cannot write the request as JSON: {error}"))
            })?;
            let response = endpoint.post(body).await?;
            Ok::<_, ProviderError>(events::<D>(response, endpoint))
        })
        .try_flatten()
        .boxed()
    }

    fn endpoint(&self) -> Result<Arc<Endpoint>, ProviderError> {
        self.endpoint.get_or_init(|| Endpoint::open(self.api, &self.access).map(Arc::new)).clone()
    }
}

impl Endpoint {
    fn open(api: &'static Api, access: &Access) -> Result<Self, ProviderError> {
        let url = api.url(access.base_url.as_deref().unwrap_or(api.official))?;
        let key = access.api_key.as_deref().map(str::trim).filter(|key| !key.is_empty()).ok_or_else(|| {
            ProviderError::fatal(format!(
                "no key for the model provider {}: set {} (with {} at a server on this machine, any value will do)",
                api.provider, api.key_variable, api.base_variable
            ))
        })?;
        let headers = api.headers(key)?;
        let client = http::client(&url).map_err(ProviderError::Fatal)?;
        Ok(Self { api, client, url, headers, redactor: Redactor::new(key) })
    }

    async fn post(&self, body: Vec<u8>) -> Result<Response, ProviderError> {
        let request = self.client.post(self.url.clone()).headers(self.headers.clone()).body(body);
        let response = request.send().await.map_err(|error| self.cut(&error))?;
        if response.status().is_success() && !failure::is_document(&response) {
            return Ok(response);
        }
        Err(failure::of_response(response, self.api, &self.redactor).await)
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

impl Api {
    fn url(&self, base: &str) -> Result<Url, ProviderError> {
        let Self { base_variable, key_variable, example, official, .. } = self;
        let unusable = |why: &str| {
            ProviderError::fatal(format!("{base_variable} must be like {example} or {official}, {why}"))
        };
        let mut url =
            Url::parse(base.trim()).map_err(|error| unusable(&format!("got no address: {error}")))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(unusable(&format!("got another kind of address: {}", url.scheme())));
        }
        if !url.username().is_empty() || url.password().is_some() {
            let why = format!("got one with a user name or password in it: put the key into {key_variable}");
            return Err(unusable(&why));
        }
        let last = url.path_segments().and_then(|mut segments| segments.rfind(|it| !it.is_empty()));
        let has_first = last.is_some() && last == self.path.first().copied();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(&self.path[usize::from(has_first)..]);
        }
        Ok(url)
    }

    fn headers(&self, key: &str) -> Result<HeaderMap, ProviderError> {
        let (name, before) = self.authorization;
        let mut key = HeaderValue::try_from(format!("{before}{key}")).map_err(|_| {
            let variable = self.key_variable;
            ProviderError::fatal(format!(
                "the key in {variable} holds characters that no key has: set it anew"
            ))
        })?;
        key.set_sensitive(true);
        let mut headers = HeaderMap::new();
        headers.insert(HeaderName::from_static(name), key);
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(header::ACCEPT, HeaderValue::from_static("text/event-stream"));
        for (name, value) in self.headers {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        Ok(headers)
    }
}

/// The JSON of a body.
pub(super) fn json(body: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    serde_json::to_vec(body)
}

/// The events of a response's body.
fn events<D: Decode>(response: Response, endpoint: Arc<Endpoint>) -> ModelStream {
    struct Reading<B, D> {
        body: B,
        parser: SseParser,
        decoder: D,
        endpoint: Arc<Endpoint>,
    }
    let reading = Reading {
        body: response.bytes_stream(),
        parser: SseParser::default(),
        decoder: D::default(),
        endpoint,
    };
    stream::try_unfold(reading, |mut reading| async move {
        let told = reading.decoder.told();
        if let Some(event) = told.next() {
            return Ok(Some((event, reading)));
        }
        if told.is_done() {
            return Ok(None);
        }
        let redactor = &reading.endpoint.redactor;
        match reading.body.next().await {
            Some(Ok(bytes)) => {
                let events = reading.parser.push(&bytes);
                for data in events.map_err(|error| ProviderError::retryable(error.to_string()))? {
                    reading.decoder.push(&data, redactor)?;
                }
                Ok(Some((reading.decoder.told().next().unwrap_or(ModelEvent::Alive), reading)))
            }
            Some(Err(error)) => Err(reading.endpoint.cut(&error)),
            None => {
                reading.decoder.end_of_stream();
                Ok(reading.decoder.told().next().map(|event| (event, reading)))
            }
        }
    })
    .boxed()
}

/// Reads the data of an event of the stream.
pub(super) fn parse<'d, T: serde::Deserialize<'d>>(
    data: &'d str,
    redactor: &Redactor,
) -> Result<T, ProviderError> {
    serde_json::from_str(data).map_err(|error| {
        let start = redactor.excerpt(data);
        ProviderError::retryable(format!("got a broken piece of a response ({error}): {start}"))
    })
}

#[cfg(test)]
mod tests;

//! What an endpoint says when it does not answer.

use std::time::{Duration, SystemTime};

use futures::StreamExt;
use reqwest::{
    Response, StatusCode,
    header::{self, HeaderMap},
};
use serde::Deserialize;
use serde_json::Value;

use super::Api;
use crate::providers::ProviderError;

/// No more is read of what a server says of a failure.
const MAX_BODY_BYTES: usize = 64 * 1024;

/// No more is shown of it.
const MAX_SHOWN_CHARS: usize = 500;

/// A shorter key is no secret, and would be found in words that are none.
const MIN_KEY_BYTES: usize = 8;

/// Errors that every other try would meet too.
const FINAL_TYPES: &[&str] = &[
    "invalid_request_error",
    "authentication_error",
    "permission_error",
    "not_found_error",
    "invalid_api_key",
    "request_too_large",
    "billing_error",
];

/// Comes with the status of "too many requests", but waiting does not help.
const OUT_OF_QUOTA: &[&str] = &["insufficient_quota"];

/// Takes the key out of texts that a server wrote.
pub(in crate::providers) struct Redactor {
    key: Option<String>,
}

impl Redactor {
    pub(in crate::providers) fn new(key: &str) -> Self {
        Self { key: Some(key.to_owned()).filter(|key| key.len() >= MIN_KEY_BYTES) }
    }

    /// What is shown of `text`: its start, on one line, without the key.
    pub(in crate::providers) fn excerpt(&self, text: &str) -> String {
        let text = match &self.key {
            Some(key) => text.replace(key, "***"),
            None => text.to_owned(),
        };
        let words = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
        let line = words.collect::<Vec<_>>().join(" ");
        match line.char_indices().nth(MAX_SHOWN_CHARS) {
            Some((end, _)) => format!("{}…", &line[..end]),
            None => line,
        }
    }
}

/// The `error` of a response or of a chunk.
#[derive(Deserialize)]
#[serde(untagged)]
pub(in crate::providers) enum WireError {
    Details { message: Option<String>, r#type: Option<String>, code: Option<Value> },
    Text(String),
    Other(Value),
}

impl WireError {
    fn message(&self) -> String {
        match self {
            Self::Details { message: Some(message), .. } | Self::Text(message) => message.clone(),
            Self::Details { r#type, code, .. } => {
                let code = code.as_ref().map(Value::to_string);
                r#type.clone().or(code).unwrap_or_else(|| "no reason given".to_owned())
            }
            Self::Other(value) => value.to_string(),
        }
    }

    /// A status that stands in the error itself, as in the middle of a stream.
    fn status(&self) -> Option<u16> {
        let Self::Details { code: Some(code), .. } = self else { return None };
        match code {
            Value::Number(number) => number.as_u64().and_then(|number| number.try_into().ok()),
            Value::String(text) => text.parse().ok(),
            _ => None,
        }
    }

    /// Whether the type or the code is one of `words`.
    fn is_one_of(&self, words: &[&str]) -> bool {
        let Self::Details { r#type, code, .. } = self else { return false };
        let own = [r#type.as_deref(), code.as_ref().and_then(Value::as_str)];
        own.into_iter().flatten().any(|word| words.contains(&word))
    }

    /// An error that came in the middle of a stream.
    pub(in crate::providers) fn in_stream(&self, redactor: &Redactor) -> ProviderError {
        let message = format!("the model endpoint broke off: {}", redactor.excerpt(&self.message()));
        let is_final = match self.status() {
            Some(status) => !is_retryable(status),
            None => self.is_one_of(FINAL_TYPES) || self.is_one_of(OUT_OF_QUOTA),
        };
        if is_final { ProviderError::Fatal(message) } else { ProviderError::retryable(message) }
    }
}

fn is_retryable(status: u16) -> bool {
    matches!(status, 408 | 429 | 500..=599)
}

/// Whether a response is one document, and so not a stream.
pub(super) fn is_document(response: &Response) -> bool {
    is_json(response.headers()) || is_page(response.headers())
}

fn is_json(headers: &HeaderMap) -> bool {
    media_type(headers) == "application/json"
}

fn is_page(headers: &HeaderMap) -> bool {
    media_type(headers) == "text/html"
}

fn media_type(headers: &HeaderMap) -> &str {
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim()
}

/// Makes an error of a response that is not a stream of events.
pub(super) async fn of_response(response: Response, api: &Api, redactor: &Redactor) -> ProviderError {
    let (status, headers) = (response.status(), response.headers().clone());
    let body = read(response).await;
    if status.is_success() {
        return not_a_stream(api, &headers, &body, redactor);
    }
    let error = error_in(&body);
    let said = redactor.excerpt(&error.as_ref().map_or_else(|| plain(&headers, &body), WireError::message));
    let said = if said.is_empty() { String::new() } else { format!(": {said}") };
    // Some have a status that HTTP has no words for.
    let reason = status.canonical_reason().map(|reason| format!(" {reason}")).unwrap_or_default();
    let (code, advice) = (status.as_str(), advice(status, api, &headers, redactor));
    let message = format!("the model endpoint answered {code}{reason}{said}{advice}");
    if is_retryable(status.as_u16()) && !error.is_some_and(|error| error.is_one_of(OUT_OF_QUOTA)) {
        ProviderError::Retryable { message, retry_after: retry_after(&headers) }
    } else {
        ProviderError::Fatal(message)
    }
}

async fn read(response: Response) -> String {
    let mut bytes = Vec::new();
    let mut body = response.bytes_stream();
    // What came before the connection broke is better than nothing.
    while let Some(Ok(piece)) = body.next().await {
        bytes.extend_from_slice(&piece);
        if bytes.len() >= MAX_BODY_BYTES {
            bytes.truncate(MAX_BODY_BYTES);
            break;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn error_in(body: &str) -> Option<WireError> {
    #[derive(Deserialize)]
    struct Body {
        error: WireError,
    }
    serde_json::from_str(body).ok().map(|body: Body| body.error)
}

/// A web page says nothing that helps.
fn plain(headers: &HeaderMap, body: &str) -> String {
    if is_page(headers) { String::new() } else { body.to_owned() }
}

fn not_a_stream(api: &Api, headers: &HeaderMap, body: &str, redactor: &Redactor) -> ProviderError {
    if is_page(headers) {
        return ProviderError::fatal(format!(
            "the model endpoint answered with a web page: check {}",
            api.base_variable
        ));
    }
    match (error_in(body), serde_json::from_str::<serde::de::IgnoredAny>(body)) {
        (Some(error), _) => error.in_stream(redactor),
        (None, Ok(_)) => ProviderError::Fatal(format!(
            "the model endpoint did not stream its answer, got: {}",
            redactor.excerpt(body)
        )),
        (None, Err(error)) => ProviderError::retryable(format!(
            "the model endpoint answered with broken JSON ({error}): {}",
            redactor.excerpt(body)
        )),
    }
}

fn advice(status: StatusCode, api: &Api, headers: &HeaderMap, redactor: &Redactor) -> String {
    let (key, base) = (api.key_variable, api.base_variable);
    match status.as_u16() {
        300..=399 => {
            let location = headers.get(header::LOCATION).and_then(|value| value.to_str().ok());
            let location = redactor.excerpt(location.unwrap_or("nowhere"));
            format!("; redirects are not followed, set {base} to where it points: {location}")
        }
        401 | 403 => format!("; check {key}"),
        404 => format!("; check the model's name and {base}"),
        _ => String::new(),
    }
}

/// How long the server asks to wait: in milliseconds, in seconds, or until a date, which is taken by
/// the server's own clock.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let number = |name: &str| text(name).and_then(|text| text.parse::<f64>().ok());
    let seconds = number("retry-after-ms").map(|ms| ms / 1000.0).or_else(|| number("retry-after"));
    if let Some(seconds) = seconds {
        return Some(Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX));
    }
    let date = |name: &str| -> Option<SystemTime> { httpdate::parse_http_date(text(name)?).ok() };
    Some(date("retry-after")?.duration_since(date("date")?).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_read_in_every_form_that_servers_use() {
        let until = "Mon, 01 Jan 2035 10:00:09 GMT";
        let now = "Mon, 01 Jan 2035 10:00:00 GMT";
        let cases: [(&[_], _); 10] = [
            (&[], None),
            (&[("retry-after", "2")], Some(Duration::from_secs(2))),
            (&[("retry-after", " 1.5 ")], Some(Duration::from_millis(1500))),
            (&[("retry-after", "-1")], Some(Duration::ZERO)),
            (&[("retry-after", "1e300")], Some(Duration::MAX)),
            (&[("retry-after", "soon")], None),
            (&[("retry-after-ms", "250"), ("retry-after", "1")], Some(Duration::from_millis(250))),
            (&[("retry-after", until)], None),
            (&[("retry-after", until), ("date", now)], Some(Duration::from_secs(9))),
            (&[("retry-after", now), ("date", until)], Some(Duration::ZERO)),
        ];
        for (pairs, expected) in cases {
            let parse = |(name, value): &(&'static str, &str)| {
                (header::HeaderName::from_static(name), value.parse().unwrap())
            };
            let headers: HeaderMap = pairs.iter().map(parse).collect();
            assert_eq!(retry_after(&headers), expected, "{pairs:?}");
        }
    }

    #[test]
    fn a_text_of_the_server_is_shown_on_one_line_bounded_and_without_the_key() {
        let redactor = Redactor::new("sk-secret-1");
        assert_eq!(redactor.excerpt("bad\n key:\tsk-secret-1\u{1b}[0m "), "bad key: *** [0m");
        let long = format!("{}sk-secret-1", "é".repeat(495));
        assert_eq!(redactor.excerpt(&long), format!("{}***", "é".repeat(495)));
        assert_eq!(redactor.excerpt(&"é".repeat(501)), format!("{}…", "é".repeat(500)));
        assert_eq!(Redactor::new("any").excerpt("any key"), "any key");
    }
}

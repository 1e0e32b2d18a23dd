//! The models behind an OpenAI-compatible server, as `sample/MODEL`, reached with a reqwest of this library's own.
//!
//! `--mod-option provider-sample.base-url=…` says where the server is, the variable `SAMPLE_API_KEY` has the key.
#![forbid(unsafe_code)]

mod wire;

use std::{
    sync::{Arc, LazyLock},
    time::Duration,
};

use mod_interface::prelude::*;
use reqwest::{Client, Response, StatusCode, header::RETRY_AFTER};

use wire::{Lines, Piece};

export_mod!(provider_sample, runtime);

async fn provider_sample(cmd: ModApi) -> Result<()> {
    let base_url = cmd.get_flag("base-url")?.unwrap_or_else(|| "http://127.0.0.1:8080/v1".to_owned());
    let server =
        Arc::new(Server { url: format!("{base_url}/chat/completions"), client: LazyLock::new(client) });
    let provider = Provider::new("sample")
        .prepare(|_model| key().map(drop))
        .stream(move |request, sink| answer(Arc::clone(&server), request, sink));
    cmd.add_provider(provider)?;
    Ok(())
}

struct Server {
    url: String,
    /// Made at the first call: a run with another model does not pay for it.
    client: LazyLock<Client>,
}

fn client() -> Client {
    // Of this library's own rustls: the host's is another one.
    let _set_already = rustls::crypto::ring::default_provider().install_default();
    Client::new()
}

fn key() -> Result<String> {
    std::env::var("SAMPLE_API_KEY").map_err(|_| Error::msg("no key for sample: set SAMPLE_API_KEY"))
}

async fn answer(
    server: Arc<Server>,
    request: ModelRequest,
    mut sink: ModelSink,
) -> Result<ModelDone, ModelError> {
    let call = server.client.post(&server.url).bearer_auth(key()?).body(wire::body(&request)?);
    let mut response = call.header("content-type", "application/json").send().await?;
    if !response.status().is_success() {
        return Err(refused(response).await);
    }
    let (mut lines, mut done) = (Lines::default(), ModelDone::new("stop"));
    while let Some(bytes) = response.chunk().await? {
        for line in lines.push(&bytes) {
            for piece in wire::read(&line)? {
                match piece {
                    Piece::Said(piece) => sink.push(piece).await?,
                    Piece::Stopped(reason) => done.stop_reason = reason,
                    Piece::Usage(usage) => done.usage = usage,
                    Piece::Done => return Ok(done),
                }
            }
        }
    }
    Err(ModelError::retryable("the server broke off in the middle of its answer"))
}

/// What the server says when it does not answer.
async fn refused(response: Response) -> ModelError {
    let status = response.status();
    let wait = response.headers().get(RETRY_AFTER).and_then(|wait| wait.to_str().ok()?.parse().ok());
    let said = response.text().await.unwrap_or_default();
    let message = format!("the server answered {status}: {}", said.trim());
    if status != StatusCode::TOO_MANY_REQUESTS && !status.is_server_error() {
        return ModelError::fatal(message);
    }
    match wait {
        Some(seconds) => ModelError::retryable(message).retry_after(Duration::from_secs(seconds)),
        None => ModelError::retryable(message),
    }
}

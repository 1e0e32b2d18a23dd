//! The HTTP client of a provider.
//!
//! What a call does not need is not paid for: the roots of trust are read for https alone, which is
//! what takes most of the time and memory of a start.

use std::{error::Error, io, iter, net::IpAddr, sync::Arc, time::Duration};

use reqwest::{Client, Url, redirect};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// Makes a client for requests to `url`, or says why it cannot.
///
/// It follows no redirect: the key goes to the address that was configured, and to no other. A proxy
/// that the environment names is used, but not for an address of this machine.
pub(super) fn client(url: &Url) -> Result<Client, String> {
    let tls = tls(url.scheme() == "https").map_err(|error| format!("cannot set up TLS: {error}"))?;
    let builder = Client::builder()
        .tls_backend_preconfigured(tls)
        .user_agent(concat!("cmd/", env!("CARGO_PKG_VERSION")))
        .redirect(redirect::Policy::none())
        .connect_timeout(CONNECT_TIMEOUT);
    let builder = if is_loopback(url) { builder.no_proxy() } else { builder };
    builder.build().map_err(|error| format!("cannot set up the HTTP client: {}", chain(&error)))
}

fn tls(needed: bool) -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let config = if needed {
        config.with_platform_verifier()?
    } else {
        config.with_root_certificates(RootCertStore::empty())
    };
    Ok(config.with_no_client_auth())
}

/// Whether the address is on this machine.
fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    match host.trim_matches(['[', ']']).parse::<IpAddr>() {
        Ok(address) => address.is_loopback(),
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    }
}

/// An error with its causes and without its address, which may hold a secret.
pub(super) fn chain(error: &reqwest::Error) -> String {
    let texts: Vec<_> = causes(error).map(ToString::to_string).collect();
    if texts.is_empty() { "the request failed".to_owned() } else { texts.join(": ") }
}

/// Whether the server's certificate is not to be trusted: that does not pass with time.
pub(super) fn is_untrusted(error: &reqwest::Error) -> bool {
    causes(error).filter_map(|cause| cause.downcast_ref::<io::Error>()).any(|cause| {
        let inner = cause.get_ref().and_then(|inner| inner.downcast_ref());
        matches!(inner, Some(rustls::Error::InvalidCertificate(_)))
    })
}

fn causes(error: &reqwest::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    iter::successors(error.source(), |cause| (*cause).source())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_this_machine_are_known_as_such() {
        let is = |url: &str| is_loopback(&Url::parse(url).unwrap());
        for url in ["http://localhost:1", "http://a.localhost", "http://127.0.0.9", "https://[::1]:8/v1"] {
            assert!(is(url), "{url}");
        }
        for url in ["http://localhost.example", "http://128.0.0.1", "http://[::2]", "https://example.com"] {
            assert!(!is(url), "{url}");
        }
    }
}

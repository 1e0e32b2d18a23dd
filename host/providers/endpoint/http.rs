//! The HTTP client of a provider.
//!
//! What a call does not need is not paid for: the roots of trust are read for https alone, which is
//! what takes most of the time and memory of a start.

use std::{error::Error, io, iter, net::IpAddr, sync::Arc, time::Duration};

use reqwest::{Client, Url, redirect};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt;

/// For the connection with its TLS; a server that is there needs a fraction of it.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);

/// Makes a client for requests to `url`, or says why it cannot.
///
/// It follows no redirect: the key goes to the address that was configured, and to no other. A proxy
/// that the environment names is used, but not for an address of this machine.
pub(super) fn client(url: &Url) -> Result<Client, String> {
    let tls = tls(url.scheme() == "https").map_err(|error| {
        format!(
            "cannot set up TLS: {error}; install the system's CA certificates, or name a file of them in SSL_CERT_FILE"
        )
    })?;
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
    causes(error).any(|cause| {
        // An error of I/O does not name the one that it holds as its source.
        let mut innermost = cause;
        while let Some(inner) = innermost.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            innermost = inner;
        }
        matches!(innermost.downcast_ref(), Some(rustls::Error::InvalidCertificate(_)))
    })
}

fn causes(error: &reqwest::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    iter::successors(error.source(), |cause| (*cause).source())
}

#[cfg(test)]
mod tests {
    use std::{
        io::Write,
        net::{TcpListener, TcpStream},
        thread,
    };

    use rustls::{
        ServerConfig, ServerConnection,
        pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    };

    use super::*;

    /// A certificate that nobody signed, and its key, in base64.
    const CERTIFICATE: &str = "MIIBkTCCATigAwIBAgIUDhvxB+xxXEfY9255+ek1PhRsfvcwCgYIKoZIzj0EAwIwFDESMBAGA1UEAwwJbG9jYWxob3\
        N0MCAXDTI2MTEzMDE3NDIzNFoYDzIxMjYxMTA2MTc0MjM0WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjO\
        PQIBBggqhkjOPQMBBwNCAARmvNN7RvfuBsr5X7RkOXYjbmP+iThQgGcz7me8lsXrjrK4+9arVxl3HhR+Y2uqb2kI9F\
        3AQ/7302w/rwUrJzp9o2YwZDAdBgNVHQ4EFgQUOV9kA6lqyY5pRGgsbUd8z+1oBrowHwYDVR0jBBgwFoAUOV9kA6lq\
        yY5pRGgsbUd8z+1oBrowFAYDVR0RBA0wC4IJbG9jYWxob3N0MAwGA1UdEwEB/wQCMAAwCgYIKoZIzj0EAwIDRwAwRA\
        IgcJA0g1+mDUeuNQCWvx2QKKX8X9CgdQz66wuw9Hci0MYCIA6q6nCeQHqEyIFHcuktx6f7VCpsqJzkWPQwARL4QOQ/";
    const KEY: &str = "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgGIkXSNreyqbMz49bVK+DxyhRYop2V2cvRaNgaW0FLU\
        ShRANCAARmvNN7RvfuBsr5X7RkOXYjbmP+iThQgGcz7me8lsXrjrK4+9arVxl3HhR+Y2uqb2kI9F3AQ/7302w/rwUr\
        Jzp9";

    /// Takes one connection and lets `answer` have it; returns the address.
    fn server(answer: impl FnOnce(TcpStream) + Send + 'static) -> Url {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        thread::spawn(move || answer(listener.accept().unwrap().0));
        Url::parse(&format!("https://localhost:{port}")).unwrap()
    }

    /// The error of a client that trusts no one.
    async fn failure(url: Url) -> reqwest::Error {
        let client = client(&Url::parse("http://localhost").unwrap()).unwrap();
        client.get(url).send().await.unwrap_err()
    }

    #[tokio::test]
    async fn a_certificate_that_nobody_signed_is_not_trusted() {
        let pem =
            |label: &str, base64: &str| format!("-----BEGIN {label}-----\n{base64}\n-----END {label}-----");
        let certificate = CertificateDer::from_pem_slice(pem("CERTIFICATE", CERTIFICATE).as_bytes()).unwrap();
        let key = PrivateKeyDer::from_pem_slice(pem("PRIVATE KEY", KEY).as_bytes()).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)
            .unwrap();
        let url = server(|mut stream| {
            let mut connection = ServerConnection::new(Arc::new(config)).unwrap();
            // The client hangs up.
            let _ = connection.complete_io(&mut stream);
        });
        let error = failure(url).await;
        assert_eq!(chain(&error), "client error (Connect): invalid peer certificate: UnknownIssuer");
        assert!(is_untrusted(&error));
    }

    #[tokio::test]
    async fn a_server_that_does_not_speak_tls_is_another_matter() {
        let url = server(|mut stream| stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap());
        let error = failure(url).await;
        assert!(!is_untrusted(&error), "{}", chain(&error));
    }

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

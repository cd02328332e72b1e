//! The HTTP client that channels share: TLS by rustls with ring, and no address in any error.

use std::time::Duration;

/// A client that gives up on connecting after this long.
///
/// # Errors
/// If the system's certificates cannot be used.
pub fn client(connect: Duration) -> Result<reqwest::Client, reqwest::Error> {
    // The first to come sets it for the process; that somebody was first is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().connect_timeout(connect).build()
}

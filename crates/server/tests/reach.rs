//! Browsers on other machines: through the daemon's own TLS, or through something in front that passes the host on.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod support;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use serde_json::{Value, json};
use support::{Daemon, within};
use throughline_engine::{Reach, TlsSettings};
use throughline_server::ServeOptions;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

const HOST: &str = "desk.example:8443";

/// A new certificate for the host in these files, and what a browser has to trust for it.
fn certify(folder: &Path) -> (TlsSettings, CertificateDer<'static>) {
    let made = rcgen::generate_simple_self_signed(["desk.example".to_owned()]).unwrap();
    let listen = SocketAddr::from(([127, 0, 0, 1], 0));
    let settings = TlsSettings { listen, cert: folder.join("cert.pem"), key: folder.join("key.pem") };
    std::fs::write(&settings.cert, made.cert.pem()).unwrap();
    std::fs::write(&settings.key, made.signing_key.serialize_pem()).unwrap();
    (settings, made.cert.der().clone())
}

fn reached(options: &mut ServeOptions, tls: Option<TlsSettings>) {
    options.reach = Reach { public_url: Some(format!("https://{HOST}").parse().unwrap()), tls, push_ca: None };
}

/// One request through TLS; its answer, or why hands were not shaken.
async fn call(address: SocketAddr, trusted: &CertificateDer<'static>, request: &str) -> std::io::Result<String> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(trusted.clone()).unwrap();
    let config = rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let stream = TcpStream::connect(address).await?;
    let name = "desk.example".try_into().unwrap();
    let mut stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await?;
    stream.write_all(request.as_bytes()).await?;
    let mut answer = vec![];
    // Whoever ends without a goodbye has still answered.
    let _ = stream.read_to_end(&mut answer).await;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

fn request(method: &str, path: &str, host: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "{method} {path} HTTP/1.1\r\nhost: {host}\r\norigin: https://{HOST}\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
}

async fn link(daemon: &Daemon) -> String {
    let made = daemon.authed("POST", "/api/v1/login-links?place=elsewhere", b"").await;
    let link: Value = serde_json::from_str(&made.body).unwrap();
    link["url"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_phone_gets_in_through_tls_and_its_cookie_stays_there() {
    let folder = tempfile::tempdir().unwrap();
    let (tls, certificate) = certify(folder.path());
    let daemon = Daemon::start_with(|options| reached(options, Some(tls))).await;
    let address = daemon.tls.unwrap();
    let url = link(&daemon).await;
    let (page, code) = url.split_once('#').unwrap();
    assert_eq!(page, format!("https://{HOST}/login"));
    let page = within("the page", call(address, &certificate, &request("GET", "/", HOST, ""))).await.unwrap();
    assert!(page.starts_with("HTTP/1.1 200") && page.contains("Throughline"), "{page}");
    let body = json!({ "code": code }).to_string();
    let entered = call(address, &certificate, &request("POST", "/api/v1/login", HOST, &body)).await.unwrap();
    assert!(entered.starts_with("HTTP/1.1 200") && entered.contains("; Secure"), "{entered}");
    let wrong = call(address, &certificate, &request("GET", "/api/v1/tasks", "evil.example", "")).await.unwrap();
    assert!(wrong.contains("forbidden_host"), "{wrong}");
    let nobody = call(address, &certificate, &request("GET", "/api/v1/tasks", HOST, "")).await.unwrap();
    assert!(nobody.contains("unauthenticated"), "{nobody}");
}

#[tokio::test]
async fn a_renewed_certificate_is_shown_without_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let (tls, old) = certify(folder.path());
    let daemon = Daemon::start_with(|options| reached(options, Some(tls))).await;
    let address = daemon.tls.unwrap();
    let health = request("GET", "/healthz", HOST, "");
    assert!(call(address, &old, &health).await.is_ok());
    let (_, new) = certify(folder.path());
    assert!(call(address, &new, &health).await.is_ok());
    assert!(call(address, &old, &health).await.is_err(), "the old one is no longer shown");
    std::fs::write(folder.path().join("cert.pem"), "not a certificate").unwrap();
    assert!(call(address, &new, &health).await.is_ok(), "the last one that worked stays");
}

#[tokio::test]
async fn something_in_front_passes_the_host_on() {
    let daemon = Daemon::start_with(|options| reached(options, None)).await;
    assert!(daemon.tls.is_none());
    let url = link(&daemon).await;
    let (_, code) = url.split_once('#').unwrap();
    let body = json!({ "code": code }).to_string();
    let origin = format!("https://{HOST}");
    let entered = daemon.call("POST", "/api/v1/login", &[("host", HOST), ("origin", &origin)], body.as_bytes()).await;
    assert_eq!(entered.status, 200, "{entered:?}");
    assert!(entered.head.contains("; Secure"), "{entered:?}");
}

#[tokio::test]
async fn without_a_public_address_there_is_no_link_for_a_phone() {
    let daemon = Daemon::start().await;
    let refused = daemon.authed("POST", "/api/v1/login-links?place=elsewhere", b"").await;
    assert_eq!(refused.code(), "no_public_url");
}

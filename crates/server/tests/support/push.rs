//! Devices: a push service on loopback that takes what it gets, browsers that open it, and their pages.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use ring::agreement::{ECDH_P256, EphemeralPrivateKey, UnparsedPublicKey, agree_ephemeral};
use ring::rand::SystemRandom;
use ring::{aead, hkdf};
use rustls::pki_types::PrivateKeyDer;
use serde_json::{Value, json};
use throughline_server::ServeOptions;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::{Daemon, Raw, within};

const AUTH: [u8; 16] = [7; 16];

/// A push service with a certificate of its own.
pub struct Service {
    listener: TcpListener,
    tls: TlsAcceptor,
    /// Its certificate is in there.
    folder: tempfile::TempDir,
}

impl Service {
    pub async fn start() -> Self {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
        let config = rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)
            .unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("ca.pem"), made.cert.pem()).unwrap();
        Self { listener, tls: TlsAcceptor::from(Arc::new(config)), folder }
    }

    /// Lets a daemon trust it.
    pub fn trusted(&self, options: &mut ServeOptions) {
        options.push.ca = Some(self.folder.path().join("ca.pem"));
    }

    pub fn endpoint(&self) -> String {
        format!("https://localhost:{}/to/somebody", self.listener.local_addr().unwrap().port())
    }

    /// The next message, answered with this status: its head in small letters, and its body.
    pub async fn next(&self, status: &str) -> (String, Vec<u8>) {
        let heard = async {
            let (stream, _) = self.listener.accept().await.unwrap();
            let mut stream = self.tls.accept(stream).await.unwrap();
            let mut bytes = vec![];
            loop {
                stream.read_buf(&mut bytes).await.unwrap();
                let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
                let head = String::from_utf8(bytes[..end].to_vec()).unwrap().to_lowercase();
                let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
                if bytes.len() >= end + 4 + length.parse::<usize>().unwrap() {
                    let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
                    stream.write_all(answer.as_bytes()).await.unwrap();
                    let _ = stream.shutdown().await;
                    return (head, bytes[end + 4..].to_vec());
                }
            }
        };
        within("a message", heard).await
    }
}

/// A browser that opens one message.
pub struct Browser {
    private: EphemeralPrivateKey,
    public: Vec<u8>,
}

impl Browser {
    pub fn new() -> Self {
        let private = EphemeralPrivateKey::generate(&ECDH_P256, &SystemRandom::new()).unwrap();
        let public = private.compute_public_key().unwrap().as_ref().to_vec();
        Self { private, public }
    }

    pub fn subscription(&self, endpoint: &str) -> Value {
        let keys = json!({ "p256dh": BASE64.encode(&self.public), "auth": BASE64.encode(AUTH) });
        json!({ "endpoint": endpoint, "keys": keys, "locale": "en" })
    }

    /// As RFC 8291 says.
    pub fn open(self, body: &[u8]) -> Value {
        struct Length(usize);
        impl hkdf::KeyType for Length {
            fn len(&self) -> usize {
                self.0
            }
        }
        let derive = |salt: &[u8], secret: &[u8], info: &[&[u8]], length: usize| {
            let mut out = vec![0; length];
            let prk = hkdf::Salt::new(hkdf::HKDF_SHA256, salt).extract(secret);
            prk.expand(info, Length(length)).unwrap().fill(&mut out).unwrap();
            out
        };
        let (salt, sender, sealed) = (&body[..16], &body[21..86], &body[86..]);
        let theirs = UnparsedPublicKey::new(&ECDH_P256, sender);
        let shared = agree_ephemeral(self.private, &theirs, <[u8]>::to_vec).unwrap();
        let secret = derive(&AUTH, &shared, &[b"WebPush: info\0", &self.public, sender], 32);
        let key = derive(salt, &secret, &[b"Content-Encoding: aes128gcm\0"], 16);
        let nonce = derive(salt, &secret, &[b"Content-Encoding: nonce\0"], 12);
        let key = aead::LessSafeKey::new(aead::UnboundKey::new(&aead::AES_128_GCM, &key).unwrap());
        let mut sealed = sealed.to_vec();
        let nonce = aead::Nonce::try_assume_unique_for_key(&nonce).unwrap();
        let opened = key.open_in_place(nonce, aead::Aad::empty(), &mut sealed).unwrap();
        serde_json::from_slice(opened.strip_suffix(&[2]).unwrap()).unwrap()
    }
}

/// A browser's way to the daemon: its cookie.
pub struct Page<'d> {
    pub daemon: &'d Daemon,
    pub cookie: String,
}

impl<'d> Page<'d> {
    pub async fn enter(daemon: &'d Daemon) -> Self {
        let link: Value = serde_json::from_str(&daemon.authed("POST", "/api/v1/login-links", b"").await.body).unwrap();
        let code = link["url"].as_str().unwrap().split_once('#').unwrap().1.to_owned();
        let body = json!({ "code": code }).to_string();
        let mut page = Page { daemon, cookie: String::new() };
        let entered = page.call("POST", "/api/v1/login", body.as_bytes()).await;
        let set = entered.head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
        page.cookie = set.split(';').next().unwrap().to_owned();
        page
    }

    pub async fn call(&self, method: &str, path: &str, body: &[u8]) -> Raw {
        let (host, origin) = (self.daemon.host(), format!("http://{}", self.daemon.host()));
        let headers = [("host", host.as_str()), ("origin", &origin), ("cookie", &self.cookie)];
        self.daemon.call(method, path, &headers, body).await
    }

    pub async fn subscribe(&self, subscription: &Value) -> Raw {
        self.call("PUT", "/api/v1/login/push", subscription.to_string().as_bytes()).await
    }

    /// A browser that is told things from now on, and opens the next of them.
    pub async fn browser(&self, service: &Service) -> Browser {
        let browser = Browser::new();
        assert_eq!(self.subscribe(&browser.subscription(&service.endpoint())).await.status, 204);
        browser
    }

    pub async fn is_told(&self) -> bool {
        let list: Value = serde_json::from_str(&self.call("GET", "/api/v1/logins", b"").await.body).unwrap();
        list["logins"][0]["push"].as_bool().unwrap()
    }
}

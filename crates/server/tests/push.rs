//! Web push, against a push service on loopback that opens what it gets as the browser would.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod support;

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use ring::agreement::{ECDH_P256, EphemeralPrivateKey, UnparsedPublicKey, agree_ephemeral};
use ring::rand::SystemRandom;
use ring::{aead, hkdf};
use rustls::pki_types::PrivateKeyDer;
use serde_json::{Value, json};
use support::{Daemon, Raw, Working, within};
use throughline_model::command::Command;
use throughline_model::stream::StreamId;
use throughline_model::task::{Report, TaskCommand, TurnAnswer};
use throughline_model::turn::{StopReason, Usage};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

const AUTH: [u8; 16] = [7; 16];

/// A push service with a certificate of its own.
struct Service {
    listener: TcpListener,
    tls: TlsAcceptor,
    certificate: String,
}

impl Service {
    async fn start() -> Self {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
        let config = rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)
            .unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Self { listener, tls: TlsAcceptor::from(Arc::new(config)), certificate: made.cert.pem() }
    }

    fn endpoint(&self) -> String {
        format!("https://localhost:{}/to/somebody", self.listener.local_addr().unwrap().port())
    }

    /// The next message, answered with this status: its head in small letters, and its body.
    async fn next(&self, status: &str) -> (String, Vec<u8>) {
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
struct Browser {
    private: EphemeralPrivateKey,
    public: Vec<u8>,
}

impl Browser {
    fn new() -> Self {
        let private = EphemeralPrivateKey::generate(&ECDH_P256, &SystemRandom::new()).unwrap();
        let public = private.compute_public_key().unwrap().as_ref().to_vec();
        Self { private, public }
    }

    fn subscription(&self, endpoint: &str) -> Value {
        let keys = json!({ "p256dh": BASE64.encode(&self.public), "auth": BASE64.encode(AUTH) });
        json!({ "endpoint": endpoint, "keys": keys, "locale": "en" })
    }

    /// As RFC 8291 says.
    fn open(self, body: &[u8]) -> Value {
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
struct Page<'d> {
    daemon: &'d Daemon,
    cookie: String,
}

impl<'d> Page<'d> {
    async fn enter(daemon: &'d Daemon) -> Self {
        let link: Value = serde_json::from_str(&daemon.authed("POST", "/api/v1/login-links", b"").await.body).unwrap();
        let code = link["url"].as_str().unwrap().split_once('#').unwrap().1.to_owned();
        let body = json!({ "code": code }).to_string();
        let mut page = Page { daemon, cookie: String::new() };
        let entered = page.call("POST", "/api/v1/login", body.as_bytes()).await;
        let set = entered.head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
        page.cookie = set.split(';').next().unwrap().to_owned();
        page
    }

    async fn call(&self, method: &str, path: &str, body: &[u8]) -> Raw {
        let (host, origin) = (self.daemon.host(), format!("http://{}", self.daemon.host()));
        let headers = [("host", host.as_str()), ("origin", &origin), ("cookie", &self.cookie)];
        self.daemon.call(method, path, &headers, body).await
    }

    async fn subscribe(&self, subscription: &Value) -> Raw {
        self.call("PUT", "/api/v1/login/push", subscription.to_string().as_bytes()).await
    }

    async fn is_told(&self) -> bool {
        let list: Value = serde_json::from_str(&self.call("GET", "/api/v1/logins", b"").await.body).unwrap();
        list["logins"][0]["push"].as_bool().unwrap()
    }
}

/// Through the engine, so that listeners are told.
async fn report(daemon: &Daemon, working: &Working, report: Report) {
    let command = TaskCommand::Report { session: working.session, epoch: 1, report };
    daemon.engine.send(StreamId::Task(working.task), Command::Task(command)).await.unwrap();
}

async fn complete(daemon: &Daemon, working: &Working) {
    let answer = TurnAnswer::Stopped { reason: StopReason::EndTurn };
    report(daemon, working, Report::TurnAnswered { turn: working.turn, answer, usage: Usage::default() }).await;
}

#[tokio::test]
async fn a_device_is_told_until_it_is_gone() {
    let (service, folder) = (Service::start().await, tempfile::tempdir().unwrap());
    let ca = folder.path().join("ca.pem");
    std::fs::write(&ca, &service.certificate).unwrap();
    let daemon = Daemon::start_with(|options| options.push.ca = Some(ca)).await;
    let page = Page::enter(&daemon).await;
    assert!(!page.is_told().await);

    let browser = Browser::new();
    assert_eq!(page.subscribe(&browser.subscription(&service.endpoint())).await.status, 204);
    assert!(page.is_told().await);
    let first = daemon.working(1).await;
    complete(&daemon, &first).await;
    let (head, body) = service.next("201 Created").await;
    assert!(head.starts_with("post /to/somebody "), "{head}");
    for line in ["content-encoding: aes128gcm", "urgency: normal", "ttl: ", "topic: ", "authorization: vapid t="] {
        assert!(head.contains(line), "{line}: {head}");
    }
    let told = browser.open(&body);
    assert_eq!((&told["reason"], &told["task"]), (&json!("completed"), &json!(first.key)));
    assert_eq!(told["title"], "Fix routing");

    let browser = Browser::new();
    assert_eq!(page.subscribe(&browser.subscription(&service.endpoint())).await.status, 204);
    let second = daemon.working(2).await;
    report(&daemon, &second, support::asked(&second, "call-1")).await;
    let (head, body) = service.next("410 Gone").await;
    assert!(head.contains("urgency: high"), "{head}");
    assert_eq!(browser.open(&body)["reason"], "approval");
    within("the device is forgotten", async {
        while page.is_told().await {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn only_a_browser_with_a_good_subscription_is_told() {
    let daemon = Daemon::start().await;
    let page = Page::enter(&daemon).await;
    let good = Browser::new().subscription("https://push.example/1");
    let nobody = daemon.authed("PUT", "/api/v1/login/push", good.to_string().as_bytes()).await;
    assert_eq!(nobody.code(), "not_a_browser");
    for (field, value) in [("endpoint", json!("http://push.example/1")), ("keys", json!({"p256dh": "x", "auth": "y"}))]
    {
        let mut wrong = good.clone();
        wrong[field] = value;
        assert_eq!(page.subscribe(&wrong).await.code(), "invalid_subscription", "{field}");
    }
    assert_eq!(page.subscribe(&good).await.status, 204);
    assert_eq!(page.call("DELETE", "/api/v1/login/push", b"").await.status, 204);
    assert!(!page.is_told().await);
    let key: Value = serde_json::from_str(&page.call("GET", "/api/v1/push", b"").await.body).unwrap();
    assert_eq!(BASE64.decode(key["key"].as_str().unwrap()).unwrap().len(), 65);
}

/// Quiet hours that it is in now, and for an hour more.
async fn keep_quiet(page: &Page<'_>, except: &[&str]) {
    let hour = page.daemon.engine.now().millis() / 3_600_000;
    let time = |hour: i64, minutes: &str| format!("{:02}:{minutes}", hour.rem_euclid(24));
    let hours = json!({ "from": time(hour - 1, "00"), "until": time(hour + 1, "59"), "zone": "UTC", "except": except });
    let kept = page.call("PUT", "/api/v1/notices/quiet", hours.to_string().as_bytes()).await;
    assert_eq!(kept.status, 200, "{}", kept.body);
}

#[tokio::test]
async fn in_quiet_hours_a_device_is_told_nothing_but_exceptions_and_then_one_sum() {
    let (service, folder) = (Service::start().await, tempfile::tempdir().unwrap());
    let ca = folder.path().join("ca.pem");
    std::fs::write(&ca, &service.certificate).unwrap();
    let daemon = Daemon::start_with(|options| options.push.ca = Some(ca)).await;
    let page = Page::enter(&daemon).await;
    let browser = Browser::new();
    assert_eq!(page.subscribe(&browser.subscription(&service.endpoint())).await.status, 204);
    keep_quiet(&page, &["approval"]).await;
    let done = daemon.working(1).await;
    complete(&daemon, &done).await;
    let asking = daemon.working(2).await;
    report(&daemon, &asking, support::asked(&asking, "call-1")).await;
    let (_, body) = service.next("201 Created").await;
    assert_eq!(browser.open(&body)["reason"], "approval", "the result is held, the exception is not");

    let browser = Browser::new();
    assert_eq!(page.subscribe(&browser.subscription(&service.endpoint())).await.status, 204);
    assert_eq!(page.call("DELETE", "/api/v1/notices/quiet", b"").await.status, 200);
    let (head, body) = service.next("201 Created").await;
    assert!(head.contains("topic: digest"), "{head}");
    let told = browser.open(&body);
    assert_eq!((&told["reason"], &told["title"]), (&json!("digest"), &json!("Quiet hours are over")));
    assert_eq!(told["body"], "1 task needs you. 1 is done.", "{told}");
}

#[tokio::test]
async fn a_device_is_told_for_the_reasons_that_were_chosen_for_it() {
    let (service, folder) = (Service::start().await, tempfile::tempdir().unwrap());
    let ca = folder.path().join("ca.pem");
    std::fs::write(&ca, &service.certificate).unwrap();
    let daemon = Daemon::start_with(|options| options.push.ca = Some(ca)).await;
    let page = Page::enter(&daemon).await;
    let browser = Browser::new();
    assert_eq!(page.subscribe(&browser.subscription(&service.endpoint())).await.status, 204);
    let notices: Value = serde_json::from_str(&page.call("GET", "/api/v1/notices", b"").await.body).unwrap();
    let known = &notices["browsers"][0];
    assert_eq!((&known["current"], known["reasons"].as_array().unwrap().len()), (&json!(true), 4), "{notices}");
    let path = format!("/api/v1/notices/browsers/{}", known["login"].as_str().unwrap());
    let chosen = page.call("PUT", &path, br#"{"reasons":["approval"]}"#).await;
    assert!(chosen.body.contains(r#""reasons":["approval"]"#), "{}", chosen.body);
    let none = format!("/api/v1/notices/browsers/{}", uuid::Uuid::nil());
    assert_eq!(page.call("PUT", &none, br#"{"reasons":[]}"#).await.code(), "not_found");
    let done = daemon.working(1).await;
    complete(&daemon, &done).await;
    let asking = daemon.working(2).await;
    report(&daemon, &asking, support::asked(&asking, "call-1")).await;
    let (_, body) = service.next("201 Created").await;
    assert_eq!(browser.open(&body)["reason"], "approval", "results are not wanted there");
}

//! The protocol as bytes: what a daemon of another version, or a stranger, gets to hear.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;

use support::{Home, attach, line};
use throughline_keeper::protocol::{Answer, PROTOCOL, Refusal, Reply};

struct Raw(UnixStream);

impl Raw {
    fn connect(dir: &Path) -> Self {
        let stream = UnixStream::connect(dir.join("sock")).unwrap();
        stream.set_read_timeout(Some(support::PATIENCE)).unwrap();
        Self(stream)
    }

    fn send(&mut self, json: &str, payload: &[u8]) {
        let lengths = [json.len() as u32, payload.len() as u32];
        self.0.write_all(&lengths[0].to_le_bytes()).unwrap();
        self.0.write_all(&lengths[1].to_le_bytes()).unwrap();
        self.0.write_all(json.as_bytes()).unwrap();
        self.0.write_all(payload).unwrap();
    }

    fn answer(&mut self) -> Reply {
        let mut prefix = [0; 8];
        self.0.read_exact(&mut prefix).unwrap();
        let length = |at: usize| u32::from_le_bytes(prefix[at..at + 4].try_into().unwrap());
        let mut message = vec![0; (length(0) + length(4)) as usize];
        self.0.read_exact(&mut message).unwrap();
        let json = &message[..length(0) as usize];
        serde_json::from_slice::<Answer>(json).unwrap().reply
    }

    fn refusal(&mut self) -> Refusal {
        match self.answer() {
            Reply::Refused { refusal } => refusal,
            other => panic!("a refusal, not {other:?}"),
        }
    }

    fn is_closed(&mut self) -> bool {
        matches!(self.0.read(&mut [0; 1]), Ok(0) | Err(_))
    }
}

const AGENT: &str = "while read x; do echo $x; done";

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn another_version_is_refused_by_name() {
    let home = Home::new();
    let dir = home.launch("a", AGENT).await;
    let mut raw = Raw::connect(&dir);
    raw.send(r#"{"seq":1,"call":{"attach":{"protocol":99,"oldest":98,"fence":1}}}"#, b"");
    let refusal = raw.refusal().to_string();
    assert!(refusal.contains("99") && refusal.contains(&PROTOCOL.to_string()), "{refusal}");
    assert!(raw.is_closed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_newer_daemon_that_still_speaks_ours_is_welcome() {
    let home = Home::new();
    let dir = home.launch("a", AGENT).await;
    let mut raw = Raw::connect(&dir);
    let hello = r#"{"seq":1,"mood":"new","call":{"attach":{"protocol":99,"oldest":1,"fence":7,"x":0}}}"#;
    raw.send(hello, b"");
    let reply = raw.answer();
    assert!(matches!(reply, Reply::Attached { protocol: PROTOCOL, .. }), "{reply:?}");
    raw.send(r#"{"seq":2,"call":{"levitate":{"height_m":3}}}"#, b"some payload");
    assert_eq!(raw.refusal(), Refusal::UnknownCall);
    raw.send(r#"{"seq":3,"call":{"write":{"id":"a"}}}"#, b"still here");
    assert!(matches!(raw.answer(), Reply::Written));
    raw.send(r#"{"seq":4,"call":{"read":{"from":999}}}"#, b"");
    assert!(matches!(raw.refusal(), Refusal::BeyondEnd { .. }));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn nothing_is_done_for_who_is_not_attached() {
    let home = Home::new();
    let dir = home.launch("a", AGENT).await;
    for call in [r#"{"write":{"id":"a"}}"#, r#"{"stop":{"grace_ms":0}}"#, r#"{"read":{"from":0}}"#] {
        let mut raw = Raw::connect(&dir);
        raw.send(&format!(r#"{{"seq":1,"call":{call}}}"#), b"");
        assert_eq!(raw.refusal(), Refusal::NotAttached);
        assert!(raw.is_closed());
    }
    for garbage in [&[0xff; 64][..], b"GET / HTTP/1.1\r\n\r\n", &[2, 0, 0, 0, 0, 0, 0, 0, b'x', b'x']] {
        let mut raw = Raw::connect(&dir);
        raw.0.write_all(garbage).unwrap();
        assert!(raw.is_closed());
    }
    let (writer, mut reader) = attach(&dir, 1, 0).await;
    writer.write("a", "fine").await.unwrap();
    assert_eq!(line(&mut reader).await.0, "fine");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn strangers_do_not_crowd_a_daemon_out() {
    let home = Home::new();
    let dir = home.launch("a", AGENT).await;
    let silent: Vec<Raw> = (0..20).map(|_| Raw::connect(&dir)).collect();
    let (writer, mut reader) = attach(&dir, 1, 0).await;
    writer.write("a", "fine").await.unwrap();
    assert_eq!(line(&mut reader).await.0, "fine");
    drop(silent);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn only_the_owner_can_open_the_directory_and_the_socket() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = Home::new();
    let dir = home.launch("a", AGENT).await;
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&dir), 0o700);
    for file in ["sock", "spec.json", "frames", "lock", "stderr.head", "keeper.log"] {
        assert_eq!(mode(&dir.join(file)), 0o600, "{file}");
    }
}

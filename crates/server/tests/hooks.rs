//! Calls of platforms: who is believed, what is answered, and that nothing is kept of anything else.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod support;

use serde_json::{Value, json};
use support::{Daemon, Raw, within};
use throughline_channels::platforms::feishu::{CallbackKeys, Feishu};
use throughline_channels::platforms::telegram::{Telegram, Webhook};
use throughline_channels::{Account, Channel, Channels};
use throughline_engine::{Clock as _, SystemClock};
use throughline_model::time::Timestamp;
use throughline_server::ServeOptions;
use throughline_store::port::{Answer, Ask, DeliveryQuery};
use throughline_testkit::feishu::Callback;

const TOKEN: &str = "7:token";
const HOST: &str = "desk.example";
/// Nobody listens there: what goes out is not what is tried here.
const NOWHERE: &str = "http://127.0.0.1:9";

fn webhook() -> Webhook {
    Webhook::at(format!("https://{HOST}/hooks/telegram"), TOKEN)
}

async fn daemon(channel: impl Channel) -> Daemon {
    let reached = |options: &mut ServeOptions| {
        options.reach.public_url = Some(format!("https://{HOST}").parse().unwrap());
    };
    Daemon::start_with_channels(Channels::new(vec![Account::new(channel)]), reached).await
}

async fn telegram() -> Daemon {
    daemon(Telegram::new(NOWHERE, TOKEN, Some(webhook())).unwrap()).await
}

async fn feishu(encrypt_key: Option<&str>) -> Daemon {
    let keys = CallbackKeys { verification_token: "v".into(), encrypt_key: encrypt_key.map(str::to_owned) };
    daemon(Feishu::new(NOWHERE, "cli", "secret", Some(keys)).unwrap()).await
}

/// How much was ever recorded.
async fn head(daemon: &Daemon) -> u64 {
    match daemon.store.ask(Ask::Head).await.unwrap() {
        Answer::Head(head) => head.0,
        other => panic!("{other:?}"),
    }
}

/// The channel listens a moment after the daemon does; the platform brings again what was not taken.
async fn taken(call: impl AsyncFn() -> Raw) -> Raw {
    let calling = async {
        loop {
            let answer = call().await;
            if answer.status != 503 {
                return answer;
            }
        }
    };
    within("a call", calling).await
}

fn update(number: u64, text: &str) -> Vec<u8> {
    let message =
        json!({"message_id": number, "from": {"id": 42}, "text": text, "chat": {"id": 42, "type": "private"}});
    json!({"update_id": number, "message": message}).to_string().into_bytes()
}

async fn bring(daemon: &Daemon, secret: &str, body: &[u8]) -> Raw {
    let headers = [("host", HOST), ("x-telegram-bot-api-secret-token", secret)];
    daemon.call("POST", "/hooks/telegram", &headers, body).await
}

#[tokio::test]
async fn a_webhook_pairs_and_works_once_for_each_update() {
    let (daemon, secret) = (telegram().await, webhook().secret);
    let code = daemon.engine.offer_pairing(daemon.person, "telegram").await.unwrap().code;
    let pairing = update(1, &format!("/start {code}"));
    let answer = taken(async || bring(&daemon, &secret, &pairing).await).await;
    assert_eq!((answer.status, answer.body.as_str()), (200, "{}"));
    assert!(daemon.engine.identities(daemon.person).await.unwrap().iter().any(|known| known.handle() == "telegram:42"));
    let said = update(2, "/status nothing-here");
    assert_eq!(bring(&daemon, &secret, &said).await.status, 200);
    let Answer::Inbox(kept) = daemon.store.ask(Ask::Inbox(key(&daemon, "telegram:7:2"))).await.unwrap() else {
        panic!("an inbox")
    };
    assert!(kept.is_some(), "the update is durable when it is acknowledged");
    let inputs = inputs(&daemon).await;
    assert_eq!(bring(&daemon, &secret, &said).await.status, 200, "what was taken before is taken");
    assert_eq!(self::inputs(&daemon).await, inputs, "and changes nothing");
}

/// How often something was said in the chat.
async fn inputs(daemon: &Daemon) -> usize {
    let ask = Ask::Deliveries(DeliveryQuery { limit: 100, ..DeliveryQuery::default() });
    let Answer::Deliveries(rows) = daemon.store.ask(ask).await.unwrap() else { panic!("deliveries") };
    rows.len()
}

fn key(daemon: &Daemon, update: &str) -> String {
    let conversation = throughline_model::ids::ConversationId::of_place(Some(daemon.person), "telegram", "42");
    format!("{conversation}:{update}")
}

#[tokio::test]
async fn whoever_is_not_the_platform_is_told_so_and_leaves_nothing() {
    let (daemon, secret) = (telegram().await, webhook().secret);
    let stranger = update(1, "hello");
    taken(async || bring(&daemon, &secret, &stranger).await).await;
    let before = head(&daemon).await;
    for wrong in ["", "x", &secret[1..], &secret.to_uppercase()] {
        let answer = bring(&daemon, wrong, &update(2, "hi")).await;
        assert_eq!((answer.status, answer.code().as_str()), (403, "hook_not_believed"), "{wrong}");
    }
    let huge = vec![b' '; 600 * 1024];
    assert_eq!(bring(&daemon, &secret, &huge).await.code(), "body_too_large");
    assert_eq!(bring(&daemon, &secret, &[0xff]).await.code(), "invalid_utf8");
    assert_eq!(bring(&daemon, &secret, b"nonsense").await.status, 200, "or the platform brings it for ever");
    let given = ("x-telegram-bot-api-secret-token", secret.as_str());
    let elsewhere = daemon.call("POST", "/hooks/telegram", &[("host", "evil.example"), given], &stranger).await;
    assert_eq!(elsewhere.code(), "forbidden_host");
    let page = [("host", HOST), ("origin", "https://evil.example"), given];
    assert_eq!(daemon.call("POST", "/hooks/telegram", &page, &stranger).await.code(), "forbidden_origin");
    let read = daemon.call("GET", "/hooks/telegram", &[("host", HOST), given], b"").await;
    assert_eq!(read.code(), "unauthenticated", "only calls come without a person");
    for other in ["/hooks/feishu", "/hooks/web", "/hooks/x"] {
        assert_eq!(
            daemon.call("POST", other, &[("host", HOST), given], &stranger).await.code(),
            "not_found",
            "{other}"
        );
    }
    assert_eq!(daemon.call("POST", "/hooks/telegram/../../api/v1/gc", &[("host", HOST), given], b"").await.status, 404);
    assert_eq!(head(&daemon).await, before, "nothing was recorded");
}

fn now_secs() -> u64 {
    SystemClock.at().millis_since(Timestamp::default()) / 1_000
}

async fn call_back(daemon: &Daemon, call: &Callback) -> Raw {
    let headers = [
        ("host", HOST),
        ("x-lark-request-timestamp", call.timestamp.as_str()),
        ("x-lark-request-nonce", &call.nonce),
        ("x-lark-signature", &call.signature),
    ];
    daemon.call("POST", "/hooks/feishu", &headers, call.body.as_bytes()).await
}

fn event(id: &str, token: &str, text: &str) -> String {
    let header = json!({"event_id": id, "event_type": "im.message.receive_v1", "app_id": "cli", "token": token});
    let message = json!({"message_id": "om_1", "chat_id": "oc_1", "chat_type": "p2p", "message_type": "text",
        "content": json!({ "text": text }).to_string()});
    let sender = json!({"sender_id": {"open_id": "ou_1"}, "sender_type": "user"});
    json!({"schema": "2.0", "header": header, "event": {"sender": sender, "message": message}}).to_string()
}

#[tokio::test]
async fn a_callback_is_believed_when_it_is_sealed_signed_and_new() {
    let daemon = feishu(Some("key")).await;
    let challenge = json!({"type": "url_verification", "token": "v", "challenge": "c"}).to_string();
    let answer = call_back(&daemon, &Callback::new(&challenge, Some("key"), now_secs())).await;
    assert_eq!((answer.status, serde_json::from_str(&answer.body).ok()), (200, Some(json!({"challenge": "c"}))));
    let code = daemon.engine.offer_pairing(daemon.person, "feishu").await.unwrap().code;
    let paired = Callback::new(&event("e1", "v", &code), Some("key"), now_secs());
    assert_eq!(taken(async || call_back(&daemon, &paired).await).await.status, 200);
    assert!(daemon.engine.identities(daemon.person).await.unwrap().iter().any(|known| known.handle() == "feishu:ou_1"));
    let said = Callback::new(&event("e2", "v", "/status nothing-here"), Some("key"), now_secs());
    assert_eq!(call_back(&daemon, &said).await.status, 200);
    let count = inputs(&daemon).await;
    assert_eq!(call_back(&daemon, &said).await.status, 200, "what was taken before is taken");
    assert_eq!(inputs(&daemon).await, count, "and changes nothing");
    let payload = event("e3", "v", "/status something-else");
    let sealed = Callback::new(&payload, Some("key"), now_secs());
    for (call, why) in [
        (Callback::new(&payload, Some("other"), now_secs()), "another key"),
        (Callback::new(&payload, None, now_secs()), "in the open"),
        (Callback::new(&payload, Some("key"), now_secs() - 400), "an old one again"),
        (Callback::new(&payload, Some("key"), now_secs() + 400), "of tomorrow"),
        (Callback::new(&event("e3", "w", "x"), Some("key"), now_secs()), "another token"),
        (Callback { signature: String::new(), ..sealed.clone() }, "not signed"),
        (Callback { signature: "0".repeat(64), ..sealed.clone() }, "signed by another"),
        (Callback { nonce: "1".into(), ..sealed.clone() }, "another nonce"),
        (Callback { timestamp: (now_secs() + 1).to_string(), ..sealed.clone() }, "another time"),
        (Callback { body: "{}".into(), ..sealed.clone() }, "another body"),
    ] {
        let answer = call_back(&daemon, &call).await;
        assert_eq!((answer.status, answer.code().as_str()), (403, "hook_not_believed"), "{why}");
    }
    let huge = Callback { body: "x".repeat(600 * 1024), ..sealed };
    assert_eq!(call_back(&daemon, &huge).await.code(), "body_too_large");
    assert_eq!(inputs(&daemon).await, count, "nothing was taken of it");
}

#[tokio::test]
async fn a_callback_in_the_open_is_known_by_its_token() {
    let daemon = feishu(None).await;
    let plain = |event: &str| Callback::new(event, None, now_secs());
    let stranger = plain(&event("e1", "v", "hello"));
    assert_eq!(taken(async || call_back(&daemon, &stranger).await).await.status, 200);
    let before = head(&daemon).await;
    for wrong in ["", "w"] {
        assert_eq!(call_back(&daemon, &plain(&event("e2", wrong, "hello"))).await.code(), "hook_not_believed");
    }
    let answer: Value = serde_json::from_str(&call_back(&daemon, &plain("[]")).await.body).unwrap();
    assert_eq!(answer["hint"], "only the platform itself can call here");
    assert_eq!(head(&daemon).await, before, "nothing was recorded");
}

//! Whatever comes in, no parser falls over, and what is taken is what it says. `THROUGHLINE_NOISE=1000000` for more.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use serde_json::{Value, json};
use throughline_channels::mask::Mask;
use throughline_channels::platforms::feishu::{CallbackKeys, Called, Feishu, Signed};
use throughline_channels::platforms::telegram::Telegram;
use throughline_channels::rich::Rich;
use throughline_channels::{Inbox, NotTaken, Unit, Update};
use throughline_testkit::feishu::Callback;
use throughline_testkit::noise::{Noise, amount};

/// Remembers the last update and how many there were.
#[derive(Default)]
struct Last(Mutex<(u64, Option<Update>)>);

#[async_trait]
impl Inbox for Last {
    async fn take(&self, update: Update) -> Result<(), NotTaken> {
        let mut last = self.0.lock().expect("a lock");
        *last = (last.0 + 1, Some(update));
        Ok(())
    }
}

fn updates() -> Vec<Value> {
    let chat = json!({"id": 42, "type": "private"});
    let from = json!({"id": 42, "is_bot": false, "first_name": "A"});
    let message = json!({"message_id": 9, "from": from, "chat": chat, "date": 1, "text": "hello",
        "reply_to_message": {"message_id": 3, "chat": chat, "date": 1}});
    let topic = json!({"message_id": 9, "from": from, "chat": {"id": -100, "type": "supergroup"}, "date": 1,
        "message_thread_id": 4, "is_topic_message": true, "caption": "see",
        "photo": [{"file_id": "s", "file_size": 10}, {"file_id": "l", "file_size": 99}],
        "document": {"file_id": "d", "file_name": "a.txt", "mime_type": "text/plain", "file_size": 7}});
    let press = json!({"id": "cb", "from": from, "message": message, "chat_instance": "1", "data": "token"});
    vec![
        json!({"update_id": 5, "message": message}),
        json!({"update_id": 6, "message": topic}),
        json!({"update_id": 7, "callback_query": press}),
        json!({"update_id": 8, "edited_message": message}),
    ]
}

#[tokio::test]
async fn telegrams_updates_never_panic() {
    let telegram = Telegram::new("http://localhost", "7:x", None).unwrap();
    let (mut noise, seeds, inbox) = (Noise::new(1), updates(), Last::default());
    for _ in 0..amount() {
        let body = noise.document(&seeds);
        telegram.brought(&body, &inbox).await.unwrap();
        if let Some(update) = inbox.0.lock().expect("a lock").1.take() {
            assert_eq!(update.raw, body);
            assert!(update.key.starts_with("telegram:7:"), "{}", update.key);
            assert!(update.sender.parse::<i64>().is_ok());
        }
    }
    let taken = inbox.0.lock().expect("a lock").0;
    assert!(taken > amount() / 10 && taken < amount(), "{taken} of {} mean something", amount());
}

fn events() -> Vec<Value> {
    let header = |kind: &str| json!({"event_id": "e1", "event_type": kind, "app_id": "cli", "token": "v"});
    let message = |kind: &str, content: Value| {
        json!({"schema": "2.0", "header": header("im.message.receive_v1"), "event": {
            "sender": {"sender_id": {"open_id": "ou_1"}, "sender_type": "user"},
            "message": {"message_id": "om_1", "parent_id": "om_0", "root_id": "om_0", "thread_id": "omt_1",
                "chat_id": "oc_1", "chat_type": "p2p", "message_type": kind, "content": content.to_string(),
                "mentions": [{"key": "@_user_1"}]}}})
    };
    vec![
        message("text", json!({"text": "@_user_1 hello"})),
        message("post", json!({"title": "T", "content": [[{"tag": "text", "text": "a"}, {"tag": "img"}], []]})),
        message("file", json!({"file_key": "k", "file_name": "a.txt"})),
        message("image", json!({"image_key": "k"})),
        json!({"schema": "2.0", "header": header("card.action.trigger"), "event": {"operator": {"open_id": "ou_2"},
            "action": {"tag": "button", "value": {"token": "t"}},
            "context": {"open_message_id": "om_9", "open_chat_id": "oc_1"}}}),
    ]
}

#[tokio::test]
async fn feishus_events_never_panic() {
    let feishu = Feishu::new("http://localhost", "cli", "secret", None).unwrap();
    let (mut noise, seeds, inbox) = (Noise::new(2), events(), Arc::new(Last::default()));
    let into: Arc<dyn Inbox> = inbox.clone();
    for _ in 0..amount() {
        let body = noise.document(&seeds);
        feishu.brought(&body, &into).await.unwrap();
        if let Some(update) = inbox.0.lock().expect("a lock").1.take() {
            assert_eq!(update.raw, body);
            assert!(update.key.starts_with("feishu:"), "{}", update.key);
            assert!(!update.sender.is_empty());
        }
    }
    let taken = inbox.0.lock().expect("a lock").0;
    assert!(taken > amount() / 10 && taken < amount(), "{taken} of {} mean something", amount());
}

#[test]
fn feishus_callbacks_never_panic_and_none_is_believed_that_was_changed() {
    let sealed = CallbackKeys { verification_token: "v".into(), encrypt_key: Some("key".into()) };
    let plain = CallbackKeys { encrypt_key: None, ..sealed.clone() };
    let (mut noise, seeds) = (Noise::new(3), events());
    // To seal one takes a while.
    let every = if amount() > 20_000 { 1 } else { 8 };
    for round in 0..amount() {
        let payload = noise.document(&seeds);
        // It may or may not be believed; if it is, it is what was sent.
        if let Ok(Called::Event(event)) = plain.read(&payload, None, 0) {
            assert_eq!(event, payload);
        }
        if round % every > 0 {
            continue;
        }
        let call = Callback::new(&payload, Some("key"), 1_000);
        let body = noise.bytes(call.body.as_bytes());
        let body = String::from_utf8_lossy(&body);
        let signed = Signed { timestamp: &call.timestamp, nonce: &call.nonce, signature: &call.signature };
        let read = sealed.read(&body, Some(signed), 1_000);
        assert!(body == call.body || !matches!(read, Ok(Called::Event(_))), "{body}");
    }
}

#[test]
fn what_goes_out_never_panics_either() {
    let mask = Mask::new(["hunter2hunter2".into()]);
    let seeds = [json!("a `b` **c** ```rust\nfn\n``` hunter2hunter2 https://a:b@c sk-ant-api03-0123456789abcdef0123")];
    let mut noise = Noise::new(4);
    for _ in 0..amount() / 10 {
        let text = noise.document(&seeds).replace("\\n", "\n");
        let rich = mask.rich(&Rich::from_markdown(&text));
        assert!(!rich.letters().contains("hunter2hunter2"));
        for page in rich.split(Unit::Bytes, 40) {
            assert!(page.len(Unit::Bytes) <= 40);
        }
    }
}

//! What our Feishu client does when all is well.

use std::sync::Arc;

use axum::http::{HeaderMap, StatusCode};
use serde_json::json;
use throughline_channels::platforms::feishu::{CallbackKeys, Called, Disbelief, Feishu, Signed};
use throughline_channels::rich::{Look, Rich};
use throughline_channels::{
    Button, Call, CallError, Channel as _, Inbox, MessageRef, Outbound, Place, Press, RemoteFile, SendError, Setting,
    Upload, What,
};
use throughline_testkit::feishu::{APP_ID, APP_SECRET, Callback, OpenPlatform, VERIFICATION_TOKEN};

use crate::inbox::{Kept, Listener, outbound};

pub(crate) fn client(platform: &OpenPlatform) -> Feishu {
    Feishu::new(&platform.url(), APP_ID, APP_SECRET, None).expect("a client")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_goes_out_as_a_card_with_its_buttons() {
    let platform = OpenPlatform::start();
    let chat = platform.knows("ou_1");
    let mut message = outbound(&chat, Rich::plain("run it? <at id=all></at> ").and(Look::Code, "rm *"));
    message.buttons = vec![vec![Button { label: "Yes".into(), token: "t".into() }]];
    let receipt = client(&platform).send(&message).await.unwrap();
    let sent = platform.sent().pop().unwrap();
    assert_eq!(receipt.message, MessageRef(sent.id.clone()));
    assert_eq!(sent.words(), "run it? <at id=all></at> `rm *`");
    assert_eq!(sent.buttons(), [("Yes".to_owned(), json!({"token": "t"}))]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_card_changes() {
    let platform = OpenPlatform::start();
    let chat = platform.knows("ou_1");
    let feishu = client(&platform);
    let first = feishu.send(&outbound(&chat, Rich::plain("working"))).await.unwrap();
    let change = Outbound { replaces: Some(first.message.clone()), ..outbound(&chat, Rich::plain("done")) };
    assert_eq!(feishu.send(&change).await, Ok(first));
    let sent = platform.sent();
    assert_eq!((sent.len(), sent[0].edits, sent[0].words().as_str()), (1, 1, "done"));
    assert_eq!(platform.calls("token").len(), 1, "one token does for all");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delivery_that_is_sent_twice_is_one_message() {
    let platform = OpenPlatform::start();
    let chat = platform.knows("ou_1");
    let feishu = client(&platform);
    let message = outbound(&chat, Rich::plain("the result"));
    let receipt = feishu.send(&message).await.unwrap();
    assert_eq!(feishu.send(&message).await, Ok(receipt));
    assert_eq!(platform.sent().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_pages_of_one_delivery_are_all_sent_and_none_twice() {
    let platform = OpenPlatform::start();
    let chat = platform.knows("ou_1");
    let feishu = client(&platform);
    let first = outbound(&chat, Rich::plain("page one"));
    let second = Outbound { page: 1, text: Rich::plain("page two"), ..first.clone() };
    for _ in 0..2 {
        feishu.send(&first).await.unwrap();
        feishu.send(&second).await.unwrap();
    }
    // What it says may have been written anew meanwhile; it is the same page.
    feishu.send(&Outbound { text: Rich::plain("page one, later"), ..first }).await.unwrap();
    let words: Vec<_> = platform.sent().iter().map(throughline_testkit::feishu::Message::words).collect();
    assert_eq!(words, ["page one", "page two"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_answers_a_message_that_was_taken_back_is_sent_all_the_same() {
    let platform = OpenPlatform::start();
    let event = platform.says("ou_1", "never mind");
    let payload: serde_json::Value = serde_json::from_str(&platform.payload(&event)).unwrap();
    let message = &payload["event"]["message"];
    let answered = MessageRef(message["message_id"].as_str().unwrap().to_owned());
    let chat = message["chat_id"].as_str().unwrap();
    let answer = Outbound { answers: Some(answered.clone()), ..outbound(chat, Rich::plain("done")) };
    client(&platform).send(&answer).await.unwrap();
    assert_eq!(platform.sent()[0].parent, Some(answered.0));
    platform.recalls(&event);
    let answer = Outbound { answers: answer.answers, ..outbound(chat, Rich::plain("done again")) };
    client(&platform).send(&answer).await.unwrap();
    assert_eq!((platform.sent()[1].parent.as_ref(), platform.sent()[1].chat.as_str()), (None, chat));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_callback_is_answered_over_http() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/feishu", listener.local_addr().unwrap());
    let platform = OpenPlatform::start();
    let keys = CallbackKeys { verification_token: VERIFICATION_TOKEN.into(), encrypt_key: Some("k".into()) };
    let feishu = Arc::new(Feishu::new(&platform.url(), APP_ID, APP_SECRET, Some(keys)).unwrap());
    let called = feishu.clone();
    let receive = async move |headers: HeaderMap, body: String| match called
        .called(&Call { headers, body, at_secs: 1_000 })
        .await
    {
        Ok(answer) => (StatusCode::OK, answer.to_string()),
        Err(CallError::Disbelieved(_)) => (StatusCode::FORBIDDEN, String::new()),
        Err(_) => (StatusCode::SERVICE_UNAVAILABLE, String::new()),
    };
    let router = axum::Router::new().route("/feishu", axum::routing::post(receive));
    tokio::spawn(async move { axum::serve(listener, router).await });
    let challenge = json!({"type": "url_verification", "token": VERIFICATION_TOKEN, "challenge": "c"}).to_string();
    let answered = platform.calls_back(&url, &Callback::new(&challenge, Some("k"), 1_000));
    assert_eq!((answered.status, answered.body.as_str()), (200, r#"{"challenge":"c"}"#));
    let event = platform.payload(&platform.says("ou_1", "hello"));
    assert_eq!(platform.calls_back(&url, &Callback::new(&event, Some("k"), 1_000)).status, 503, "nobody listens yet");
    let listener = Listener::start(feishu);
    platform.brings_back(&url, &Callback::new(&event, Some("k"), 1_000));
    assert_eq!(platform.calls_back(&url, &Callback::new(&event, Some("k"), 9_000)).status, 403, "a clock apart");
    assert_eq!(platform.calls_back(&url, &Callback::new(&event, Some("other"), 1_000)).status, 403);
    assert_eq!(platform.calls_back(&url, &Callback::new(&event, None, 1_000)).status, 403, "nothing in the open");
    assert_eq!(listener.inbox.words(1).await, ["hello"]);
    assert_eq!(platform.calls("endpoint").len(), 0, "it is not connected to");
    assert_eq!(listener.stop().await.taken().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_takes_longer_than_the_platform_waits_is_refused_and_kept_all_the_same() {
    let platform = OpenPlatform::start();
    let payload = platform.payload(&platform.says("ou_1", "with a large file"));
    let feishu = client(&platform);
    let kept = Arc::new(Kept::default());
    let inbox: Arc<dyn Inbox> = kept.clone();
    let slow = kept.slow().await;
    assert!(feishu.brought(&payload, &inbox).await.is_err());
    drop(slow);
    assert_eq!(kept.words(1).await, ["with a large file"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_longest_message_fits_into_a_card_whatever_it_says() {
    let platform = OpenPlatform::start();
    let chat = platform.knows("ou_1");
    let feishu = client(&platform);
    let abilities = feishu.abilities();
    for text in ["*".repeat(5000), "\u{1}\"\\".repeat(2000), "中文。".repeat(2000), "a b\n".repeat(2000)] {
        let pages = Rich::plain(text).split(abilities.unit, abilities.max_length);
        assert!(pages[0].len(abilities.unit) > abilities.max_length - 8);
        for page in pages {
            feishu.send(&outbound(&chat, page)).await.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thread_is_a_place_and_is_spoken_to_by_answering() {
    let platform = OpenPlatform::start();
    let listener = Listener::start(Arc::new(client(&platform)));
    platform.says("ou_1", "begin");
    listener.inbox.words(1).await;
    let feishu = client(&platform);
    let chat = listener.inbox.taken().remove(0).place.0;
    feishu.send(&outbound(&chat, Rich::plain("a card"))).await.unwrap();
    let card = platform.sent().pop().unwrap();
    let mut in_thread = card.clone();
    in_thread.root = Some(card.id.clone());
    platform.answers("ou_1", &in_thread, "in the thread");
    listener.inbox.words(2).await;
    let update = listener.stop().await.taken().remove(1);
    assert_eq!(update.place, Place(format!("{chat}/{}", card.id)));
    feishu.send(&outbound(&update.place.0, Rich::plain("answered there"))).await.unwrap();
    let sent = platform.sent().pop().unwrap();
    assert_eq!((sent.root, sent.parent), (Some(card.id.clone()), Some(card.id)));
    platform.wait_for_quiet();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_people_do_comes_in_and_is_acknowledged() {
    let platform = OpenPlatform::start();
    platform.set_ack(600);
    let listener = Listener::start(Arc::new(client(&platform)));
    platform.wait_for_links(1);
    let said = platform.says("ou_1", "hello");
    listener.inbox.words(1).await;
    let place = listener.inbox.taken()[0].place.0.clone();
    client(&platform).send(&outbound(&place, Rich::plain("which?"))).await.unwrap();
    let asked = platform.wait_for_sent(|sent| sent.words() == "which?");
    platform.answers("ou_1", &asked, "this one");
    let press = platform.presses("ou_2", &asked, json!({"token": "approve"}));
    platform.sends_file("ou_1", "notes.md", b"# Notes");
    assert_eq!(listener.inbox.words(4).await, ["hello", "this one", "approve", ""]);
    platform.wait_for_quiet();
    assert_eq!((platform.answers_to(&said), platform.answers_to(&press)), (vec![200], vec![200]));
    let taken = listener.stop().await.taken();
    assert_eq!((taken[0].setting, &taken[0].sender), (Setting::Private, &"ou_1".to_owned()));
    let What::Said { answers, .. } = &taken[1].what else { panic!("said") };
    assert_eq!(answers.as_ref(), Some(&MessageRef(asked.id.clone())));
    let under = MessageRef(asked.id);
    assert_eq!(taken[2].what, What::Pressed(Press { token: "approve".into(), under, id: press }));
    let What::Said { files, .. } = &taken[3].what else { panic!("said") };
    let feishu = client(&platform);
    assert_eq!(feishu.fetch(&files[0], 100).await.unwrap(), b"# Notes");
    let too_large = feishu.fetch(&files[0], 3).await;
    assert_eq!(too_large, Err(SendError::Dead("the file is larger than 3 bytes".into())));
    let gone = RemoteFile { handle: "om_1/file/none".into(), ..files[0].clone() };
    assert_eq!(feishu.fetch(&gone, 9).await, Err(SendError::Dead("File not in msg.".into())));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_is_a_group_and_mentions_are_left_out() {
    let platform = OpenPlatform::start();
    let content = json!({"text": "@_user_1 fix it"}).to_string();
    let message = json!({"message_type": "text", "content": content, "mentions": [{"key": "@_user_1", "name": "bot"}]});
    platform.says_in("oc_group", "ou_1", message);
    let listener = Listener::start(Arc::new(client(&platform)));
    assert_eq!(listener.inbox.words(1).await, ["fix it"]);
    let update = listener.stop().await.taken().remove(0);
    assert_eq!((update.place, update.setting), (Place("oc_group".into()), Setting::Group));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_goes_out() {
    let platform = OpenPlatform::start();
    let chat = platform.knows("ou_1");
    let upload = Upload {
        delivery: outbound(&chat, Rich::plain("x")).delivery,
        place: Place(chat),
        answers: None,
        name: "ü.patch".into(),
        mime: "text/x-diff".into(),
        bytes: b"--- a\n\x00\xff".to_vec(),
    };
    let feishu = client(&platform);
    platform.forget_tokens();
    feishu.upload(&upload).await.unwrap();
    let sent = platform.sent().pop().unwrap();
    let content: serde_json::Value = serde_json::from_str(&sent.content).unwrap();
    assert_eq!(sent.kind, "file");
    assert_eq!(platform.file(content["file_key"].as_str().unwrap()).unwrap(), upload.bytes);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_event_comes_in_pieces() {
    let platform = OpenPlatform::start();
    platform.set_ack(600);
    platform.set_piece(100);
    let text = "é".repeat(2_000);
    let event = platform.says("ou_1", &text);
    let listener = Listener::start(Arc::new(client(&platform)));
    assert_eq!(listener.inbox.words(1).await, [text]);
    platform.wait_for_quiet();
    assert_eq!(platform.answers_to(&event), [200]);
    listener.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn callbacks_are_believed_when_they_are_the_platforms() {
    let platform = OpenPlatform::start();
    let event = platform.says("ou_1", "hello");
    let payload = platform.payload(&event);
    let keys = |encrypt_key: Option<&str>| CallbackKeys {
        verification_token: VERIFICATION_TOKEN.into(),
        encrypt_key: encrypt_key.map(str::to_owned),
    };
    let signed =
        |call: &'static Callback| Signed { timestamp: &call.timestamp, nonce: &call.nonce, signature: &call.signature };
    let sealed: &'static Callback = Box::leak(Box::new(Callback::new(&payload, Some("k"), 1_000)));
    let read = keys(Some("k")).read(&sealed.body, Some(signed(sealed)), 1_200).unwrap();
    assert_eq!(read, Called::Event(payload.clone()));
    // Clocks that are too far apart, another key, and the same event without encryption.
    assert_eq!(keys(Some("k")).read(&sealed.body, Some(signed(sealed)), 1_301), Err(Disbelief::Time));
    assert_eq!(keys(Some("k")).read(&sealed.body, Some(signed(sealed)), 699), Err(Disbelief::Time));
    assert_eq!(keys(Some("K")).read(&sealed.body, Some(signed(sealed)), 1_000), Err(Disbelief::Unreadable));
    assert_eq!(keys(Some("k")).read(&payload, Some(signed(sealed)), 1_000), Err(Disbelief::Unreadable));
    assert_eq!(keys(None).read(&payload, None, 0), Ok(Called::Event(payload.clone())));
    let challenge = json!({"type": "url_verification", "token": VERIFICATION_TOKEN, "challenge": "c"}).to_string();
    let challenge = Callback::new(&challenge, Some("k"), 1_000);
    assert_eq!(keys(Some("k")).read(&challenge.body, None, 1_000), Ok(Called::Challenge("c".into())));
    let kept = Arc::new(Kept::default());
    let inbox: Arc<dyn Inbox> = kept.clone();
    let feishu = Feishu::new(&platform.url(), APP_ID, APP_SECRET, Some(keys(Some("k")))).unwrap();
    feishu.brought(&payload, &inbox).await.unwrap();
    assert_eq!(kept.words(1).await, ["hello"]);
    kept.refuses(&[true]);
    assert!(feishu.brought(&payload, &inbox).await.is_err(), "the platform has to hear of it");
}

//! What our Telegram client does when all is well.

use std::sync::Arc;

use axum::http::{HeaderMap, StatusCode};
use serde_json::json;
use throughline_channels::platforms::telegram::{SetupError, Telegram, Webhook};
use throughline_channels::rich::{Look, Rich};
use throughline_channels::{
    Button, Call, CallError, Channel as _, MessageRef, Outbound, Place, Press, RemoteFile, SendError, Setting, Unit,
    Upload, What,
};
use throughline_testkit::telegram::{BotApi, Hook, Key};

use crate::inbox::{Listener, outbound};

pub(crate) fn client(api: &BotApi) -> Telegram {
    Telegram::new(&api.url(), api.token(), None).expect("a client")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_goes_out_with_its_shape_its_buttons_and_what_it_answers() {
    let api = BotApi::start();
    api.says(42, "run the tests");
    let telegram = client(&api);
    let mut message = outbound("42", Rich::plain("run it? ").and(Look::Code, "rm *").and(Look::Bold, "!"));
    message.buttons = vec![vec![Button { label: "Yes".into(), token: "t".into() }]];
    message.answers = Some(MessageRef("42:1".into()));
    message.quiet = true;
    let receipt = telegram.send(&message).await.unwrap();
    let sent = api.sent().pop().unwrap();
    assert_eq!(receipt.message, MessageRef(format!("42:{}", sent.id)));
    assert_eq!(sent.shown.text, "run it? rm *!");
    let kinds: Vec<_> = sent.shown.entities.iter().map(|entity| entity.kind.name()).collect();
    assert_eq!(kinds, ["code", "bold"]);
    assert_eq!((sent.answers, sent.silent), (Some(1), true));
    assert_eq!(sent.buttons, [[Key { text: "Yes".into(), data: "t".into() }]]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_is_changed_and_a_change_that_is_none_is_fine() {
    let api = BotApi::start();
    api.knows(42);
    let telegram = client(&api);
    let first = telegram.send(&outbound("42", Rich::plain("working"))).await.unwrap();
    let change = Outbound { replaces: Some(first.message.clone()), ..outbound("42", Rich::plain("done.")) };
    assert_eq!(telegram.send(&change).await.as_ref(), Ok(&first));
    assert_eq!(telegram.send(&change).await, Ok(first), "the platform says that it is not modified");
    let sent = api.sent();
    assert_eq!((sent.len(), sent[0].edits, sent[0].shown.text.as_str()), (1, 1, "done."));
    assert_eq!(api.calls("editMessageText").len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_answers_one_that_is_gone_is_sent_all_the_same() {
    let api = BotApi::start();
    api.knows(42);
    let message = Outbound { answers: Some(MessageRef("42:999".into())), ..outbound("42", Rich::plain("x")) };
    client(&api).send(&message).await.unwrap();
    assert_eq!(api.sent()[0].answers, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn long_texts_go_in_pages_that_the_platform_takes() {
    let api = BotApi::start();
    api.knows(42);
    let telegram = client(&api);
    let abilities = telegram.abilities();
    let text = "😀 a.b-c! ".repeat(700) + "```rust\nlet a = 1;\n```\n*" + &"_".repeat(5000);
    let pages = Rich::from_markdown(&text).split(abilities.unit, abilities.max_length);
    assert!(pages.len() > 2);
    for page in pages {
        telegram.send(&outbound("42", page)).await.unwrap();
    }
    let letters = |text: &str| text.chars().filter(|char| !char.is_whitespace()).collect::<String>();
    let shown: String = api.sent().iter().map(|sent| sent.shown.text.clone()).collect();
    assert_eq!(letters(&shown), letters(&Rich::from_markdown(&text).letters()));
    let whole = Rich::plain("😀".repeat(2048));
    assert_eq!(whole.len(Unit::Utf16), 4096);
    telegram.send(&outbound("42", whole.clone())).await.expect("4,096 units are taken");
    let too_long = telegram.send(&outbound("42", whole.and(Look::Plain, "x"))).await;
    assert_eq!(too_long, Err(SendError::Dead("Bad Request: message is too long".into())));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_topic_is_a_place() {
    let api = BotApi::start();
    let topic = api.topic(-100);
    let first = api.says_in(
        -100,
        42,
        json!({"text": "hi", "message_thread_id": topic, "is_topic_message": true,
        "reply_to_message": {"message_id": topic, "chat": {"id": -100, "type": "supergroup"}, "date": 1}}),
    );
    let listener = Listener::start(Arc::new(client(&api)));
    listener.inbox.words(1).await;
    api.wait_for_confirmed(first + 1);
    let update = listener.stop().await.taken().remove(0);
    assert_eq!((update.place.clone(), update.setting), (Place(format!("-100/{topic}")), Setting::Group));
    client(&api).send(&outbound(&update.place.0, Rich::plain("hello"))).await.unwrap();
    assert_eq!((api.sent()[0].chat, api.sent()[0].topic), (-100, Some(topic)));
    let gone = client(&api).send(&outbound("-100/999", Rich::plain("hello"))).await;
    assert_eq!(gone, Err(SendError::Dead("Bad Request: message thread not found".into())));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_people_do_comes_in_once_and_in_order() {
    let api = BotApi::start();
    api.says(42, "one");
    let listener = Listener::start(Arc::new(client(&api)));
    listener.inbox.words(1).await;
    client(&api).send(&outbound("42", Rich::plain("which?"))).await.unwrap();
    let asked = api.wait_for_sent(|sent| sent.shown.text == "which?");
    api.answers(42, &asked, "this one");
    let press = api.presses(43, &asked, "approve");
    let last = api.sends_file(42, "notes.md", "text/markdown", b"# Notes");
    assert_eq!(listener.inbox.words(4).await, ["one", "this one", "approve", ""]);
    api.wait_for_confirmed(last + 1);
    let taken = listener.stop().await.taken();
    let under = MessageRef(format!("42:{}", asked.id));
    let What::Said { answers, .. } = &taken[1].what else { panic!("said") };
    assert_eq!(answers.as_ref(), Some(&under));
    assert_eq!(taken[2].what, What::Pressed(Press { token: "approve".into(), under, id: press }));
    assert_eq!(taken[2].sender, "43");
    let What::Said { files, .. } = &taken[3].what else { panic!("said") };
    assert_eq!((files[0].name.as_str(), files[0].bytes), ("notes.md", Some(7)));
    assert_eq!(client(&api).fetch(&files[0], 100).await.unwrap(), b"# Notes");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_fetched_up_to_a_bound() {
    let api = BotApi::start();
    let file = |handle: String| RemoteFile { name: "a".into(), mime: "text/plain".into(), bytes: None, handle };
    let small = file(api.keeps_file(b"the file's bytes"));
    let telegram = client(&api);
    assert_eq!(telegram.fetch(&small, 16).await.unwrap(), b"the file's bytes");
    let too_large = telegram.fetch(&small, 15).await;
    assert_eq!(too_large, Err(SendError::Dead("the file is larger than 15 bytes".into())));
    let gone = telegram.fetch(&file("nothing".into()), 15).await;
    assert_eq!(gone, Err(SendError::Dead("Bad Request: invalid file_id".into())));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_goes_out() {
    let api = BotApi::start();
    let topic = api.topic(-100);
    let upload = Upload {
        delivery: outbound("1", Rich::plain("x")).delivery,
        place: Place(format!("-100/{topic}")),
        answers: Some(MessageRef(format!("-100:{topic}"))),
        name: "diff \"ü\".patch".into(),
        mime: "text/x-diff".into(),
        bytes: b"--- a\n+++ b\n\x00\xff".to_vec(),
    };
    let receipt = client(&api).upload(&upload).await.unwrap();
    let sent = api.sent().pop().unwrap();
    assert_eq!(receipt.message, MessageRef(format!("-100:{}", sent.id)));
    assert_eq!((sent.topic, sent.answers), (Some(topic), Some(topic)));
    let document = sent.document.unwrap();
    assert_eq!((document.mime.as_str(), document.bytes), ("text/x-diff", upload.bytes));
    assert!(document.name.contains("ü"), "{}", document.name);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_press_is_acknowledged_and_typing_is_shown() {
    let api = BotApi::start();
    api.knows(42);
    let telegram = client(&api);
    telegram.send(&outbound("42", Rich::plain("run?"))).await.unwrap();
    let id = api.presses(42, &api.sent()[0], "t");
    let press = Press { token: "t".into(), under: MessageRef("42:1".into()), id: id.clone() };
    telegram.acknowledge(&press, &"é".repeat(500)).await.unwrap();
    assert_eq!(api.wait_for_answer(&id), "é".repeat(190));
    telegram.typing(&Place("42".into())).await;
    assert_eq!(api.calls("sendChatAction")[0]["action"], "typing");
}

/// A call with this secret.
fn call(secret: Option<&str>, body: String) -> Call {
    let mut headers = HeaderMap::new();
    if let Some(secret) = secret {
        headers.insert("x-telegram-bot-api-secret-token", secret.parse().expect("a header"));
    }
    Call { headers, body, at_secs: 1_000 }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_is_registered_and_believed_only_with_its_secret() {
    let api = BotApi::start();
    let webhook = Webhook::at("https://example.org/hook".into(), api.token());
    let secret = webhook.secret.clone();
    assert!(!secret.contains(api.token().split_once(':').unwrap().1), "the token does not leave");
    let telegram = Arc::new(Telegram::new(&api.url(), api.token(), Some(webhook.clone())).unwrap());
    let body = json!({"update_id": 5, "message": {"message_id": 1, "from": {"id": 42}, "text": "hi",
        "chat": {"id": 42, "type": "private"}}});
    let brings = async |secret: Option<&str>| telegram.called(&call(secret, body.to_string())).await;
    assert!(matches!(brings(Some(&secret)).await, Err(CallError::NotTaken(_))), "nobody listens yet");
    let listener = Listener::start(telegram.clone());
    assert_eq!(api.wait_for_hook(), Hook { url: webhook.url, secret: Some(secret.clone()) });
    assert_eq!(api.calls("setWebhook")[0]["max_connections"], 1, "nothing overtakes");
    for wrong in [None, Some(""), Some(&secret[..63]), Some("s3cret"), Some(&format!("{secret}0"))] {
        assert!(matches!(brings(wrong).await, Err(CallError::Disbelieved(_))), "{wrong:?}");
    }
    let mut twice = call(Some(&secret), body.to_string());
    twice.headers.append("x-telegram-bot-api-secret-token", "x".parse().unwrap());
    assert!(matches!(telegram.called(&twice).await, Err(CallError::Disbelieved(_))));
    brings(Some(&secret)).await.unwrap();
    listener.inbox.refuses(&[true]);
    assert!(matches!(brings(Some(&secret)).await, Err(CallError::NotTaken(_))), "the platform has to hear of it");
    assert_eq!(listener.inbox.words(1).await, ["hi"]);
    let inbox = listener.stop().await;
    assert_eq!((inbox.taken().len(), api.calls("getUpdates").len()), (1, 0), "it does not ask for what is brought");
    assert!(matches!(brings(Some(&secret)).await, Err(CallError::NotTaken(_))), "nobody listens any more");
    let polling = client(&api).called(&call(Some(&secret), body.to_string())).await;
    assert_eq!(polling, Err(CallError::Unexpected));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_webhook_does_not_take_is_brought_again_in_order() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let api = BotApi::start();
    api.set_tunnel(&listener.local_addr().unwrap().to_string());
    let webhook = Webhook::at("https://example.org/hook".into(), api.token());
    let telegram = Arc::new(Telegram::new(&api.url(), api.token(), Some(webhook)).unwrap());
    let called = telegram.clone();
    let receive =
        async move |headers: HeaderMap, body: String| match called.called(&Call { headers, body, at_secs: 0 }).await {
            Ok(_) => StatusCode::OK,
            Err(_) => StatusCode::SERVICE_UNAVAILABLE,
        };
    let router = axum::Router::new().route("/hook", axum::routing::post(receive));
    tokio::spawn(async move { axum::serve(listener, router).await });
    let listening = Listener::start(telegram);
    listening.inbox.refuses(&[false, true, true]);
    api.wait_for_hook();
    for text in ["a", "b", "c"] {
        api.says(42, text);
    }
    assert_eq!(listening.inbox.words(3).await, ["a", "b", "c"]);
    api.wait_for_quiet();
    listening.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn polling_ends_a_webhook_that_somebody_set() {
    let api = BotApi::start();
    let webhook = Webhook { url: "https://example.org/hook".into(), secret: "s".into() };
    let hooked = Listener::start(Arc::new(Telegram::new(&api.url(), api.token(), Some(webhook)).unwrap()));
    api.wait_for_hook();
    hooked.stop().await;
    let listener = Listener::start(Arc::new(client(&api)));
    api.says(42, "hi");
    assert_eq!(listener.inbox.words(1).await, ["hi"]);
    listener.stop().await;
    assert_eq!(api.hook(), None);
}

#[test]
fn a_token_that_is_none_is_refused() {
    for token in ["", "7", ":x", "7:", "7:a/../b", "7:a b"] {
        assert!(matches!(Telegram::new("http://localhost", token, None), Err(SetupError::Token)), "{token}");
    }
}

//! What our Telegram client makes of a platform that fails.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use throughline_channels::platforms::telegram::Telegram;
use throughline_channels::rich::Rich;
use throughline_channels::{Channel as _, Outbound, Press, RemoteFile, SendError};
use throughline_testkit::Fault;
use throughline_testkit::telegram::BotApi;

use crate::inbox::{Kept, Listener, outbound};
use crate::telegram::client;

/// A platform that knows 42, and a client of it.
fn known() -> (BotApi, Telegram) {
    let api = BotApi::start();
    api.knows(42);
    let telegram = client(&api);
    (api, telegram)
}

fn message() -> Outbound {
    outbound("42", Rich::plain("the result"))
}

#[tokio::test(flavor = "multi_thread")]
async fn too_fast_means_later_as_the_platform_says() {
    let (api, telegram) = known();
    api.slows("sendMessage", 17);
    assert_eq!(telegram.send(&message()).await, Err(SendError::Later { after_secs: 17 }));
    assert_eq!(api.sent(), []);
    api.fails("sendMessage", Fault::Proxy(429));
    assert_eq!(telegram.send(&message()).await, Err(SendError::Later { after_secs: 5 }));
    // From now on it is one a second.
    let began = tokio::time::Instant::now();
    assert!(telegram.send(&message()).await.is_ok());
    assert!(telegram.send(&message()).await.is_ok());
    assert!(began.elapsed() >= Duration::from_millis(900), "{:?}", began.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_for_good_is_dead() {
    let (api, telegram) = known();
    api.block(42);
    let blocked = telegram.send(&message()).await;
    assert_eq!(blocked, Err(SendError::Dead("Forbidden: bot was blocked by the user".into())));
    let stranger = telegram.send(&outbound("43", Rich::plain("x"))).await;
    assert_eq!(stranger, Err(SendError::Dead("Bad Request: chat not found".into())));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_error_leaves_the_outcome_open() {
    let (api, telegram) = known();
    api.refuses("sendMessage", 500, "Internal Server Error");
    assert_eq!(telegram.send(&message()).await, Err(SendError::Unknown("Internal Server Error".into())));
    for status in [502, 503, 504] {
        api.fails("sendMessage", Fault::Proxy(status));
        let open = telegram.send(&message()).await;
        assert!(matches!(open, Err(SendError::Unknown(_))), "{open:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_whose_answer_is_lost_may_have_been_sent() {
    for (fault, done) in [(Fault::LoseAnswer, 1), (Fault::NeverAnswer, 1), (Fault::HangUp, 0), (Fault::Nonsense, 0)] {
        let (api, telegram) = known();
        let telegram = telegram.with_patience(Duration::from_secs(3));
        api.fails("sendMessage", fault.clone());
        let open = telegram.send(&message()).await;
        assert!(matches!(&open, Err(SendError::Unknown(why)) if !why.contains("stub")), "{fault:?}: {open:?}");
        assert_eq!(api.sent().len(), done, "{fault:?}");
        assert_eq!(api.calls("sendMessage").len(), 1, "it is not tried again: {fault:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_whose_answer_is_lost_is_made_again() {
    let (api, telegram) = known();
    let first = telegram.send(&message()).await.unwrap();
    let change = Outbound { replaces: Some(first.message.clone()), ..outbound("42", Rich::plain("done")) };
    api.fails("editMessageText", Fault::LoseAnswer);
    assert_eq!(telegram.send(&change).await, Err(SendError::Later { after_secs: 1 }));
    assert_eq!(telegram.send(&change).await, Ok(first));
    assert_eq!(api.sent()[0].edits, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_cannot_be_changed_is_dead() {
    let (_api, telegram) = known();
    let first = telegram.send(&message()).await.unwrap();
    let gone = first.message.0.replace(':', ":99");
    let change = Outbound { replaces: Some(throughline_channels::MessageRef(gone)), ..message() };
    assert_eq!(telegram.send(&change).await, Err(SendError::Dead("Bad Request: message to edit not found".into())));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_token_means_later_and_nothing_is_lost() {
    let (api, telegram) = known();
    api.revoke(true);
    assert_eq!(telegram.send(&message()).await, Err(SendError::Later { after_secs: 60 }));
    api.says(42, "still here?");
    let listener = Listener::start(Arc::new(client(&api)));
    api.wait_for_calls("getMe", 2);
    assert_eq!((api.confirmed(), listener.inbox.taken().len()), (0, 0));
    api.revoke(false);
    assert_eq!(listener.inbox.words(1).await, ["still here?"]);
    listener.stop().await;
    assert!(telegram.send(&message()).await.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_there_means_later() {
    let nobody = Telegram::new("http://127.0.0.1:1", "7:x", None).unwrap();
    assert_eq!(nobody.send(&message()).await, Err(SendError::Later { after_secs: 5 }));
}

#[tokio::test(flavor = "multi_thread")]
async fn markup_that_is_refused_goes_as_letters() {
    let (api, telegram) = known();
    api.refuses("sendMessage", 400, "Bad Request: can't parse entities: Character '.' is reserved");
    assert!(telegram.send(&outbound("42", Rich::plain("a.b"))).await.is_ok());
    let texts: Vec<_> = api.calls("sendMessage").iter().map(|call| call["text"].clone()).collect();
    assert_eq!(texts, [json!(r"a\.b"), json!("a.b")]);
    assert_eq!(api.sent()[0].shown.text, "a.b");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_press_that_is_too_old_is_dead() {
    let (_api, telegram) = known();
    let press = Press { token: "t".into(), under: throughline_channels::MessageRef("42:1".into()), id: "1".into() };
    let old = telegram.acknowledge(&press, "too late").await;
    assert!(matches!(&old, Err(SendError::Dead(why)) if why.contains("query is too old")), "{old:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_not_had_from_a_platform_that_fails() {
    let (api, telegram) = known();
    let file = RemoteFile { name: "a".into(), mime: "a/b".into(), bytes: None, handle: api.keeps_file(b"x") };
    api.slows("getFile", 3);
    assert_eq!(telegram.fetch(&file, 9).await, Err(SendError::Later { after_secs: 3 }));
    api.fails("getFile", Fault::LoseAnswer);
    assert!(matches!(telegram.fetch(&file, 9).await, Err(SendError::Unknown(_))));
    assert_eq!(telegram.fetch(&file, 9).await.unwrap(), b"x");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_taken_is_not_acknowledged_and_comes_again() {
    let api = BotApi::start();
    for text in ["a", "b", "c"] {
        api.says(42, text);
    }
    let inbox = Arc::new(Kept::default());
    // "b" is refused, "a" and "c" are not; "b" is refused once more when it comes again.
    inbox.refuses(&[false, true, true]);
    let listener = Listener::into(Arc::new(client(&api)), inbox);
    assert_eq!(listener.inbox.words(3).await, ["a", "b", "c"], "nothing overtakes, nothing is lost");
    api.wait_for_confirmed(4);
    listener.stop().await;
    let offsets: Vec<_> = api.calls("getUpdates").iter().filter_map(|call| call["offset"].as_i64()).collect();
    assert!(offsets.is_sorted() && offsets.contains(&2), "{offsets:?}");
    assert!(!offsets.contains(&3), "b was never skipped: {offsets:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_order_is_put_right_before_anything_is_acknowledged() {
    let api = BotApi::start();
    for text in ["a", "b", "c"] {
        api.says(42, text);
    }
    api.reverse();
    let inbox = Arc::new(Kept::default());
    inbox.refuses(&[true]);
    let listener = Listener::into(Arc::new(client(&api)), inbox);
    assert_eq!(listener.inbox.words(3).await, ["a", "b", "c"]);
    listener.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_platform_is_waited_for() {
    let api = BotApi::start();
    api.says(42, "a");
    for fault in [Fault::LoseAnswer, Fault::HangUp, Fault::Proxy(502), Fault::Nonsense] {
        api.fails("getUpdates", fault);
    }
    let listener = Listener::start(Arc::new(client(&api)));
    assert_eq!(listener.inbox.words(1).await, ["a"]);
    api.wait_for_confirmed(2);
    listener.stop().await;
    // Whatever broke, nothing was acknowledged before the inbox had it.
    let asked = api.calls("getUpdates");
    assert!(asked[..5].iter().all(|call| call["offset"].is_null()), "{asked:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_that_the_platform_wants_is_kept_while_listening() {
    let api = BotApi::start();
    api.says(42, "a");
    api.slows("getUpdates", 2);
    let began = tokio::time::Instant::now();
    let listener = Listener::start(Arc::new(client(&api)));
    assert_eq!(listener.inbox.words(1).await, ["a"]);
    assert!(began.elapsed() >= Duration::from_secs(2), "{:?}", began.elapsed());
    listener.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_update_that_comes_twice_has_the_same_key() {
    let api = BotApi::start();
    let first = api.says(42, "a");
    let listener = Listener::start(Arc::new(client(&api)));
    listener.inbox.words(1).await;
    api.wait_for_confirmed(first + 1);
    let chat = json!({"id": 42, "type": "private"});
    api.brings_again(first, json!({"message": {"message_id": 1, "from": {"id": 42}, "chat": chat, "text": "a"}}));
    listener.inbox.words(2).await;
    let taken = listener.stop().await.taken();
    assert_eq!(taken[0].key, taken[1].key);
    assert_ne!(taken[0].raw, taken[1].raw, "though it was told in other words");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_platforms_clock_does_not_matter() {
    let api = BotApi::start();
    for (date, text) in [(0, "1970"), (32_503_680_000, "3000"), (-1, "before"), (i64::MAX, "the end")] {
        api.set_clock(date);
        api.says(42, text);
    }
    let listener = Listener::start(Arc::new(client(&api)));
    assert_eq!(listener.inbox.words(4).await, ["1970", "3000", "before", "the end"]);
    listener.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_read_is_passed_over() {
    let api = BotApi::start();
    api.says(42, "before");
    for broken in [
        r#"{"update_id": 2, "message": 17}"#,
        r#""nonsense""#,
        "null",
        "[]",
        r#"{"update_id": "5"}"#,
        r#"{"update_id": 7, "message": {"message_id": 1, "from": {"id": 42}, "chat": {"id": 42}, "text": "\ud800"}}"#,
        r#"{"update_id": 8, "message": {"message_id": 1e400, "chat": {"id": 42}}}"#,
        r#"{"update_id": 9, "callback_query": {"id": "x", "from": {"id": 42}, "data": null}}"#,
    ] {
        api.brings_raw(broken);
    }
    let last = api.says(42, "after");
    let listener = Listener::start(Arc::new(client(&api)));
    assert_eq!(listener.inbox.words(2).await, ["before", "after"]);
    api.wait_for_confirmed(last + 1);
    listener.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_update_without_a_number_is_not_asked_for_in_a_loop() {
    let api = BotApi::start();
    api.brings_raw(r#""nonsense""#);
    let began = tokio::time::Instant::now();
    let listener = Listener::start(Arc::new(client(&api)));
    api.wait_for_calls("getUpdates", 3);
    assert!(began.elapsed() >= Duration::from_millis(900), "{:?}", began.elapsed());
    api.says(42, "after");
    assert_eq!(listener.inbox.words(1).await, ["after"]);
    listener.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_of_us_do_not_lose_anything_to_each_other() {
    let api = BotApi::start();
    let one = Listener::start(Arc::new(client(&api)));
    api.wait_for_calls("getUpdates", 1);
    let two = Listener::start(Arc::new(client(&api)));
    api.wait_for_calls("getUpdates", 2);
    let last = api.says(42, "hi");
    api.wait_for_confirmed(last + 1);
    let (one, two) = (one.stop().await, two.stop().await);
    assert!(one.taken().len() + two.taken().len() >= 1);
    let keys: Vec<_> = one.taken().into_iter().chain(two.taken()).map(|update| update.key).collect();
    assert!(keys.iter().all(|key| key == &keys[0]), "{keys:?}");
}

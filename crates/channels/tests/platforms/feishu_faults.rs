//! What our Feishu client makes of a platform that fails.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use throughline_channels::platforms::feishu::Feishu;
use throughline_channels::rich::Rich;
use throughline_channels::{Channel as _, MessageRef, Outbound, SendError};
use throughline_testkit::Fault;
use throughline_testkit::feishu::{APP_ID, APP_SECRET, OpenPlatform};

use crate::feishu::client;
use crate::inbox::{Kept, Listener, outbound};

/// A platform that knows somebody, a client of it, and a message for them.
fn known() -> (OpenPlatform, Feishu, Outbound) {
    let platform = OpenPlatform::start();
    let chat = platform.knows("ou_1");
    let feishu = client(&platform);
    (platform, feishu, outbound(&chat, Rich::plain("the result")))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_the_platform_forgot_is_fetched_anew() {
    let (platform, feishu, message) = known();
    feishu.send(&message).await.unwrap();
    platform.forget_tokens();
    let again = outbound(&message.place.0, Rich::plain("another"));
    feishu.send(&again).await.unwrap();
    assert_eq!((platform.calls("token").len(), platform.sent().len()), (2, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_fetched_anew_also_if_the_status_is_success() {
    let (platform, feishu, message) = known();
    platform.refuses("send", 200, 99_991_663, "Invalid access token for authorization.");
    feishu.send(&message).await.unwrap();
    assert_eq!((platform.calls("token").len(), platform.sent().len()), (2, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_fetched_anew_before_it_runs_out() {
    let (platform, feishu, message) = known();
    // Half of it is kept in hand, and half of nothing is nothing: each call needs a new one.
    platform.set_token_life(0);
    feishu.send(&message).await.unwrap();
    feishu.send(&outbound(&message.place.0, Rich::plain("another"))).await.unwrap();
    assert_eq!(platform.calls("token").len(), 2);
    platform.set_token_life(7200);
    for _ in 0..3 {
        feishu.send(&outbound(&message.place.0, Rich::plain("more"))).await.unwrap();
    }
    assert_eq!(platform.calls("token").len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_calls_at_once_fetch_one_token() {
    let (platform, feishu, message) = known();
    let feishu = Arc::new(feishu);
    let calls = (0..8).map(|n| {
        let (feishu, message) = (Arc::clone(&feishu), outbound(&message.place.0, Rich::plain(n.to_string())));
        tokio::spawn(async move { feishu.send(&message).await.map(|_| ()) })
    });
    for call in calls.collect::<Vec<_>>() {
        call.await.unwrap().unwrap();
    }
    assert_eq!((platform.calls("token").len(), platform.sent().len()), (1, 8));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_secret_means_later() {
    let (platform, feishu, message) = known();
    platform.revoke(true);
    assert_eq!(feishu.send(&message).await, Err(SendError::Later { after_secs: 60 }));
    platform.says("ou_1", "still here?");
    let listener = Listener::start(Arc::new(client(&platform)));
    platform.wait_for_calls("endpoint", 2);
    assert_eq!(listener.inbox.taken().len(), 0);
    platform.revoke(false);
    assert_eq!(listener.inbox.words(1).await, ["still here?"]);
    listener.stop().await;
    assert!(feishu.send(&message).await.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn too_fast_means_later_as_the_platform_says() {
    let (platform, feishu, message) = known();
    platform.slows("send", 17);
    assert_eq!(feishu.send(&message).await, Err(SendError::Later { after_secs: 17 }));
    for code in [99_991_400, 230_020, 230_049] {
        platform.refuses("send", 400, code, "This operation triggers the frequency limit.");
        assert_eq!(feishu.send(&message).await, Err(SendError::Later { after_secs: 1 }), "{code}");
        platform.refuses("send", 200, code, "This operation triggers the frequency limit.");
        assert_eq!(feishu.send(&message).await, Err(SendError::Later { after_secs: 1 }), "{code}");
    }
    platform.fails("send", Fault::Proxy(429));
    assert_eq!(feishu.send(&message).await, Err(SendError::Later { after_secs: 1 }));
    assert_eq!(platform.sent(), []);
    assert!(feishu.send(&message).await.is_ok());
    let (platform, feishu, message) = known();
    platform.refuses("token", 400, 99_991_400, "request trigger frequency limit");
    assert_eq!(feishu.send(&message).await, Err(SendError::Later { after_secs: 1 }), "tokens have limits, too");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_for_good_is_dead() {
    let (platform, feishu, message) = known();
    let outside = feishu.send(&outbound("oc_other", Rich::plain("x"))).await;
    assert_eq!(outside, Err(SendError::Dead("The bot can not be outside the group.".into())));
    let gone = Outbound { replaces: Some(MessageRef("om_gone".into())), ..message.clone() };
    assert!(matches!(feishu.send(&gone).await, Err(SendError::Dead(_))));
    let gone = Outbound { answers: Some(MessageRef("om_gone".into())), ..message };
    assert!(matches!(feishu.send(&gone).await, Err(SendError::Dead(_))));
    assert_eq!(platform.sent(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_may_have_been_sent_is_sent_again_and_is_one_message() {
    let faults = [
        (Fault::LoseAnswer, 1),
        (Fault::NeverAnswer, 1),
        (Fault::HangUp, 0),
        (Fault::Nonsense, 0),
        (Fault::Proxy(502), 0),
        (Fault::Refuse { status: 500, body: json!({"code": 2200, "msg": "Internal Error"}), header: None }, 0),
    ];
    for (fault, done) in faults {
        let (platform, feishu, message) = known();
        let feishu = feishu.with_patience(Duration::from_secs(3));
        platform.fails("send", fault.clone());
        assert!(matches!(feishu.send(&message).await, Err(SendError::Unknown(_))), "{fault:?}");
        assert_eq!(platform.sent().len(), done, "{fault:?}");
        feishu.send(&message).await.unwrap();
        assert_eq!(platform.sent().len(), 1, "{fault:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_token_nothing_was_sent() {
    for fault in [Fault::HangUp, Fault::LoseAnswer, Fault::Proxy(503), Fault::Nonsense] {
        let (platform, feishu, message) = known();
        platform.fails("token", fault.clone());
        assert_eq!(feishu.send(&message).await, Err(SendError::Later { after_secs: 5 }), "{fault:?}");
        assert_eq!(platform.calls("send").len(), 0, "{fault:?}");
    }
    let nobody = Feishu::new("http://127.0.0.1:1", APP_ID, APP_SECRET, None).unwrap();
    let message = outbound("oc_1", Rich::plain("x"));
    assert_eq!(nobody.send(&message).await, Err(SendError::Later { after_secs: 5 }));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_breaks_is_made_again_and_nothing_is_lost() {
    let platform = OpenPlatform::start();
    let listener = Listener::start(Arc::new(client(&platform)));
    platform.says("ou_1", "one");
    listener.inbox.words(1).await;
    platform.wait_for_quiet();
    platform.cut();
    platform.says("ou_1", "two");
    assert_eq!(listener.inbox.words(2).await, ["one", "two"]);
    platform.wait_for_quiet();
    platform.fails("endpoint", Fault::Proxy(502));
    platform.fails("endpoint", Fault::HangUp);
    platform.cut();
    platform.says("ou_1", "three");
    assert_eq!(listener.inbox.words(3).await, ["one", "two", "three"]);
    listener.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_says_nothing_is_left() {
    let platform = OpenPlatform::start();
    platform.set_pings(true, 1);
    let listener = Listener::start(Arc::new(client(&platform)));
    platform.wait_for_links(2);
    platform.set_pings(false, 1);
    platform.says("ou_1", "hello");
    assert_eq!(listener.inbox.words(1).await, ["hello"]);
    assert!(platform.pings() >= 1);
    listener.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_taken_is_not_acknowledged_and_comes_again() {
    let platform = OpenPlatform::start();
    platform.set_ack(600);
    let inbox = Arc::new(Kept::default());
    inbox.refuses(&[true, true]);
    let event = platform.says("ou_1", "a");
    let listener = Listener::into(Arc::new(client(&platform)), inbox);
    assert_eq!(listener.inbox.words(1).await, ["a"]);
    platform.wait_for_quiet();
    assert_eq!(platform.answers_to(&event), [500, 500, 200]);
    listener.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_that_is_acknowledged_late_comes_again_with_the_same_key() {
    let platform = OpenPlatform::start();
    platform.set_ack(1);
    let inbox = Arc::new(Kept::default());
    let slow = inbox.slow().await;
    let event = platform.says("ou_1", "a");
    let listener = Listener::into(Arc::new(client(&platform)), Arc::clone(&inbox));
    platform.wait_for_tries(&event, 2);
    drop(slow);
    listener.inbox.words(2).await;
    platform.wait_for_quiet();
    let taken = listener.stop().await.taken();
    assert!(taken.iter().all(|update| update.key == taken[0].key));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_that_comes_twice_has_the_same_key_and_any_order_is_taken() {
    let platform = OpenPlatform::start();
    platform.hold(true, true);
    let first = platform.says("ou_1", "a");
    platform.says("ou_1", "b");
    let listener = Listener::start(Arc::new(client(&platform)));
    platform.wait_for_links(1);
    platform.hold(false, true);
    assert_eq!(listener.inbox.words(2).await, ["b", "a"]);
    platform.brings_again(&first);
    assert_eq!(listener.inbox.words(3).await, ["b", "a", "a"]);
    platform.wait_for_quiet();
    let taken = listener.stop().await.taken();
    assert_eq!(taken[1].key, taken[2].key);
    assert_ne!(taken[0].key, taken[1].key);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_read_is_acknowledged_and_passed_over() {
    let platform = OpenPlatform::start();
    let listener = Listener::start(Arc::new(client(&platform)));
    platform.wait_for_links(1);
    let whole = OpenPlatform::frame("{}");
    platform.sends_bytes(&[]);
    platform.sends_bytes(&[0xff; 64]);
    platform.sends_bytes(&whole[..whole.len() - 3]);
    platform.sends_bytes(&whole.iter().map(|byte| byte ^ 0x55).collect::<Vec<_>>());
    for broken in [
        "",
        "nonsense",
        "null",
        "[]",
        r#"{"schema":"2.0"}"#,
        r#"{"header":{"event_id":1,"event_type":"im.message.receive_v1"},"event":{}}"#,
        r#"{"header":{"event_id":"e","event_type":"im.message.receive_v1"},"event":{"sender":7}}"#,
        r#"{"header":{"event_id":"e","event_type":"card.action.trigger"},"event":{"action":{"value":"x"}}}"#,
        r#"{"header":{"event_id":"e","event_type":"something.new_v9"},"event":{}}"#,
    ] {
        // A payload of nothing has no frame.
        if !broken.is_empty() {
            platform.brings_raw(broken);
        }
    }
    platform.says("ou_1", "after");
    assert_eq!(listener.inbox.words(1).await, ["after"]);
    platform.wait_for_quiet();
    listener.stop().await;
}

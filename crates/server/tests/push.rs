//! Web push, against a push service on loopback that opens what it gets as the browser would.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod support;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use serde_json::{Value, json};
use support::push::{Browser, Page, Service};
use support::{Daemon, within};

#[tokio::test]
async fn a_device_is_told_until_it_is_gone() {
    let service = Service::start().await;
    let daemon = Daemon::start_with(|options| service.trusted(options)).await;
    let page = Page::enter(&daemon).await;
    assert!(!page.is_told().await);

    let browser = page.browser(&service).await;
    assert!(page.is_told().await);
    let first = daemon.working(1).await;
    daemon.complete(&first).await;
    let (head, body) = service.next("201 Created").await;
    assert!(head.starts_with("post /to/somebody "), "{head}");
    for line in ["content-encoding: aes128gcm", "urgency: normal", "ttl: ", "topic: ", "authorization: vapid t="] {
        assert!(head.contains(line), "{line}: {head}");
    }
    let told = browser.open(&body);
    assert_eq!((&told["reason"], &told["task"]), (&json!("completed"), &json!(first.key)));
    assert_eq!(told["title"], "Fix routing");

    let browser = page.browser(&service).await;
    let second = daemon.working(2).await;
    daemon.does(&second, support::asked(&second, "call-1")).await;
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
    let service = Service::start().await;
    let daemon = Daemon::start_with(|options| service.trusted(options)).await;
    let page = Page::enter(&daemon).await;
    let browser = page.browser(&service).await;
    keep_quiet(&page, &["approval"]).await;
    let done = daemon.working(1).await;
    daemon.complete(&done).await;
    let asking = daemon.working(2).await;
    daemon.does(&asking, support::asked(&asking, "call-1")).await;
    let (_, body) = service.next("201 Created").await;
    assert_eq!(browser.open(&body)["reason"], "approval", "the result is held, the exception is not");

    let browser = page.browser(&service).await;
    assert_eq!(page.call("DELETE", "/api/v1/notices/quiet", b"").await.status, 200);
    let (head, body) = service.next("201 Created").await;
    assert!(head.contains("topic: digest"), "{head}");
    let told = browser.open(&body);
    assert_eq!((&told["reason"], &told["title"]), (&json!("digest"), &json!("Quiet hours are over")));
    assert_eq!(told["body"], "1 task needs you. 1 task is done.", "{told}");
}

#[tokio::test]
async fn a_device_is_told_for_the_reasons_that_were_chosen_for_it() {
    let service = Service::start().await;
    let daemon = Daemon::start_with(|options| service.trusted(options)).await;
    let page = Page::enter(&daemon).await;
    let browser = page.browser(&service).await;
    let notices: Value = serde_json::from_str(&page.call("GET", "/api/v1/notices", b"").await.body).unwrap();
    let known = &notices["browsers"][0];
    assert_eq!((&known["current"], known["reasons"].as_array().unwrap().len()), (&json!(true), 4), "{notices}");
    let path = format!("/api/v1/notices/browsers/{}", known["login"].as_str().unwrap());
    let chosen = page.call("PUT", &path, br#"{"reasons":["approval"]}"#).await;
    assert!(chosen.body.contains(r#""reasons":["approval"]"#), "{}", chosen.body);
    let none = format!("/api/v1/notices/browsers/{}", uuid::Uuid::nil());
    assert_eq!(page.call("PUT", &none, br#"{"reasons":[]}"#).await.code(), "not_found");
    let done = daemon.working(1).await;
    daemon.complete(&done).await;
    let asking = daemon.working(2).await;
    daemon.does(&asking, support::asked(&asking, "call-1")).await;
    let (_, body) = service.next("201 Created").await;
    assert_eq!(browser.open(&body)["reason"], "approval", "results are not wanted there");
}

//! The end of quiet hours, by the daemon's own clock: what was held is told by itself, in chats and on devices.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod support;

use std::sync::Arc;

use serde_json::{Value, json};
use support::push::{Browser, Page, Service};
use support::{Daemon, HOUR, Shifted, done, within};
use throughline_channels::platforms::telegram::Telegram;
use throughline_channels::{Account, Channels};
use throughline_engine::Clock;
use throughline_testkit::telegram::BotApi;

const ADA: i64 = 42;

/// How much is held in the only chat.
async fn held(daemon: &Daemon) -> usize {
    daemon.engine.notices(daemon.person).await.unwrap().chats[0].held
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn when_quiet_hours_end_what_was_held_is_told_by_itself() {
    let (bot, clock) = (Arc::new(BotApi::start()), Arc::new(Shifted::default()));
    clock.set(3 * HOUR);
    let telegram = Telegram::new(&bot.url(), bot.token(), None).unwrap();
    let channels = Channels::new(vec![Account::new(telegram)]);
    let daemon = Daemon::start_at(Arc::clone(&clock) as Arc<dyn Clock>, channels, |_| {}).await;
    let code = daemon.engine.offer_pairing(daemon.person, "telegram").await.unwrap().code;
    let sent = |words: &'static str| {
        let bot = Arc::clone(&bot);
        tokio::task::spawn_blocking(move || bot.wait_for_sent(|sent| sent.shown.text.contains(words)))
    };
    bot.says(ADA, &format!("/start {code}"));
    sent("Paired").await.unwrap();
    daemon.engine.choose_quiet(daemon.person, "22:00-07:00", Some("UTC"), None).await.unwrap();
    daemon.complete(&daemon.working(1).await).await;
    within("it is held", async {
        while held(&daemon).await == 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(bot.sent().len(), 1, "nothing but the pairing: {:#?}", bot.sent());

    clock.set(7 * HOUR - 2_000);
    // Whoever waits for a time looks at the clock again when something happens, as a machine does that has slept.
    daemon.complete(&daemon.working(2).await).await;
    let digest = sent("The last").await.unwrap();
    assert!(digest.shown.text.contains("✓ Done"), "{digest:?}");
    assert!(digest.shown.text.contains("shop-1001"), "{digest:?}");
    assert_eq!(held(&daemon).await, 0);
    let results = bot.sent().iter().filter(|sent| sent.shown.text.starts_with("✓ shop-1001")).count();
    assert_eq!(results, 0, "it is in the digest: {:#?}", bot.sent());
}

/// A device whose person sleeps from ten to seven, and whose daemon comes and goes.
struct Bedside {
    service: Service,
    clock: Arc<Shifted>,
    cookie: String,
    browser: Browser,
}

impl Bedside {
    /// The daemon's first time, at three at night.
    async fn at_night() -> (Self, Daemon) {
        let (service, clock) = (Service::start().await, Arc::new(Shifted::default()));
        clock.set(3 * HOUR);
        let daemon = Self::daemon(tempfile::tempdir().unwrap(), &clock, &service).await;
        let page = Page::enter(&daemon).await;
        let browser = page.browser(&service).await;
        daemon.engine.choose_quiet(daemon.person, "22:00-07:00", Some("UTC"), None).await.unwrap();
        let cookie = page.cookie;
        (Self { service, clock, cookie, browser }, daemon)
    }

    async fn daemon(folder: tempfile::TempDir, clock: &Arc<Shifted>, service: &Service) -> Daemon {
        let clock = Arc::clone(clock) as Arc<dyn Clock>;
        Daemon::start_in(folder, clock, Channels::default(), |options| service.trusted(options)).await
    }

    /// Ends the daemon, and starts it again at this time of the day.
    async fn back_at(&self, daemon: Daemon, millis_of_day: i64) -> Daemon {
        let folder = daemon.end().await;
        self.clock.set(millis_of_day);
        Self::daemon(folder, &self.clock, &self.service).await
    }

    /// What the device is told next.
    async fn told(&mut self, daemon: &Daemon) -> Value {
        let (_, body) = self.service.next("201 Created").await;
        let next = Page { daemon, cookie: self.cookie.clone() }.browser(&self.service).await;
        std::mem::replace(&mut self.browser, next).open(&body)
    }

    /// The next thing is a result that comes now: nothing else was left to be told.
    async fn hears_only_of(&mut self, daemon: &Daemon, number: u128) {
        let working = daemon.working(number).await;
        daemon.complete(&working).await;
        let told = self.told(daemon).await;
        assert_eq!((&told["reason"], &told["task"]), (&json!("completed"), &json!(working.key)), "{told}");
    }
}

/// The daemon keeps that it holds something.
async fn holds(daemon: &Daemon) {
    let file = daemon.folder.path().join("home/logins.json");
    within("it is held", async {
        while !std::fs::read_to_string(&file).unwrap().contains(r#""held":{"#) {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_daemon_that_was_down_in_the_morning_sums_up_the_night_once() {
    let (mut bed, daemon) = Bedside::at_night().await;
    daemon.complete(&daemon.working(1).await).await;
    holds(&daemon).await;
    let daemon = bed.back_at(daemon, 8 * HOUR).await;
    let told = bed.told(&daemon).await;
    assert_eq!((&told["reason"], &told["body"]), (&json!("digest"), &json!("1 task is done.")), "{told}");
    let daemon = bed.back_at(daemon, 9 * HOUR).await;
    bed.hears_only_of(&daemon, 2).await;
}

#[tokio::test]
async fn a_daemon_that_comes_back_in_the_night_waits_for_the_morning() {
    let (mut bed, daemon) = Bedside::at_night().await;
    daemon.complete(&daemon.working(1).await).await;
    holds(&daemon).await;
    let daemon = bed.back_at(daemon, 5 * HOUR).await;
    let second = daemon.working(2).await;
    daemon.complete(&second).await;
    bed.clock.set(7 * HOUR);
    // Whoever waits for a time looks at the clock again when something happens.
    daemon.say(&second, "good morning").await;
    let told = bed.told(&daemon).await;
    assert_eq!((&told["reason"], &told["body"]), (&json!("digest"), &json!("2 tasks are done.")), "{told}");
    bed.hears_only_of(&daemon, 3).await;
}

#[tokio::test]
async fn nobody_is_told_the_news_of_yesterday() {
    let (mut bed, daemon) = Bedside::at_night().await;
    daemon.complete(&daemon.working(1).await).await;
    holds(&daemon).await;
    let daemon = bed.back_at(daemon, 12 * HOUR).await;
    bed.hears_only_of(&daemon, 2).await;
}

#[tokio::test]
async fn what_a_daemon_did_not_get_to_hear_is_told_by_the_next_one_and_once() {
    let (mut bed, daemon) = Bedside::at_night().await;
    let first = daemon.working(1).await;
    // In the record, and published to nobody.
    daemon.report(&first, done(&first)).await;
    let daemon = bed.back_at(daemon, 8 * HOUR).await;
    let told = bed.told(&daemon).await;
    assert_eq!((&told["reason"], &told["body"]), (&json!("digest"), &json!("1 task is done.")), "{told}");

    let second = daemon.working(2).await;
    daemon.report(&second, done(&second)).await;
    let daemon = bed.back_at(daemon, 9 * HOUR).await;
    let told = bed.told(&daemon).await;
    assert_eq!((&told["reason"], &told["task"]), (&json!("completed"), &json!(second.key)), "{told}");
    let third = daemon.working(3).await;
    daemon.report(&third, done(&third)).await;
    let daemon = bed.back_at(daemon, 15 * HOUR).await;
    bed.hears_only_of(&daemon, 4).await;
}

//! The end of quiet hours, by the daemon's own clock: what was held is told by itself, in chats and on devices.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use support::{Daemon, Working, within};
use throughline_channels::Channels;
use throughline_channels::telegram::Telegram;
use throughline_engine::{Clock, SystemClock};
use throughline_model::command::Command;
use throughline_model::stream::StreamId;
use throughline_model::task::{Report, TaskCommand, TurnAnswer};
use throughline_model::time::Timestamp;
use throughline_model::turn::{StopReason, Usage};
use throughline_testkit::telegram::BotApi;

const ADA: i64 = 42;
const HOUR: i64 = 3_600_000;

/// The machine's clock, so much ahead.
#[derive(Default)]
struct Shifted(AtomicI64);

impl Shifted {
    /// It is this long after midnight from now on, and goes on from there.
    fn set(&self, millis_of_day: i64) {
        let day = 24 * HOUR;
        let ahead = millis_of_day - SystemClock.at().millis().rem_euclid(day);
        // Never back.
        let ahead = if ahead < self.0.load(Ordering::SeqCst) { ahead + day } else { ahead };
        self.0.store(ahead, Ordering::SeqCst);
    }
}

impl Clock for Shifted {
    fn at(&self) -> Timestamp {
        Timestamp::from_millis(SystemClock.at().millis() + self.0.load(Ordering::SeqCst))
    }

    fn entropy(&self) -> u128 {
        SystemClock.entropy()
    }
}

async fn complete(daemon: &Daemon, working: &Working) {
    let answer = TurnAnswer::Stopped { reason: StopReason::EndTurn };
    let report = Report::TurnAnswered { turn: working.turn, answer, usage: Usage::default() };
    let command = TaskCommand::Report { session: working.session, epoch: 1, report };
    daemon.engine.send(StreamId::Task(working.task), Command::Task(command)).await.unwrap();
}

/// How much is held in the only chat.
async fn held(daemon: &Daemon) -> usize {
    daemon.engine.notices(daemon.person).await.unwrap().chats[0].held
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn when_quiet_hours_end_what_was_held_is_told_by_itself() {
    let (bot, clock) = (Arc::new(BotApi::start()), Arc::new(Shifted::default()));
    clock.set(3 * HOUR);
    let telegram = Telegram::new(&bot.url(), bot.token(), None).unwrap();
    let channels = Channels::new(vec![Arc::new(telegram)]);
    let daemon = Daemon::start_at(Arc::clone(&clock) as Arc<dyn Clock>, channels, |_| {}).await;
    let code = daemon.engine.offer_pairing(daemon.person, "telegram").await.unwrap().code;
    let sent = |words: &'static str| {
        let bot = Arc::clone(&bot);
        tokio::task::spawn_blocking(move || bot.wait_for_sent(|sent| sent.shown.text.contains(words)))
    };
    bot.says(ADA, &format!("/start {code}"));
    sent("Paired").await.unwrap();
    daemon.engine.choose_quiet(daemon.person, "22:00-07:00", Some("UTC"), None).await.unwrap();
    complete(&daemon, &daemon.working(1).await).await;
    within("it is held", async {
        while held(&daemon).await == 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(bot.sent().len(), 1, "nothing but the pairing: {:#?}", bot.sent());

    clock.set(7 * HOUR - 2_000);
    // Whoever waits for a time looks at the clock again when something happens, as a machine does that has slept.
    complete(&daemon, &daemon.working(2).await).await;
    let digest = sent("The last").await.unwrap();
    assert!(digest.shown.text.contains("✓ Done"), "{digest:?}");
    assert!(digest.shown.text.contains("shop-1001"), "{digest:?}");
    assert_eq!(held(&daemon).await, 0);
    let results = bot.sent().iter().filter(|sent| sent.shown.text.starts_with("✓ shop-1001")).count();
    assert_eq!(results, 0, "it is in the digest: {:#?}", bot.sent());
}

//! From a message in a chat to the first reply there: the gateway, the router, the record, the outbox and the channel's
//! client, against a Bot API on loopback that adds no delay.
//!
//! Each chat gets one message at a time, because a platform that is written to faster makes everyone wait.

use anyhow::{Context as _, Result};
use throughline_api::identity::OfferPairing;
use throughline_testkit::telegram::BotApi;

use crate::Size;
use crate::daemon::Daemon;
use crate::measure::{Readings, now_nanos};
use crate::table::{Figure, Goal};

/// How many messages one chat takes before the channel slows down.
const PER_CHAT: i64 = 3;

pub(crate) async fn run(size: Size) -> Result<Vec<Figure>> {
    let folder = tempfile::tempdir()?;
    let home = folder.path().join("home");
    std::fs::create_dir_all(&home)?;
    let bot = BotApi::start();
    let settings = format!("[channels.telegram]\ntoken = \"{}\"\napi_url = \"{}\"\n", bot.token(), bot.url());
    std::fs::write(home.join("config.toml"), settings)?;
    let daemon = Daemon::start(&home)?;
    daemon.add_project(&folder.path().join("project"), "demo").await?;
    let mut readings = Readings::default();
    for user in 1..=size.pick(2, 70) {
        let offer = OfferPairing { channel: "telegram".into() };
        let pairing = daemon.client().pair(&offer).await.context("no code")?;
        bot.says(user, &pairing.say);
        bot.wait_for_sent(|sent| sent.chat == user);
        for nth in 0..PER_CHAT {
            let newest =
                bot.sent().iter().filter(|sent| sent.chat == user).map(|sent| sent.id).max().unwrap_or_default();
            let words = format!("{user} {nth}");
            let said = now_nanos();
            bot.says(user, &format!("say {words}"));
            bot.wait_for_sent(|sent| sent.chat == user && sent.id > newest);
            readings.add(now_nanos() - said);
            bot.wait_for_sent(|sent| sent.shown.text.starts_with('✓') && sent.shown.text.ends_with(&words));
        }
    }
    daemon.stop()?;
    let spread = readings.spread()?;
    let beside = format!("p50 {:.1} ms, max {:.1} ms", spread.p50_ms, spread.max_ms);
    Ok(vec![
        Figure::new("channel", "message to first reply, p99", spread.p99_ms, "ms")
            .goal(Goal::Below(300.0))
            .beside(beside),
    ])
}

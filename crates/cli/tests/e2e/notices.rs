//! Who is told what in chats: work that goes on, results, and what a person chose. The platforms are stubs that keep the
//! real ones' rules; the daemon is the real one.

use throughline_testkit::telegram::{BotApi, Sent};

use crate::support::World;

const ADA: i64 = 42;

fn with_bot(bot: &BotApi) -> World {
    World::with_settings(&format!("[channels.telegram]\ntoken = \"{}\"\napi_url = \"{}\"\n", bot.token(), bot.url()))
}

fn pair(world: &World, bot: &BotApi, user: i64) {
    let pairing = world.json(&["pair", "telegram"]);
    bot.says(user, pairing["say"].as_str().expect("what to say"));
    bot.wait_for_sent(|sent| sent.chat == user && sent.shown.text.contains("Paired"));
}

fn said(bot: &BotApi, words: &str) -> Sent {
    bot.wait_for_sent(|sent| sent.shown.text.contains(words))
}

fn count(bot: &BotApi, fits: impl Fn(&Sent) -> bool) -> usize {
    bot.sent().iter().filter(|sent| fits(sent)).count()
}

fn approve(bot: &BotApi, what: &str) {
    let asked = bot.wait_for_sent(|sent| sent.shown.text.contains(what) && !sent.buttons.is_empty());
    let yes = asked.buttons.iter().flatten().find(|key| key.text.contains("Approve")).expect("a button");
    bot.presses(ADA, &asked, &yes.data);
}

/// Bursts of steps, and requests that hold the turn until somebody decides.
const BURSTS: &str = "/new plan look; think; tell\nread a.txt\nread a.txt\nread a.txt\nrun echo one\nread a.txt\n\
                      read a.txt\nread a.txt\nrun echo two\nread b.txt\nsay all is well";

#[test]
fn work_is_followed_in_one_message_that_is_changed_also_after_a_kill() {
    let bot = BotApi::start();
    let world = with_bot(&bot);
    pair(&world, &bot, ADA);
    bot.says(ADA, BURSTS);
    let first = said(&bot, "⏳ shop-1");
    assert!(first.silent, "it does not ring: {first:?}");
    approve(&bot, "echo one");
    // A change says that the daemon knows the message: what may have been sent when it died is not changed further.
    bot.wait_for_sent(|sent| sent.id == first.id && sent.edits > 0);
    world.kill_daemon();
    world.ok(&["up"]);
    approve(&bot, "echo two");
    let last = said(&bot, "completed in");
    assert_eq!(last.id, first.id, "the same message");
    assert!(last.shown.text.starts_with("✓ shop-1"), "{last:?}");
    let ended = world.wait_for_entry("shop-1", |entry| entry["type"] == "turn_ended");
    let took = ended["duration_ms"].as_u64().expect("how long");
    assert!(last.edits as u64 <= took / 3_000 + 2, "{} changes in {took} ms", last.edits);
    assert_eq!(count(&bot, |sent| sent.shown.text.contains("completed in") || sent.shown.text.contains('⏳')), 1);
    assert_eq!(count(&bot, |sent| sent.shown.text.ends_with("all is well")), 1, "{:#?}", bot.sent());
}

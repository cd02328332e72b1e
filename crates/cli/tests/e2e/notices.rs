//! Who is told what in chats: work that goes on, results, and what a person chose. The platforms are stubs that keep the
//! real ones' rules; the daemon is the real one.

use std::time::{SystemTime, UNIX_EPOCH};

use throughline_testkit::feishu::OpenPlatform;
use throughline_testkit::telegram::{BotApi, Sent};

use crate::support::World;
use crate::support::chats::{feishu, pair, telegram, with_bot};

const ADA: i64 = 42;

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

/// A span of hours that it is in now, and for an hour more, by the clocks of UTC.
#[expect(clippy::disallowed_methods, reason = "the daemon's clock is the machine's, and quiet hours are by it")]
fn around_now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    let hour = since.as_secs() / 3_600 % 24;
    format!("{:02}:00-{:02}:59", (hour + 23) % 24, (hour + 1) % 24)
}

/// Waits until so much is held in the only chat.
fn wait_for_held(world: &World, count: u64) {
    for _ in 0..1_000 {
        if world.json(&["notify"])["chats"][0]["held"] == count {
            return;
        }
    }
    panic!("{count} are not held: {:#}", world.json(&["notify"]));
}

#[test]
fn what_comes_in_quiet_hours_is_one_digest_when_they_end_and_what_asks_follows() {
    let bot = BotApi::start();
    let world = with_bot(&bot);
    pair(&world, &bot, ADA);
    let quiet = world.ok(&["notify", "--quiet", &around_now(), "--zone", "UTC"]).stdout;
    assert!(quiet.contains("UTC (now)"), "{quiet}");
    world.ok(&["say", "--new", "say good night"]);
    wait_for_held(&world, 1);
    world.ok(&["say", "--new", "--detach", "run echo hi"]);
    wait_for_held(&world, 2);
    assert_eq!(bot.sent().len(), 1, "nothing but the pairing: {:#?}", bot.sent());
    world.kill_daemon();
    world.ok(&["notify", "--no-quiet"]);
    let asked = bot.wait_for_sent(|sent| !sent.buttons.is_empty());
    let digest = said(&bot, "The last");
    assert!(digest.id < asked.id, "{:#?}", bot.sent());
    for words in ["Needs you\nshop-2", "waiting for approval", "Done\nshop-1", "good night"] {
        assert!(digest.shown.text.contains(words), "{words}: {digest:?}");
    }
    approve(&bot, "echo hi");
    said(&bot, "exit code 0");
    assert_eq!(count(&bot, |sent| sent.shown.text.contains("✓ shop-1")), 0, "it is in the digest");
}

#[test]
fn an_exception_breaks_the_quiet() {
    let bot = BotApi::start();
    let world = with_bot(&bot);
    pair(&world, &bot, ADA);
    world.ok(&["notify", "--quiet", &around_now(), "--zone", "UTC", "--except", "approval,question"]);
    world.ok(&["say", "--new", "--detach", "run echo hi"]);
    approve(&bot, "echo hi");
    wait_for_held(&world, 1);
    assert_eq!(count(&bot, |sent| sent.shown.text.contains("exit code 0")), 0, "the result can wait");
    bot.says(ADA, "/digest");
    said(&bot, "exit code 0");
}

#[test]
fn a_chat_says_what_it_is_told_and_changes_it() {
    let bot = BotApi::start();
    let world = with_bot(&bot);
    pair(&world, &bot, ADA);
    bot.says(ADA, "/notify");
    let told = said(&bot, "You are told here: approvals, questions, results, failures.");
    assert!(told.shown.text.contains("No quiet hours."), "{told:?}");
    bot.says(ADA, "/notify approvals nonsense");
    said(&bot, "nothing called nonsense");
    bot.says(ADA, "/notify approvals questions");
    said(&bot, "You are told here: approvals, questions.");
    bot.says(ADA, "/quiet 22:00-07:00 Europe/Atlantis");
    said(&bot, "there is no such time zone");
    bot.says(ADA, "/quiet 22:00-07:00 europe/berlin");
    said(&bot, "Quiet from 22:00 to 07:00 (Europe/Berlin)");
    let known = world.json(&["notify"]);
    assert_eq!(known["quiet"]["zone"], "Europe/Berlin", "{known:#}");
    assert_eq!(known["chats"][0]["reasons"], serde_json::json!(["approval", "question"]), "{known:#}");
    world.fails(&["notify", "--quiet", "22:00"], 1, "bad_quiet_hours");
    world.fails(&["notify", "feishu", "--off"], 1, "not_found");
    world.ok(&["notify", "--no-quiet"]);
    world.ok(&["notify", "telegram", "--off"]);
    world.ok(&["locale", "zh"]);
    bot.says(ADA, "/notify");
    said(&bot, "这里不会主动通知你");
    bot.says(ADA, "/notify 批准 结果");
    said(&bot, "这里会通知你：批准，结果。");
    bot.says(ADA, "/digest");
    said(&bot, "也没有需要你处理的");
}

fn pair_feishu(world: &World, app: &OpenPlatform) {
    let pairing = world.json(&["pair", "feishu"]);
    app.says("ou_ada", pairing["say"].as_str().expect("what to say"));
    app.wait_for_sent(|sent| sent.content.contains("Paired"));
}

#[test]
fn of_what_is_done_in_the_terminal_one_chat_hears_the_one_where_the_person_is() {
    let (bot, app) = (BotApi::start(), OpenPlatform::start());
    let world = World::with_settings(&format!("{}{}", telegram(&bot), feishu(&app)));
    pair(&world, &bot, ADA);
    pair_feishu(&world, &app);
    world.ok(&["say", "--new", "say one"]);
    let done = |words: &str| app.wait_for_sent(|sent| sent.content.contains("✓ shop") && sent.content.contains(words));
    done("say one");
    bot.says(ADA, "/tasks");
    said(&bot, "shop-1");
    world.ok(&["say", "--new", "say two"]);
    said(&bot, "✓ shop-2");
    world.ok(&["notify", "--main", "feishu"]);
    world.ok(&["say", "--new", "say three"]);
    done("say three");
    assert_eq!(count(&bot, |sent| sent.shown.text.contains("✓ shop-1") || sent.shown.text.contains("✓ shop-3")), 0);
    let in_feishu = app.sent().iter().filter(|sent| sent.content.contains("say two")).count();
    assert_eq!(in_feishu, 0, "{:#?}", app.sent());
}

#[test]
fn more_and_quiet_hours_are_the_same_on_the_other_platform() {
    let app = OpenPlatform::start();
    let world = World::with_settings(&feishu(&app));
    pair_feishu(&world, &app);
    let card = |words: &str| app.wait_for_sent(|sent| sent.words().contains(words));
    app.says("ou_ada", &format!("/new say {}the end", "word ".repeat(300)));
    let result = card("✓ shop-1");
    assert!(!result.words().contains("the end"), "{result:?}");
    let more = result.buttons().into_iter().find(|(label, _)| label == "More").expect("a button").1;
    app.presses("ou_ada", &result, more);
    card("the end");

    world.ok(&["notify", "--quiet", &around_now(), "--zone", "UTC", "--except", "approval"]);
    // Who wrote lately is awake, and told: another chat of theirs is not.
    app.says("ou_other", world.json(&["pair", "feishu"])["say"].as_str().expect("what to say"));
    let other = app.knows("ou_other");
    app.wait_for_sent(|sent| sent.chat == other && sent.words().contains("Paired"));
    world.ok(&["notify", "--main", "feishu:ou_other"]);
    world.ok(&["say", "--new", "say good night"]);
    let held = || world.json(&["notify"])["chats"][1]["held"] == 1;
    assert!((0..1_000).any(|_| held()), "it is held: {:#}", world.json(&["notify"]));
    world.ok(&["say", "--new", "--detach", "run echo hi"]);
    app.wait_for_sent(|sent| sent.chat == other && sent.words().contains("waiting for approval"));
    assert!(
        !app.sent().iter().any(|sent| sent.chat == other && sent.words().contains("good night")),
        "{:#?}",
        app.sent()
    );
    world.ok(&["notify", "--no-quiet"]);
    let digest = app.wait_for_sent(|sent| sent.chat == other && sent.words().contains("The last"));
    for words in ["Needs you", "Done", "good night"] {
        assert!(digest.words().contains(words), "{words}: {digest:?}");
    }
}

const GROUP: i64 = -100_500;

#[test]
fn a_group_is_listed_told_once_and_silenced_from_elsewhere() {
    let bot = BotApi::start();
    let world = World::with_settings(&format!("{}groups = true\n", telegram(&bot)));
    pair(&world, &bot, ADA);
    let in_group = |text: &str| bot.says_in(GROUP, ADA, serde_json::json!({ "text": text }));
    let there = |words: &str| bot.wait_for_sent(|sent| sent.chat == GROUP && sent.shown.text.contains(words));
    in_group("/new say one");
    there("✓ shop-1");
    let listed = world.ok(&["notify"]).stdout;
    assert!(listed.contains("telegram:-100500 (group): approval, question, completed, failed"), "{listed}");
    world.ok(&["notify", "telegram:-100500", "--off"]);
    in_group("/new say two");
    there("→ new task shop-2");
    world.wait_for_turns("shop-2", 1);
    in_group("/status shop-2");
    there("demo rests: two");
    let results = |key: &str| count(&bot, |sent| sent.shown.text.contains(&format!("✓ {key}")));
    assert_eq!((results("shop-1"), results("shop-2")), (1, 0), "once, in the group: {:#?}", bot.sent());
    let own = world.json(&["notify", "telegram", "--reasons", "failed"]);
    assert_eq!(own["chats"][1]["reasons"], serde_json::json!([]), "a channel's name means one's own chats: {own:#}");
    world.fails(&["notify", "--main", "telegram:-100500"], 1, "not_found");
}

#[test]
fn a_long_result_is_cut_and_a_button_tells_the_rest() {
    let bot = BotApi::start();
    let world = World::with_settings(&format!("{}[web]\npublic_url = \"https://desk.example\"\n", telegram(&bot)));
    pair(&world, &bot, ADA);
    let long = "word ".repeat(300);
    bot.says(ADA, &format!("/new say {long}the end"));
    let result = said(&bot, "✓ shop-1");
    assert!(result.shown.text.chars().count() < 1_100 && !result.shown.text.contains("the end"), "{result:?}");
    let more = result.buttons.iter().flatten().find(|key| key.text == "More").expect("a button").data.clone();
    bot.presses(ADA, &result, &more);
    let rest = said(&bot, "the end");
    assert!(rest.shown.text.contains("https://desk.example/tasks/shop-1"), "{rest:?}");
    bot.says(ADA, "/new say short");
    let short = said(&bot, "✓ shop-2");
    assert!(short.buttons.is_empty(), "{short:?}");
}

//! Chats while the daemon is killed: one task from everywhere, each update once, and nothing of strangers.
//!
//! The last two are campaigns in small: `TL_UPDATES=10000 cargo nextest run -p throughline-cli channels_killed::`
//! plays as many updates as are wanted, with the printed seed if `TL_SEED` says it.
#![allow(clippy::disallowed_methods, reason = "the seed of a run that nobody chose comes from the clock")]

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::process::Signal;
use serde_json::{Value, json};
use throughline_testkit::feishu::{APP_ID, APP_SECRET, OpenPlatform};
use throughline_testkit::telegram::{BotApi, Sent};

use crate::support::{World, kill_and_wait};

const ADA: i64 = 42;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn seed() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    let seed = number("TL_SEED").unwrap_or(u64::from(since.subsec_nanos()) | 1);
    println!("TL_SEED={seed}");
    seed
}

/// Xorshift: small, and the same everywhere.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % below
    }
}

fn telegram(bot: &BotApi) -> String {
    format!("[channels.telegram]\ntoken = \"{}\"\napi_url = \"{}\"\n", bot.token(), bot.url())
}

fn feishu(app: &OpenPlatform) -> String {
    let url = app.url();
    format!("[channels.feishu]\napp_id = \"{APP_ID}\"\napp_secret = \"{APP_SECRET}\"\ndomain = \"{url}\"\n")
}

fn pair(world: &World, bot: &BotApi, user: i64) {
    let pairing = world.json(&["pair", "telegram"]);
    bot.says(user, pairing["say"].as_str().expect("what to say"));
    bot.wait_for_sent(|sent| sent.chat == user && sent.shown.text.contains("Paired"));
}

/// Kills the daemon at once, and starts the next.
fn kill(world: &World) {
    assert!(kill_and_wait(world.daemon_pid(), Signal::KILL));
    world.ok(&["up"]);
}

/// A message over HTTP, as a program sends it.
fn post_message(world: &World, key: &str, text: &str) -> Value {
    let notice = std::fs::read(world.home.join("daemon.json")).expect("a daemon");
    let notice: Value = serde_json::from_slice(&notice).expect("its notice");
    let host =
        notice["url"].as_str().expect("its address").trim_start_matches("http://").trim_end_matches('/').to_owned();
    let token = std::fs::read_to_string(world.home.join("token")).expect("a token");
    let body = json!({"text": text, "override": {"task": key}}).to_string();
    let mut stream = TcpStream::connect(&host).expect("it listens");
    let head = format!(
        "POST /api/v1/conversations/script/messages HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        token.trim(),
        body.len()
    );
    stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes())).expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    serde_json::from_str(answer.split_once("\r\n\r\n").expect("a body").1).unwrap_or(Value::Null)
}

#[test]
fn one_task_from_the_terminal_telegram_feishu_and_http_with_a_kill_between_any_two_steps() {
    let (bot, app) = (BotApi::start(), OpenPlatform::start());
    let world = World::with_settings(&format!("{}{}", telegram(&bot), feishu(&app)));
    pair(&world, &bot, ADA);
    let pairing = world.json(&["pair", "feishu"]);
    app.says("ou_ada", pairing["say"].as_str().expect("what to say"));
    app.wait_for_sent(|sent| sent.content.contains("Paired"));
    kill(&world);
    world.ok(&["say", "run echo step-one", "--detach"]);
    let asked = bot.wait_for_sent(|sent| sent.shown.text.contains("waiting for approval"));
    kill(&world);
    let yes = asked.buttons.iter().flatten().find(|key| key.text.contains("Approve")).expect("a button");
    bot.presses(ADA, &asked, &yes.data);
    let result = app.wait_for_sent(|sent| sent.content.contains("exit code 0"));
    kill(&world);
    app.answers("ou_ada", &result, "say and then feishu");
    app.wait_for_sent(|sent| sent.content.contains("✓") && sent.content.contains("and then feishu"));
    kill(&world);
    post_message(&world, "shop-1", "say and then http");
    app.wait_for_sent(|sent| sent.content.contains("✓") && sent.content.contains("and then http"));
    kill(&world);
    assert_eq!(world.keys(), ["shop-1"]);
    let execution = world.task("shop-1")["executions"][0].clone();
    assert_eq!(execution["turns"], 3, "{execution:#}");
    let results = |words: &str| {
        let told = |sent: &&Sent| sent.shown.text.starts_with('✓') && sent.shown.text.contains(words);
        (
            app.sent().iter().filter(|sent| sent.content.contains("✓ ") && sent.content.contains(words)).count(),
            bot.sent().iter().filter(told).count(),
        )
    };
    for words in ["exit code 0", "and then feishu", "and then http"] {
        let (feishu, telegram) = results(words);
        assert_eq!(feishu, 1, "{words}: {:#?}", app.sent());
        assert!(telegram <= 1, "{words}: {:#?}", bot.sent());
    }
}

#[test]
fn each_update_has_one_effect_however_often_it_comes_and_the_daemon_dies() {
    const PEOPLE: i64 = 4;
    let (updates, mut dice) = (number("TL_UPDATES").unwrap_or(24), Dice(seed()));
    let bot = BotApi::start();
    let world = World::with_settings(&telegram(&bot));
    for user in 1..=PEOPLE {
        pair(&world, &bot, user);
    }
    let mut kills = 0;
    let mut told: BTreeMap<i64, (i64, String)> = BTreeMap::new();
    for update in 0..updates {
        let user = 1 + i64::try_from(dice.roll(PEOPLE as u64)).expect("small");
        let text = format!("/status nothing-{update}");
        let message = json!({"message": {"message_id": 1_000_000 + update, "date": 1, "text": text,
            "from": {"id": user, "is_bot": false, "first_name": "A"}, "chat": {"id": user, "type": "private"}}});
        let id = bot.brings(message.clone());
        told.insert(id, (user, format!("nothing-{update}.")));
        if dice.roll(5) == 0 {
            bot.brings_again(id, message);
        }
        if dice.roll(8) == 0 {
            kill(&world);
            kills += 1;
        }
    }
    bot.wait_for_quiet();
    // Whatever was under way when a daemon died is settled by the next one.
    for user in 1..=PEOPLE {
        bot.says(user, "/status the-end");
        bot.wait_for_sent(|sent| sent.chat == user && sent.shown.text.contains("the-end"));
    }
    let mut missing = 0;
    for (user, words) in told.values() {
        let count =
            bot.sent().iter().filter(|sent| sent.chat == *user && sent.shown.text.ends_with(words.as_str())).count();
        assert!(count <= 1, "{words} was answered {count} times");
        missing += usize::from(count == 0);
    }
    println!("{updates} updates, {kills} kills, {missing} answers unknown after them");
    // What was under way when the daemon died is unknown to it: one message of a chat at most.
    assert!(missing <= kills * PEOPLE as usize, "{missing} of {updates} were not answered after {kills} kills");
}

#[test]
fn whatever_strangers_send_leaves_no_trace() {
    let (updates, mut dice) = (number("TL_UPDATES").unwrap_or(2_000), Dice(seed()));
    let bot = BotApi::start();
    let world = World::with_settings(&telegram(&bot));
    pair(&world, &bot, ADA);
    bot.says(ADA, "/new run echo hi");
    let asked = bot.wait_for_sent(|sent| sent.shown.text.contains("waiting for approval"));
    let yes = asked.buttons.iter().flatten().next().expect("a button").data.clone();
    let before = world.ok(&["show", "shop-1", "--json"]).stdout;
    let identities = world.ok(&["identities"]).stdout;
    for update in 0..updates {
        bot.brings(noise(&mut dice, update, &yes, &asked));
        // A crowd comes in waves, so that a wait is for one of them.
        if update % 10_000 == 9_999 {
            bot.wait_for_quiet();
        }
    }
    bot.wait_for_quiet();
    assert_eq!(world.ok(&["show", "shop-1", "--json"]).stdout, before);
    assert_eq!(world.ok(&["identities"]).stdout, identities);
    assert_eq!(world.keys(), ["shop-1"]);
}

/// Something that someone who is not paired could do.
fn noise(dice: &mut Dice, update: u64, yes: &str, asked: &Sent) -> Value {
    let user = 1_000 + dice.roll(500);
    let chat = match dice.roll(4) {
        0 => json!({"id": -5, "type": "supergroup"}),
        1 => json!({"id": ADA, "type": "private"}),
        _ => json!({"id": user, "type": "private"}),
    };
    let from = json!({"id": user, "is_bot": false, "first_name": "M"});
    if dice.roll(3) == 0 {
        let data = match dice.roll(3) {
            0 => yes.to_owned(),
            1 => yes.replace(":y:", ":n:"),
            _ => format!("ch:{}:{}", dice.roll(u64::MAX), dice.roll(9)),
        };
        let message = json!({"message_id": asked.id, "date": 1, "chat": {"id": ADA, "type": "private"}});
        return json!({"callback_query": {"id": format!("n{update}"), "from": from, "message": message, "data": data,
            "chat_instance": "1"}});
    }
    let text = ["yes", "approve", "/stop", "/new run rm -rf /", "/start ABCDEFGHJK", "/start", "是", "shop-1", "//x"];
    let text = text[usize::try_from(dice.roll(text.len() as u64)).expect("small")];
    let mut message = json!({"message_id": 2_000_000 + update, "date": 1, "from": from, "chat": chat, "text": text});
    if dice.roll(3) == 0 {
        message["reply_to_message"] =
            json!({"message_id": asked.id, "date": 1, "chat": {"id": ADA, "type": "private"}});
    }
    json!({ "message": message })
}

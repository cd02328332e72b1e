//! Chats while the daemon is killed: one task from everywhere. In crowds: `channels_campaign.rs`.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use rustix::process::Signal;
use serde_json::{Value, json};
use throughline_testkit::feishu::OpenPlatform;
use throughline_testkit::telegram::{BotApi, Sent};

use crate::support::chats::{feishu, pair, telegram};
use crate::support::{World, kill_and_wait};

const ADA: i64 = 42;

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
    let pairing = world.json(&["pair", "feishu"]);
    app.says("ou_ada", pairing["say"].as_str().expect("what to say"));
    app.wait_for_sent(|sent| sent.content.contains("Paired"));
    // The chat that was written from last hears of what is done in the terminal.
    pair(&world, &bot, ADA);
    kill(&world);
    world.ok(&["say", "run echo step-one", "--detach"]);
    let asked = bot.wait_for_sent(|sent| sent.shown.text.contains("waiting for approval"));
    kill(&world);
    let yes = asked.buttons.iter().flatten().find(|key| key.text.contains("Approve")).expect("a button");
    bot.presses(ADA, &asked, &yes.data);
    bot.wait_for_sent(|sent| sent.shown.text.contains("exit code 0"));
    kill(&world);
    app.says("ou_ada", "say and then feishu");
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
    for (words, in_feishu) in [("exit code 0", false), ("and then feishu", true), ("and then http", true)] {
        let (feishu, telegram) = results(words);
        assert_eq!((feishu, telegram), (usize::from(in_feishu), usize::from(!in_feishu)), "{words}: {:#?}", app.sent());
    }
}

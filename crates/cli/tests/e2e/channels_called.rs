//! Platforms that call the daemon, instead of being asked: webhooks of Telegram through a tunnel, callbacks of Feishu.
#![allow(clippy::disallowed_methods, reason = "a callback says when it was signed, by the real clock")]

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use throughline_testkit::feishu::{APP_ID, APP_SECRET, Callback, OpenPlatform, VERIFICATION_TOKEN};
use throughline_testkit::telegram::BotApi;

use crate::support::World;
use crate::support::chats::telegram;

const ADA: i64 = 42;
const PUBLIC: &str = "[web]\npublic_url = \"https://desk.example\"\n";

/// Where the daemon listens, such as `127.0.0.1:41233`.
fn address(world: &World) -> String {
    world.ok(&["up"]);
    let notice = std::fs::read(world.home.join("daemon.json")).expect("a daemon");
    let notice: Value = serde_json::from_slice(&notice).expect("its notice");
    notice["url"].as_str().expect("its address").trim_start_matches("http://").trim_end_matches('/').to_owned()
}

#[test]
fn a_webhook_brings_work_across_a_kill_and_goes_when_the_bot_is_asked_again() {
    let bot = BotApi::start();
    let world = World::with_settings(&format!("{}webhook = true\n{PUBLIC}", telegram(&bot)));
    bot.set_tunnel(&address(&world));
    assert_eq!(bot.wait_for_hook().url, "https://desk.example/hooks/telegram");
    bot.says(ADA, world.json(&["pair", "telegram"])["say"].as_str().expect("what to say"));
    bot.wait_for_sent(|sent| sent.shown.text.contains("Paired"));
    bot.says(ADA, "/new run echo by-hook");
    let asked = bot.wait_for_sent(|sent| sent.shown.text.contains("waiting for approval"));
    world.kill_daemon();
    let yes = asked.buttons.iter().flatten().find(|key| key.text.contains("Approve")).expect("a button");
    let press = bot.presses(ADA, &asked, &yes.data);
    bot.set_tunnel(&address(&world));
    assert_eq!(bot.wait_for_answer(&press), "Done.");
    bot.wait_for_sent(|sent| sent.shown.text.starts_with("✓ shop-1"));
    assert_eq!(bot.calls("getUpdates").len(), 0, "it never asked");
    world.ok(&["down"]);
    let settings = telegram(&bot);
    std::fs::write(world.home.join("config.toml"), settings).expect("settings");
    bot.says(ADA, "/status shop-1");
    world.ok(&["up"]);
    bot.wait_for_calls("getUpdates", 1);
    assert_eq!(bot.hook(), None, "the platform does not call any more");
    bot.wait_for_quiet();
}

#[test]
fn a_webhook_without_an_address_is_refused_with_what_to_do() {
    let bot = BotApi::start();
    let world = World::bare();
    std::fs::create_dir_all(&world.home).expect("a home");
    for settings in [
        format!("{}webhook = true\n", telegram(&bot)),
        format!("[channels.telegram]\ntoken = \"7:x\"\nwebhook = true\n{}", PUBLIC.replace("https", "http")),
        "[channels.feishu]\napp_id = \"a\"\napp_secret = \"s\"\n[channels.feishu.callback]\nverification_token = \"v\"\n"
            .to_owned(),
    ] {
        std::fs::write(world.home.join("config.toml"), settings).expect("settings");
        let ran = world.fails(&["up"], 3, "config_invalid");
        assert!(ran.stderr.contains("public_url"), "{ran}");
    }
    std::fs::write(world.home.join("config.toml"), "").expect("settings");
}

/// A call of the platform with this event, sealed and signed now.
fn callback(app: &OpenPlatform, event: &str) -> Callback {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs();
    Callback::new(&app.payload(event), Some("stub-encrypt-key"), now)
}

#[test]
fn callbacks_bring_messages_and_presses_and_the_card_changes() {
    let app = OpenPlatform::start();
    let domain = app.url();
    let world = World::with_settings(&format!(
        "[channels.feishu]\napp_id = \"{APP_ID}\"\napp_secret = \"{APP_SECRET}\"\ndomain = \"{domain}\"\n\
         [channels.feishu.callback]\nverification_token = \"{VERIFICATION_TOKEN}\"\nencrypt_key = \"stub-encrypt-key\"\n{PUBLIC}"
    ));
    let hook = |world: &World| format!("http://{}/hooks/feishu", address(world));
    let say = |text: &str| callback(&app, &app.says("ou_ada", text));
    let pairing = world.json(&["pair", "feishu"]);
    app.brings_back(&hook(&world), &say(pairing["say"].as_str().expect("what to say")));
    app.wait_for_sent(|sent| sent.content.contains("Paired"));
    app.brings_back(&hook(&world), &say("/new run echo by-callback"));
    let asked = app.wait_for_sent(|sent| sent.content.contains("waiting for approval"));
    let (_, yes) = asked.buttons().into_iter().find(|(label, _)| label.contains("Approve")).expect("a button");
    world.kill_daemon();
    let press = callback(&app, &app.presses("ou_ada", &asked, yes));
    let stranger = callback(&app, &app.presses("ou_eve", &asked, json!({"token": "x"})));
    app.brings_back(&hook(&world), &stranger);
    app.brings_back(&hook(&world), &press);
    app.wait_for_sent(|sent| sent.id == asked.id && sent.content.contains("approved by"));
    app.wait_for_sent(|sent| sent.content.contains("✓") && sent.content.contains("exit code 0"));
    assert_eq!(app.calls_back(&hook(&world), &press).status, 200, "a replay is known");
    let forged = Callback { signature: "0".repeat(64), ..press };
    assert_eq!(app.calls_back(&hook(&world), &forged).status, 403);
    assert_eq!(world.keys(), ["shop-1"]);
    let results =
        app.sent().iter().filter(|sent| sent.content.contains("✓") && sent.content.contains("exit code 0")).count();
    assert_eq!((results, app.calls("endpoint").len()), (1, 0), "one result, and no long connection");
}

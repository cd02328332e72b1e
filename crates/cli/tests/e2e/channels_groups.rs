//! Places where others read along: groups, topics and threads; and presses that come twice or too late.

use serde_json::{Value, json};
use throughline_testkit::feishu::{APP_ID, APP_SECRET, Message, OpenPlatform};
use throughline_testkit::telegram::{BotApi, Sent};

use crate::support::World;

const ADA: i64 = 42;
const MALLORY: i64 = 99;
const GROUP: i64 = -100_500;

/// A world whose person is known to the bot, with more settings for it.
fn with_bot(more: &str) -> (BotApi, World) {
    let bot = BotApi::start();
    let settings = format!("[channels.telegram]\ntoken = \"{}\"\napi_url = \"{}\"\n{more}\n", bot.token(), bot.url());
    let world = World::with_settings(&settings);
    bot.says(ADA, world.json(&["pair", "telegram"])["say"].as_str().expect("what to say"));
    bot.wait_for_sent(|sent| sent.shown.text.contains("Paired"));
    (bot, world)
}

/// The same for Feishu.
fn with_app(more: &str) -> (OpenPlatform, World) {
    let app = OpenPlatform::start();
    let domain = app.url();
    let world = World::with_settings(&format!(
        "[channels.feishu]\napp_id = \"{APP_ID}\"\napp_secret = \"{APP_SECRET}\"\ndomain = \"{domain}\"\n{more}\n"
    ));
    app.says("ou_ada", world.json(&["pair", "feishu"])["say"].as_str().expect("what to say"));
    app.wait_for_sent(|sent| sent.content.contains("Paired"));
    (app, world)
}

fn in_group(bot: &BotApi, user: i64, text: &str) {
    bot.says_in(GROUP, user, json!({ "text": text }));
}

fn button(sent: &Sent, label: &str) -> String {
    let found = sent.buttons.iter().flatten().find(|button| button.text.contains(label));
    found.unwrap_or_else(|| panic!("no {label} under {sent:?}")).data.clone()
}

fn card_button(sent: &Message, label: &str) -> Value {
    let found = sent.buttons().into_iter().find(|(text, _)| text.contains(label));
    found.unwrap_or_else(|| panic!("no {label} under {sent:?}")).1
}

#[test]
fn a_group_is_not_heard_unless_the_settings_say_so() {
    let (bot, world) = with_bot("");
    in_group(&bot, ADA, "/new say in the group");
    in_group(&bot, MALLORY, "/new say in the group");
    bot.says(ADA, "/new run echo in-private");
    let asked = bot.wait_for_sent(|sent| sent.shown.text.contains("waiting for approval"));
    // The same words in a group, with the same buttons, decide nothing.
    let shown = Sent { chat: GROUP, ..asked.clone() };
    let press = bot.presses(ADA, &shown, &button(&asked, "Approve"));
    assert!(!bot.wait_for_answer(&press).contains("Done"));
    assert_eq!(bot.sent().iter().filter(|sent| sent.chat == GROUP).count(), 0, "{:#?}", bot.sent());
    assert_eq!(world.keys(), ["shop-1"]);
    assert_eq!(world.task("shop-1")["approvals"].as_array().expect("a list").len(), 1, "it still waits");
}

#[test]
fn in_a_group_each_message_and_each_press_counts_by_who_did_it() {
    let (bot, world) = with_bot("groups = true");
    in_group(&bot, MALLORY, "/new run echo by-mallory");
    in_group(&bot, ADA, "/new run echo by-ada");
    let asked = bot.wait_for_sent(|sent| sent.chat == GROUP && sent.shown.text.contains("waiting for approval"));
    assert!(asked.shown.text.contains("echo by-ada"), "{asked:?}");
    let yes = button(&asked, "Approve");
    let press = bot.presses(MALLORY, &asked, &yes);
    assert!(bot.wait_for_answer(&press).contains("only talk to people"));
    bot.says_in(
        GROUP,
        MALLORY,
        json!({"text": "yes", "reply_to_message": {"message_id": asked.id, "date": 1,
        "chat": {"id": GROUP, "type": "supergroup"}}}),
    );
    bot.wait_for_quiet();
    assert_eq!(world.task("shop-1")["approvals"].as_array().expect("a list").len(), 1, "it still waits");
    let press = bot.presses(ADA, &asked, &yes);
    assert_eq!(bot.wait_for_answer(&press), "Done.");
    bot.wait_for_sent(|sent| sent.chat == GROUP && sent.shown.text.starts_with("✓ shop-1"));
    let to_mallory = |sent: &&Sent| sent.chat == MALLORY || sent.shown.text.contains("only talk to people");
    assert_eq!(bot.sent().iter().filter(to_mallory).count(), 0, "a stranger is not spoken to before others");
    assert_eq!(world.keys(), ["shop-1"]);
}

#[test]
fn nothing_more_goes_to_a_group_whose_person_was_revoked() {
    let (bot, world) = with_bot("groups = true");
    in_group(&bot, ADA, "/new say from the group");
    bot.wait_for_sent(|sent| sent.chat == GROUP && sent.shown.text.starts_with("✓ shop-1"));
    world.ok(&["identities", "revoke", "telegram:42"]);
    in_group(&bot, ADA, "say something else");
    bot.wait_for_quiet();
    world.ok(&["say", "--task", "shop-1", "say secret-word"]);
    world.wait_for_turns("shop-1", 2);
    world.ok(&["down"]);
    assert!(bot.sent().iter().all(|sent| !sent.shown.text.contains("secret-word")), "{:#?}", bot.sent());
}

#[test]
fn a_topic_is_a_conversation_of_its_own() {
    let (bot, world) = with_bot("groups = true");
    let (one, two) = (bot.topic(GROUP), bot.topic(GROUP));
    let in_topic = |topic: i64, text: &str| {
        bot.says_in(GROUP, ADA, json!({"text": text, "message_thread_id": topic, "is_topic_message": true}))
    };
    let told = |topic: i64, words: &str| {
        bot.wait_for_sent(|sent| sent.topic == Some(topic) && sent.shown.text.contains(words))
    };
    in_topic(one, "/new say first");
    told(one, "✓ shop-1");
    in_topic(two, "/more");
    told(two, "no task in focus");
    in_topic(two, "/new say second");
    told(two, "✓ shop-2");
    in_topic(one, "say go on");
    told(one, "go on");
    assert_eq!(world.task("shop-1")["executions"][0]["turns"], 2);
    assert_eq!(world.task("shop-2")["executions"][0]["turns"], 1);
    let strayed = |sent: &&Sent| sent.chat == GROUP && sent.topic.is_none();
    assert_eq!(bot.sent().iter().filter(strayed).count(), 0, "{:#?}", bot.sent());
}

#[test]
fn a_thread_is_a_conversation_of_its_own() {
    let (app, world) = with_app("groups = true");
    let say = |text: &str, thread: Option<&str>| {
        let content = json!({ "text": text }).to_string();
        let mut message = json!({"message_type": "text", "content": content});
        if let Some(root) = thread {
            message["root_id"] = json!(root);
            message["parent_id"] = json!(root);
            message["thread_id"] = json!(format!("omt_{root}"));
        }
        app.says_in("oc_team", "ou_ada", message)
    };
    let root = say("/new say first", None);
    let root: Value = serde_json::from_str(&app.payload(&root)).expect("JSON");
    let root = root["event"]["message"]["message_id"].as_str().expect("an id").to_owned();
    app.wait_for_sent(|sent| sent.root.is_none() && sent.words().contains("✓ shop-1"));
    say("/more", Some(&root));
    app.wait_for_sent(|sent| sent.root.as_ref() == Some(&root) && sent.words().contains("no task in focus"));
    say("/new say second", Some(&root));
    app.wait_for_sent(|sent| sent.root.as_ref() == Some(&root) && sent.words().contains("✓ shop-2"));
    say("say go on", None);
    app.wait_for_sent(|sent| {
        sent.root.is_none() && sent.words().contains("✓ shop-1") && sent.words().contains("go on")
    });
    assert_eq!(world.keys().len(), 2);
}

#[test]
fn always_in_words_offers_the_rule_as_a_button_and_the_rule_holds() {
    let (bot, world) = with_bot("");
    bot.says(ADA, "/new run echo again");
    let asked = bot.wait_for_sent(|sent| sent.shown.text.contains("waiting for approval"));
    bot.answers(ADA, &asked, "yes, always allow that");
    let offer = bot.wait_for_sent(|sent| sent.buttons.iter().flatten().any(|key| key.text.contains("Always allow")));
    bot.wait_for_sent(|sent| sent.shown.text.starts_with("✓ shop-1"));
    let press = bot.presses(MALLORY, &offer, &button(&offer, "Always allow"));
    assert!(bot.wait_for_answer(&press).contains("only talk to people"));
    let press = bot.presses(ADA, &offer, &button(&offer, "Always allow"));
    assert_eq!(bot.wait_for_answer(&press), "Done.");
    bot.says(ADA, "run echo again");
    world.wait_for_turns("shop-1", 2);
    let asks = |sent: &&Sent| sent.shown.text.contains("waiting for approval") || sent.id == asked.id;
    assert_eq!(bot.sent().iter().filter(asks).count(), 1, "it was not asked again: {:#?}", bot.sent());
    let audit = world.ok(&["approvals", "--all", "--json"]).stdout;
    assert!(audit.contains("rule"), "{audit}");
}

#[test]
fn a_press_that_is_brought_again_decides_nothing_more() {
    let (app, world) = with_app("");
    app.says("ou_ada", "/new run echo once");
    let asked = app.wait_for_sent(|sent| sent.words().contains("waiting for approval"));
    let yes = card_button(&asked, "Approve");
    app.presses("ou_eve", &asked, yes.clone());
    app.wait_for_quiet();
    assert_eq!(world.task("shop-1")["approvals"].as_array().expect("a list").len(), 1, "it still waits");
    let press = app.presses("ou_ada", &asked, yes);
    let decided = app.wait_for_sent(|sent| sent.id == asked.id && sent.words().contains("approved by"));
    assert_eq!(decided.buttons(), [], "the card says how it ended");
    app.wait_for_sent(|sent| sent.words().contains("✓ shop-1"));
    app.says("ou_ada", "run echo twice");
    let second = app.wait_for_sent(|sent| sent.words().contains("echo twice") && !sent.buttons().is_empty());
    app.brings_again(&press);
    world.kill_daemon();
    world.ok(&["up"]);
    app.brings_again(&press);
    app.wait_for_quiet();
    assert_eq!(world.task("shop-1")["approvals"].as_array().expect("a list").len(), 1, "the second still waits");
    app.presses("ou_ada", &second, card_button(&second, "Deny"));
    app.wait_for_sent(|sent| sent.id == second.id && sent.words().contains("denied by"));
}

#[test]
fn whoever_is_revoked_while_their_file_is_fetched_is_nobody_when_it_is_there() {
    let (bot, world) = with_bot("");
    bot.says(ADA, "/new say ready");
    bot.wait_for_sent(|sent| sent.shown.text.starts_with("✓ shop-1"));
    let file = bot.keeps_file(b"late");
    bot.hold(Some("getFile"));
    let document = json!({"file_id": file, "file_unique_id": file, "file_name": "late.txt", "file_size": 4});
    bot.says_in(ADA, ADA, json!({"caption": "say too late", "document": document}));
    bot.wait_for_calls("getFile", 1);
    world.ok(&["identities", "revoke", "telegram:42"]);
    bot.hold(None);
    bot.wait_for_quiet();
    assert_eq!(world.task("shop-1")["executions"][0]["turns"], 1);
    let before = bot.sent().len();
    bot.says(ADA, "say nobody");
    bot.wait_for_quiet();
    assert!(bot.sent().len() <= before + 1, "one polite line at most");
}

//! Work from chats: pairing, messages, buttons, and the same task from everywhere. The platforms are stubs that keep
//! the real ones' rules; the daemon is the real one.

use crate::support::chats::{pair, with_bot};
use crate::support::{World, kill_and_wait};
use rustix::process::Signal;
use throughline_testkit::telegram::{BotApi, Sent};

const ADA: i64 = 42;
const MALLORY: i64 = 99;
const EVE: i64 = 98;

fn said(bot: &BotApi, words: &str) -> Sent {
    bot.wait_for_sent(|sent| sent.shown.text.contains(words))
}

/// What the button with this label carries.
fn button(sent: &Sent, label: &str) -> String {
    let found = sent.buttons.iter().flatten().find(|button| button.text.contains(label));
    found.unwrap_or_else(|| panic!("no {label} under {sent:?}")).data.clone()
}

fn kill_daemon(world: &World) {
    let lock = std::fs::read_to_string(world.home.join("daemon.lock")).expect("a daemon");
    assert!(kill_and_wait(lock.trim().parse().expect("its id"), Signal::KILL));
}

fn events(world: &World) -> usize {
    world.json(&["tasks", "--all"])["tasks"].as_array().expect("a list").len()
}

#[test]
fn a_stranger_gets_one_line_and_nothing_else() {
    let bot = BotApi::start();
    let world = with_bot(&bot);
    world.ok(&["status"]);
    bot.says(MALLORY, "run rm -rf /");
    let polite = said(&bot, "only talk to people");
    for text in ["/start AAAAAAAAAA", "goodmorning", "BBBBBBBBBB", "hello?", "/tasks"] {
        bot.says(MALLORY, text);
    }
    let from = serde_json::json!({"id": MALLORY, "is_bot": false, "first_name": "Mallory"});
    let said_so = serde_json::json!({"message_id": 7, "from": from, "chat": {"id": MALLORY, "type": "private"}, "date": 1,
        "sticker": {"file_id": "s"}, "caption": "changed"});
    bot.brings(serde_json::json!({"edited_message": said_so}));
    bot.brings(serde_json::json!({"message": said_so}));
    bot.presses(MALLORY, &polite, "ap:00000000-0000-0000-0000-000000000000:y:0123456789abcdef");
    bot.says(EVE, "/start AAAAAAAAAA");
    said(&bot, "does not work");
    bot.says(EVE, "hello?");
    bot.wait_for_quiet();
    pair(&world, &bot, ADA);
    for stranger in [MALLORY, EVE] {
        assert_eq!(bot.sent().iter().filter(|sent| sent.chat == stranger).count(), 1, "{:#?}", bot.sent());
    }
    assert_eq!(events(&world), 0);
}

#[test]
fn what_cannot_be_followed_is_said_and_sets_nobody_to_work() {
    let bot = BotApi::start();
    let world = with_bot(&bot);
    pair(&world, &bot, ADA);
    bot.says(ADA, "/stpo");
    said(&bot, "There is no /stpo here");
    let from = serde_json::json!({"id": ADA, "is_bot": false, "first_name": "Ada"});
    let chat = serde_json::json!({"id": ADA, "type": "private"});
    bot.brings(serde_json::json!({"edited_message": {"message_id": 3, "from": from, "chat": chat, "date": 1,
        "text": "say not that"}}));
    said(&bot, "do not follow changes");
    bot.brings(serde_json::json!({"message": {"message_id": 4, "from": from, "chat": chat, "date": 1,
        "sticker": {"file_id": "s"}}}));
    said(&bot, "cannot take this kind");
    assert_eq!(events(&world), 0);
    bot.says(ADA, "/etc/hosts is wrong");
    said(&bot, "new task shop-1");
}

#[test]
fn work_goes_on_from_a_chat_and_a_button_decides_what_was_shown() {
    let bot = BotApi::start();
    let world = with_bot(&bot);
    pair(&world, &bot, ADA);
    bot.says(ADA, "/new run echo hi there");
    said(&bot, "new task shop-1");
    let asked = said(&bot, "waiting for approval");
    assert!(asked.shown.text.contains("echo hi there"), "{asked:?}");
    let yes = button(&asked, "Approve");
    let press = bot.presses(MALLORY, &asked, &yes);
    assert!(bot.wait_for_answer(&press).contains("only talk to people"));
    let other = yes.replace(":y:", ":y:0").chars().take(yes.len()).collect::<String>();
    let press = bot.presses(ADA, &asked, &other);
    assert!(bot.wait_for_answer(&press).contains("changed"));
    let press = bot.presses(ADA, &asked, &yes);
    assert_eq!(bot.wait_for_answer(&press), "Done.");
    said(&bot, "approved by");
    let result = bot.wait_for_sent(|sent| sent.shown.text.contains("✓ shop-1"));
    assert!(result.shown.text.contains("exit code 0"), "{result:?}");
    let press = bot.presses(ADA, &asked, &button_no(&yes));
    assert!(bot.wait_for_answer(&press).contains("decided already"));
    bot.answers(ADA, &result, "say and now this");
    bot.wait_for_sent(|sent| sent.shown.text.ends_with("and now this") && sent.shown.text.contains("✓ shop-1"));
    let audit = world.ok(&["approvals", "--all", "--json"]).stdout;
    assert!(audit.contains("telegram"), "{audit}");
}

fn button_no(yes: &str) -> String {
    yes.replace(":y:", ":n:")
}

#[test]
fn a_revoked_identity_is_nobody_at_once() {
    let bot = BotApi::start();
    let world = with_bot(&bot);
    pair(&world, &bot, ADA);
    bot.says(ADA, "/new run echo one");
    let asked = said(&bot, "waiting for approval");
    world.ok(&["identities", "revoke", "telegram:42"]);
    let press = bot.presses(ADA, &asked, &button(&asked, "Approve"));
    assert!(bot.wait_for_answer(&press).contains("only talk to people"));
    bot.says(ADA, "say something else");
    bot.wait_for_quiet();
    let before = bot.sent().len();
    world.ok(&["say", "--task", "shop-1", "--interrupt", "say from the terminal"]);
    assert_eq!(bot.sent().len(), before, "nothing goes to where nobody is known");
}

#[test]
fn what_was_taken_before_a_kill_is_answered_once() {
    let bot = BotApi::start();
    let world = with_bot(&bot);
    pair(&world, &bot, ADA);
    let update = bot.says(ADA, "/new say first");
    bot.wait_for_sent(|sent| sent.shown.text.contains("✓ shop-1"));
    kill_daemon(&world);
    let again = serde_json::json!({"message": {"message_id": 3, "from": {"id": ADA, "is_bot": false, "first_name": "Ada"},
        "chat": {"id": ADA, "type": "private"}, "date": 1, "text": "/new say first"}});
    bot.brings_again(update, again);
    bot.says(ADA, "say second");
    world.ok(&["status"]);
    bot.wait_for_sent(|sent| sent.shown.text.contains("✓ shop-1") && sent.shown.text.ends_with("second"));
    assert_eq!(world.json(&["tasks", "--all"])["tasks"].as_array().expect("tasks").len(), 1);
    assert_eq!(bot.sent().iter().filter(|sent| sent.shown.text.contains("new task")).count(), 1);
}

#[test]
fn a_question_of_a_task_from_elsewhere_says_how_it_is_answered() {
    let bot = BotApi::start();
    let world = with_bot(&bot);
    pair(&world, &bot, ADA);
    bot.says(ADA, "/new ask which size?");
    let here = said(&bot, "❓ shop-1");
    assert!(!here.shown.text.contains("Answer this message"), "it is in focus: {here:?}");
    world.ok(&["say", "--new", "ask which colour?"]);
    let elsewhere = said(&bot, "❓ shop-2");
    assert!(elsewhere.shown.text.ends_with("Answer this message with your words."), "{elsewhere:?}");
    bot.answers(ADA, &elsewhere, "say green");
    bot.wait_for_sent(|sent| sent.shown.text.contains("✓ shop-2") && sent.shown.text.ends_with("green"));
}

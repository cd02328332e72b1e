//! Files through chats: what people send reaches the agent, and what they ask for reaches them, masked and once.

use serde_json::json;
use throughline_testkit::Fault;
use throughline_testkit::feishu::{APP_ID, APP_SECRET, Message, OpenPlatform};
use throughline_testkit::telegram::{BotApi, Document, Sent};

use crate::support::World;

const ADA: i64 = 42;

fn settings(bot: &BotApi, app: &OpenPlatform) -> String {
    format!(
        "[env]\nSHOP_TOKEN = \"hunter2hunter2\"\n[channels.telegram]\ntoken = \"{}\"\napi_url = \"{}\"\n\
         [channels.feishu]\napp_id = \"{APP_ID}\"\napp_secret = \"{APP_SECRET}\"\ndomain = \"{}\"\n",
        bot.token(),
        bot.url(),
        app.url()
    )
}

/// A world whose person is known on both platforms.
fn paired() -> (BotApi, OpenPlatform, World) {
    let (bot, app) = (BotApi::start(), OpenPlatform::start());
    let world = World::with_settings(&settings(&bot, &app));
    bot.says(ADA, world.json(&["pair", "telegram"])["say"].as_str().expect("what to say"));
    bot.wait_for_sent(|sent| sent.shown.text.contains("Paired"));
    app.says("ou_ada", world.json(&["pair", "feishu"])["say"].as_str().expect("what to say"));
    app.wait_for_sent(|sent| sent.content.contains("Paired"));
    (bot, app, world)
}

fn said(bot: &BotApi, words: &str) -> Sent {
    bot.wait_for_sent(|sent| sent.shown.text.contains(words))
}

/// The document of this name.
fn document(bot: &BotApi, name: &str) -> Document {
    let named = |sent: &Sent| sent.document.as_ref().is_some_and(|document| document.name == name);
    bot.wait_for_sent(named).document.expect("a document")
}

fn text(document: &Document) -> &str {
    std::str::from_utf8(&document.bytes).expect("text")
}

/// The bytes of a file message.
fn bytes(app: &OpenPlatform, sent: &Message) -> Vec<u8> {
    let content: serde_json::Value = serde_json::from_str(&sent.content).expect("JSON");
    app.file(content["file_key"].as_str().expect("a file")).expect("its bytes")
}

#[test]
fn photos_and_documents_reach_the_agent_from_both_platforms() {
    let (bot, app, world) = paired();
    bot.says(ADA, "/new say ready");
    said(&bot, "✓ shop-1");
    let (note, small, large) = (bot.keeps_file(b"a note"), bot.keeps_file(&[1; 10]), bot.keeps_file(&[2; 99]));
    let document = json!({"file_id": note, "file_unique_id": note, "file_name": "note.txt", "mime_type": "text/plain",
        "file_size": 6});
    bot.says_in(ADA, ADA, json!({"caption": "say got the note", "document": document}));
    said(&bot, "text/plain, 6 bytes");
    let photo = json!([{"file_id": small, "file_size": 10}, {"file_id": large, "file_size": 99}]);
    bot.says_in(ADA, ADA, json!({"caption": "say got the photo", "photo": photo}));
    said(&bot, "image, image/jpeg, 99 bytes");
    app.says("ou_ada", "shop-1 say and feishu");
    app.wait_for_sent(|sent| sent.words().contains("✓") && sent.words().contains("and feishu"));
    app.sends_file("ou_ada", "plan.bin", b"\xff\xfe!");
    app.wait_for_sent(|sent| sent.words().contains("3 bytes"));
    app.sends_image("ou_ada", &[3; 33]);
    app.wait_for_sent(|sent| sent.words().contains("image, image/png, 33 bytes"));
    assert_eq!(world.keys(), ["shop-1"]);
    assert_eq!(world.task("shop-1")["executions"][0]["turns"], 6);
}

#[test]
fn a_file_of_the_workspace_and_the_diff_go_out_without_their_secrets() {
    let (bot, app, world) = paired();
    std::fs::write(world.project.join("notes.md"), "# Notes\nthe token is hunter2hunter2.\n").expect("a file");
    std::fs::write(world.project.join("raw.bin"), b"\xff\xfehunter2hunter2\x00").expect("a file");
    std::fs::write(world.project.join(".env"), "A=b").expect("a file");
    std::fs::write(world.project.join("of hunter2hunter2\n.txt"), "plain").expect("a file");
    std::os::unix::fs::symlink("/etc/hostname", world.project.join("host")).expect("a link");
    bot.says(ADA, "/file notes.md");
    said(&bot, "no task in focus");
    bot.says(ADA, "/new say ready");
    said(&bot, "✓ shop-1");
    let asked = bot.says(ADA, "/file ./notes.md");
    let notes = document(&bot, "notes.md");
    assert!(text(&notes).starts_with("# Notes\nthe token is ") && !text(&notes).contains("hunter2"), "{notes:?}");
    bot.says(ADA, "/file of hunter2hunter2\n.txt");
    assert_eq!(text(&document(&bot, "of •••.txt")), "plain", "its name is masked too");
    for (wish, words) in [
        ("/file", "Say which file"),
        ("/file ../shop/notes.md", "There is no file ../shop/notes.md"),
        ("/file host", "There is no file host"),
        ("/file .env", ".env may hold secrets"),
        ("/file raw.bin", "raw.bin may hold secrets"),
        ("/diff", "changed nothing yet"),
    ] {
        bot.says(ADA, wish);
        said(&bot, words);
    }
    bot.says(ADA, "write src/a.txt hello hunter2hunter2");
    let waits = |sent: &Sent| sent.shown.text.contains("waiting for approval") || sent.shown.text.contains("a.txt");
    let asking = bot.wait_for_sent(waits);
    if let Some(yes) = asking.buttons.iter().flatten().find(|key| key.text.contains("Approve")) {
        bot.presses(ADA, &asking, &yes.data);
    }
    world.wait_for_turns("shop-1", 2);
    bot.says(ADA, "/diff shop-1");
    let diff = document(&bot, "shop-1.diff");
    assert!(text(&diff).contains("+hello ") && !text(&diff).contains("hunter2"), "{diff:?}");
    app.says("ou_ada", "/diff shop-1");
    let sent = app.wait_for_sent(|sent| sent.kind == "file");
    assert_eq!(bytes(&app, &sent), diff.bytes);
    let count = bot.sent().iter().filter(|sent| sent.document.is_some()).count();
    let again = json!({"message": {"message_id": 9_999, "from": {"id": ADA, "is_bot": false, "first_name": "Ada"},
        "chat": {"id": ADA, "type": "private"}, "date": 1, "text": "/file ./notes.md"}});
    bot.brings_again(asked, again);
    bot.wait_for_quiet();
    bot.says(ADA, "/status nothing-9");
    said(&bot, "nothing-9");
    assert_eq!(bot.sent().iter().filter(|sent| sent.document.is_some()).count(), count, "what was asked once");
}

#[test]
fn words_that_fill_many_messages_go_as_one_file() {
    let (bot, app, _world) = paired();
    let long = "word ".repeat(4_000);
    bot.says(ADA, &format!("/new say {long}"));
    said(&bot, "✓ shop-1");
    bot.says(ADA, "/more");
    let answer = document(&bot, "answer.md");
    assert!(text(&answer).contains(long.trim_end()), "{} bytes", answer.bytes.len());
    app.says("ou_ada", "/more shop-1");
    let sent = app.wait_for_sent(|sent| sent.kind == "file");
    assert!(String::from_utf8_lossy(&bytes(&app, &sent)).contains(long.trim_end()));
}

#[test]
fn a_file_whose_answer_is_lost_goes_once_more_only_where_the_platform_knows_it() {
    let (bot, app, world) = paired();
    std::fs::write(world.project.join("notes.md"), "# Notes\n").expect("a file");
    bot.says(ADA, "/new say ready");
    said(&bot, "✓ shop-1");
    bot.fails("sendDocument", Fault::LoseAnswer);
    bot.says(ADA, "/file notes.md");
    bot.says(ADA, "/status after-1");
    said(&bot, "after-1");
    assert_eq!(bot.calls("sendDocument").len(), 1, "nobody can know, so it is not sent again");
    app.fails("send", Fault::LoseAnswer);
    app.fails("reply", Fault::LoseAnswer);
    app.says("ou_ada", "shop-1 say hi");
    app.wait_for_sent(|sent| sent.words().contains("✓") && sent.words().contains("say hi"));
    app.fails("reply", Fault::LoseAnswer);
    app.says("ou_ada", "/file notes.md");
    app.says("ou_ada", "/status after-2");
    app.wait_for_sent(|sent| sent.words().contains("after-2"));
    assert_eq!(app.sent().iter().filter(|sent| sent.kind == "file").count(), 1);
    assert!(app.calls("upload").len() >= 2, "it was sent again, and is one message");
}

#[test]
fn a_file_that_cannot_be_had_is_given_up_and_holds_nobody_up() {
    let (bot, _app, world) = paired();
    for _ in 0..40 {
        bot.refuses("getFile", 500, "Internal Server Error");
    }
    bot.says_in(
        ADA,
        ADA,
        json!({"document": {"file_id": "f", "file_name": "plan.txt", "file_size": 3}, "caption": "look"}),
    );
    bot.says(ADA, "/tasks");
    said(&bot, "the file plan.txt cannot be had");
    said(&bot, "Nothing is open");
    assert_eq!(bot.calls("getFile").len(), 4);
    assert_eq!(world.json(&["tasks", "--all"])["tasks"].as_array().map(Vec::len), Some(0));
}

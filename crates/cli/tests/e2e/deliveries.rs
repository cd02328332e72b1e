//! What became of messages to chats can be looked at: in the terminal, over HTTP, and where the task is. The platform is a
//! stub that keeps the real one's rules; the daemon is the real one.

use serde_json::Value;
use throughline_testkit::fault::Fault;
use throughline_testkit::telegram::BotApi;

use crate::support::World;
use crate::support::chats::with_bot;

const ADA: i64 = 42;

/// Waits until a message about a task is in this state, and gives it.
fn wait_for(world: &World, key: &str, state: &str) -> Value {
    for _ in 0..1_000 {
        let told = world.json(&["deliveries", key])["deliveries"].clone();
        if let Some(found) = told.as_array().expect("a list").iter().find(|one| one["state"] == state) {
            return found.clone();
        }
    }
    panic!("nothing is {state}: {:#}", world.json(&["deliveries", key]));
}

#[test]
fn what_did_not_arrive_is_seen_with_its_reason_where_the_task_is() {
    let bot = BotApi::start();
    let world = with_bot(&bot);
    assert!(world.ok(&["deliveries"]).stdout.contains("tl pair"), "nothing yet");
    bot.says(ADA, world.json(&["pair", "telegram"])["say"].as_str().expect("what to say"));
    bot.wait_for_sent(|sent| sent.shown.text.contains("Paired"));

    bot.refuses("sendMessage", 403, "Forbidden: bot was blocked by the user");
    world.ok(&["say", "--new", "say one"]);
    let dead = wait_for(&world, "shop-1", "dead");
    assert_eq!((&dead["kind"], &dead["to"], &dead["tries"]), (&"completed".into(), &"telegram:42".into(), &1.into()));
    assert_eq!(dead["why"]["code"], "refused", "{dead:#}");
    let shown = world.ok(&["show", "shop-1"]).stdout;
    let told = "✉ telegram:42 was not told: the platform refuses it: Forbidden: bot was blocked by the user";
    assert!(shown.contains(told), "{shown}");

    bot.fails("sendMessage", Fault::LoseAnswer);
    world.ok(&["say", "--new", "say two"]);
    assert_eq!(wait_for(&world, "shop-2", "unknown")["why"]["code"], "no_answer");
    assert!(world.ok(&["show", "shop-2"]).stdout.contains("✉ telegram:42 may not have been told: no answer came"));

    bot.slows("sendMessage", 1);
    world.ok(&["say", "--new", "say three"]);
    let sent = wait_for(&world, "shop-3", "sent");
    assert_eq!((&sent["tries"], &sent["why"]), (&2.into(), &Value::Null), "{sent:#}");
    assert!(!world.ok(&["show", "shop-3"]).stdout.contains('✉'));

    let lost = world.json(&["deliveries", "--undelivered"]);
    let keys: Vec<&str> =
        lost["deliveries"].as_array().expect("a list").iter().filter_map(|one| one["task"]["key"].as_str()).collect();
    assert_eq!(keys, ["shop-2", "shop-1"], "{lost:#}");
    let (status, over_http) = world.http("GET", "/deliveries?undelivered=true", "");
    assert_eq!((status, over_http), (200, lost));
    let only = world.ok(&["deliveries", "--chat", "telegram", "--state", "dead,unknown"]).stdout;
    assert!(only.contains("dead") && only.contains("shop-2") && !only.contains("shop-3"), "{only}");
    let digest = world.ok(&["digest"]).stdout;
    assert!(digest.contains("2 messages could not be delivered"), "{digest}");
    world.fails(&["deliveries", "--state", "gone"], 1, "invalid_query");
    world.fails(&["deliveries", "shop-9"], 1, "not_found");
    world.fails(&["deliveries", "--chat", "feishu"], 1, "not_found");

    let perhaps = bot.wait_for_sent(|sent| sent.shown.text.contains("cannot know whether my message"));
    assert!(perhaps.shown.text.starts_with("shop-2 "), "of what was refused nothing follows: {perhaps:?}");
    let more = perhaps.buttons.iter().flatten().next().expect("a button").data.clone();
    bot.presses(ADA, &perhaps, &more);
    bot.wait_for_sent(|sent| sent.shown.text.starts_with("shop-2 ") && sent.shown.text.ends_with("two"));
    let results = bot.sent().into_iter().filter(|sent| sent.shown.text.starts_with("✓ shop-2")).count();
    assert_eq!(results, 1, "the result itself is told once");

    world.ok(&["locale", "zh"]);
    assert!(world.ok(&["show", "shop-1"]).stdout.contains("✉ telegram:42 未收到通知：平台拒收"));
}

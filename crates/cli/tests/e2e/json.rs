//! For programs: every command prints exactly one JSON document, streams one per line, and stderr stays quiet.

use crate::support::World;
use serde_json::Value;

#[test]
fn every_command_prints_one_document() {
    let world = World::new();
    world.ok(&["say", "run echo hi"]);
    let id = world.wait_for_approval("shop-1");
    let commands: &[&[&str]] = &[
        &[],
        &["status"],
        &["status", "shop-1"],
        &["tasks"],
        &["tasks", "--needs-me"],
        &["show", "shop-1"],
        &["approve", &id],
        &["project", "list"],
        &["project", "add", "."],
        &["agents"],
        &["doctor"],
        &["up"],
    ];
    for args in commands {
        assert!(world.json(args).is_object(), "{args:?}");
    }
    world.wait_for_turns("shop-1", 1);
    let commands: &[&[&str]] = &[
        &["note", "shop-1", "x"],
        &["fresh", "shop-1"],
        &["close", "shop-1"],
        &["reopen", "shop-1"],
        &["add", "shop-1", "--agent", "demo", "--role", "tester"],
        &["say", "--detach", "hang"],
        &["cancel", "shop-1"],
        &["down", "--all"],
    ];
    for args in commands {
        let mut args = args.to_vec();
        args.push("--json");
        let ran = world.ok(&args);
        assert_eq!(ran.stdout.lines().count(), 1, "{ran}");
        assert!(serde_json::from_str::<Value>(&ran.stdout).is_ok_and(|value| value.is_object()), "{ran}");
        assert_eq!(ran.stderr, "", "{ran}");
    }
}

#[test]
fn a_followed_timeline_is_one_entry_per_line() {
    let world = World::new();
    world.ok(&["say", "say one"]);
    let mut live = world.start(&["show", "shop-1", "--follow", "--json"]);
    live.wait_for_json(|entry| entry["type"] == "turn_ended");
    world.ok(&["say", "--detach", "say two"]);
    let entry = live.wait_for_json(|entry| entry["type"] == "message");
    assert_eq!(entry["text"], "two", "{entry:#}");
    live.wait_for_json(|entry| entry["type"] == "turn_ended");
}

#[test]
fn a_limit_pages_through_a_long_timeline() {
    let world = World::new();
    world.ok(&["say", "plan a; b; c; d; e; f; g; h"]);
    let all = world.json(&["show", "shop-1", "--limit", "1000"])["entries"].as_array().expect("a list").clone();
    assert!(all.len() > 12, "{}", all.len());
    let few = world.json(&["show", "shop-1", "--limit", "3"])["entries"].as_array().expect("a list").clone();
    assert_eq!(few[..], all[all.len() - 3..]);
}

//! A workspace goes back to what it was around a turn: on a person's word, with a way back, and never under a turn.

use crate::support::World;
use serde_json::Value;

fn read(world: &World, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(world.project.join(name)).ok()?;
    Some(text.trim_end().to_owned())
}

fn paths(report: &Value) -> Vec<(String, String)> {
    let files = report["files"].as_array().expect("a list");
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    files.iter().map(|file| (text(&file["change"]), text(&file["path"]))).collect()
}

#[test]
fn a_restore_says_what_changes_does_it_and_can_be_undone() {
    let world = World::new();
    world.ok(&["say", "write a.txt one"]);
    world.ok(&["say", "write a.txt two\nwrite b.txt new"]);
    std::fs::write(world.project.join("mine.txt"), "by hand").expect("written");
    let plan = world.json(&["restore", "shop-1", "--turn", "1", "--dry-run"]);
    let expected = [("modified", "a.txt"), ("deleted", "b.txt"), ("deleted", "mine.txt")];
    let expected = expected.map(|(change, path)| (change.to_owned(), path.to_owned()));
    assert_eq!(paths(&plan), expected);
    assert_eq!((plan["done"].as_bool(), read(&world, "mine.txt").as_deref()), (Some(false), Some("by hand")));
    let ran = world.ok(&["restore", "shop-1", "--turn", "1"]);
    insta::assert_snapshot!(ran.stdout);
    assert_eq!(read(&world, "a.txt").as_deref(), Some("one"));
    assert_eq!((read(&world, "b.txt"), read(&world, "mine.txt")), (None, None));
    world.ok(&["restore", "shop-1", "--undo"]);
    assert_eq!(read(&world, "a.txt").as_deref(), Some("two"));
    assert_eq!(read(&world, "mine.txt").as_deref(), Some("by hand"), "what nobody else had is back");
    let shown = world.ok(&["show", "shop-1"]);
    assert!(shown.stdout.contains("the workspace is restored as it was after a turn"), "{shown}");
    world.ok(&["restore", "shop-1", "--before"]);
    assert_eq!(read(&world, "a.txt").as_deref(), Some("one"), "before the newest turn");
    let list = world.json(&["restore", "shop-1", "--list"]);
    assert_eq!(list["turns"].as_array().map(Vec::len), Some(2), "{list:#}");
}

#[test]
fn a_restore_is_refused_while_somebody_writes_there() {
    let world = World::new();
    world.ok(&["say", "write a.txt one"]);
    world.ok(&["say", "--new", "--detach", "write a.txt two\nsleep 60000"]);
    world.wait_for_entry("shop-2", |entry| entry["type"] == "tool_call" && entry["status"] == "completed");
    world.fails(&["restore", "shop-1"], 1, "workspace_busy");
    world.fails(&["restore", "shop-2", "--before"], 1, "turn_running");
    assert_eq!(read(&world, "a.txt").as_deref(), Some("two"));
    world.ok(&["cancel", "shop-2"]);
    world.wait_for_turns("shop-2", 1);
    world.ok(&["restore", "shop-1"]);
    assert_eq!(read(&world, "a.txt").as_deref(), Some("one"));
}

#[test]
fn what_cannot_be_restored_is_said() {
    let world = World::new();
    world.ok(&["say", "say nothing"]);
    world.fails(&["restore", "shop-1", "--undo"], 1, "nothing_to_undo");
    world.fails(&["restore", "shop-1", "--turn", "7"], 1, "not_found");
    world.fails(&["restore", "shop-9"], 1, "not_found");
    world.fails(&["restore", "shop-1", "--undo", "--before"], 2, "usage");
}

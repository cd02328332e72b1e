//! Worktrees of executions: work that is done apart, at the same time, and brought home or discarded without loss.

use std::path::{Path, PathBuf};

use crate::support::World;
use serde_json::Value;

fn read(root: &Path, name: &str) -> Option<String> {
    std::fs::read_to_string(root.join(name)).ok()
}

/// The only worktree of a task.
fn apart(world: &World, key: &str) -> PathBuf {
    let task = world.task(key);
    let worktrees = task["worktrees"].as_array().cloned().unwrap_or_default();
    assert_eq!(worktrees.len(), 1, "{task:#}");
    worktrees[0]["root"].as_str().expect("a folder").into()
}

fn removed(entry: &Value) -> bool {
    entry["type"] == "workspace_change_begun" && entry["what"] == "remove"
}

#[test]
fn two_tasks_write_at_once_and_what_was_done_apart_comes_home() {
    let settings = "[projects.shop]\ncopy = [\".env\"]\nsetup = \"cp a.txt made-by-setup.txt\"\n";
    let world = World::with_settings(settings);
    std::fs::write(world.project.join("a.txt"), "one\n").expect("written");
    std::fs::write(world.project.join(".env"), "A=1\n").expect("written");
    world.ok(&["say", "--detach", "hang"]);
    world.wait_for_entry("shop-1", |entry| entry["type"] == "turn_started");
    world.ok(&["say", "--new", "--worktree", "write b.txt apart\nappend a.txt two"]);
    let root = apart(&world, "shop-2");
    assert!(root.starts_with(world.home.join("worktrees")), "{}", root.display());
    assert_eq!(world.task("shop-2")["root"].as_str().map(Path::new), Some(&*root));
    assert_eq!(read(&root, "b.txt").as_deref(), Some("apart\n"));
    assert_eq!(read(&root, ".env").as_deref(), Some("A=1\n"), "copied as for a fork");
    assert_eq!(read(&root, "made-by-setup.txt").as_deref(), Some("one\n"), "set up as for a fork");
    assert_eq!(read(&world.project, "b.txt"), None);
    let shown = world.ok(&["show", "shop-2"]);
    assert!(shown.stdout.contains("a worktree of its own"), "{shown}");
    world.fails(&["take", "shop-2"], 1, "workspace_busy");
    world.ok(&["cancel", "shop-1"]);
    world.wait_for_entry("shop-1", |entry| entry["type"] == "turn_ended");
    let taken = world.ok(&["take", "shop-2"]);
    assert!(taken.stdout.contains("added b.txt") && taken.stdout.contains("in its folder now"), "{taken}");
    assert_eq!(read(&world.project, "b.txt").as_deref(), Some("apart\n"));
    assert_eq!(read(&world.project, "a.txt").as_deref(), Some("one\ntwo\n"));
    let change = world.wait_for_entry("shop-2", removed)["change"].clone();
    world.wait_for_entry("shop-2", |entry| entry["type"] == "workspace_change_ended" && entry["change"] == change);
    assert!(!root.exists(), "nothing in it is lost, so it goes");
    let said = world.ok(&["say", "--task", "shop-2", "read b.txt\nrecall"]);
    assert!(said.stdout.contains("write b.txt apart"), "the session is the same: {said}");
    assert_eq!(read(&root, "b.txt").as_deref(), Some("apart\n"), "and its folder is back");
    world.ok(&["restore", "shop-2", "--undo"]);
    assert_eq!(read(&world.project, "b.txt"), None, "a take is undone like any change");
}

#[test]
fn a_second_editor_of_a_task_works_apart_and_is_discarded_without_loss() {
    let world = World::new();
    std::fs::write(world.project.join("a.txt"), "one\n").expect("written");
    world.ok(&["say", "say first"]);
    let text = "write a.txt apart\nwrite b.txt new";
    let added = world.ok(&["add", "shop-1", "--agent", "demo", "--role", "editor", "--worktree", text]);
    let root = apart(&world, "shop-1");
    assert!(added.stdout.contains(&root.display().to_string()), "it is said where: {added}");
    assert_eq!(
        (read(&root, "a.txt").as_deref(), read(&world.project, "a.txt").as_deref()),
        (Some("apart\n"), Some("one\n"))
    );
    world.ok(&["say", "write a.txt here"]);
    assert_eq!(read(&world.project, "a.txt").as_deref(), Some("here\n"), "who was first stays where it is");
    let refused = world.fails(&["take", "shop-1"], 1, "take_conflict");
    assert!(refused.stderr.contains("a.txt"), "{refused}");
    let card = world.ok(&["show", "shop-1", "--card"]);
    assert!(card.stdout.contains("a worktree of its own"), "{card}");
    let discarded = world.ok(&["discard", "shop-1", "--agent", "demo"]);
    assert!(discarded.stdout.contains("goes on"), "{discarded}");
    assert!(!root.exists());
    assert_eq!(world.task("shop-1")["lifecycle"], "open");
    let id = world.task("shop-1")["worktrees"][0]["execution"].as_str().expect("an id").to_owned();
    assert_eq!(world.task("shop-1")["worktrees"][0]["removed"], true);
    assert_eq!(world.task("shop-1")["executions"][1]["id"], id.as_str());
    world.fails(&["say", "--worktree", "say no"], 2, "usage");
}

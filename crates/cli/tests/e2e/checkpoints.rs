//! What a turn changed: told in the timeline, whole in the diff, and never at the cost of the person's repository.

use crate::support::{World, git};

fn after(entry: &serde_json::Value) -> bool {
    entry["type"] == "checkpoint_taken" && entry["side"] == "after"
}

#[test]
fn a_turn_says_what_it_changed_and_leaves_the_persons_git_alone() {
    let world = World::new();
    let root = world.project.clone();
    git(&root, &["init", "-q", "."]);
    std::fs::write(root.join("a.txt"), "one\r\n").expect("written");
    git(&root, &["add", "."]);
    git(&root, &["commit", "-qm", "first"]);
    let before = git(&root, &["status", "--porcelain=v2", "--branch"]);
    world.ok(&["say", "say nothing happens"]);
    assert_eq!(git(&root, &["status", "--porcelain=v2", "--branch"]), before);
    world.ok(&["say", "append a.txt two\nwrite new.txt three"]);
    let entry = world.wait_for_entry("shop-1", |entry| after(entry) && !entry["changed"].is_null());
    let names: Vec<_> = entry["changed"].as_array().expect("a list").iter().map(|file| file["path"].clone()).collect();
    assert_eq!(names, ["a.txt", "new.txt"], "{entry:#}");
    let shown = world.ok(&["show", "shop-1"]);
    assert!(shown.stdout.contains("modified a.txt (+1 −0)"), "{shown}");
    assert!(git(&root, &["stash", "list"]).is_empty());
    assert_eq!(git(&root, &["diff", "--cached", "--name-only"]), "", "nothing was staged");
}

#[test]
fn a_folder_without_git_has_its_changes_told_too_and_a_crash_does_not_hide_them() {
    let world = World::new();
    world.fails(&["say", "write half.txt done\ncrash"], 1, "turn_interrupted");
    let entry = world.wait_for_entry("shop-1", after);
    assert_eq!(entry["changed"][0]["path"], "half.txt", "{entry:#}");
}

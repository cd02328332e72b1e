//! A task's transcript, as a person gets it.

use crate::support::World;

#[test]
fn a_transcript_is_printed_whole() {
    let world = World::new();
    world.ok(&["say", "--detach", "run echo hello\nwrite a.txt one\nsay done"]);
    let id = world.wait_for_approval("shop-1");
    world.ok(&["approve", &id]);
    world.wait_for_turns("shop-1", 1);
    let text = world.ok(&["export", "shop-1"]).stdout;
    for words in ["# run echo hello", "- key: shop-1", "> done", "**approved** by", "files changed: added a.txt"] {
        assert!(text.contains(words), "{words} is missing in\n{text}");
    }
    let lines = world.json_lines(&["export", "shop-1"]);
    assert_eq!(lines[0]["type"], "task_created");
    assert_eq!(lines.iter().filter(|entry| entry["type"] == "turn_ended").count(), 1);
    assert_eq!(world.ok(&["export", "shop-1", "--format", "jsonl"]).stdout.lines().count(), lines.len());
    world.fails(&["export", "shop-9"], 1, "not_found");
}

//! Retention: what nothing needs goes, what a task needs stays, and looking changes nothing.

mod support;

use serde_json::Value;
use support::World;

/// Everything that may go goes at once.
const AT_ONCE: &str = "[retention]\nkeeper_days = 0\ncheckpoint_days = 0\nblob_days = 0\narchived_days = 0\n";

fn freed(report: &Value, kind: &str) -> (u64, u64) {
    let kinds = report["freed"].as_array().expect("a list");
    let found = kinds.iter().find(|freed| freed["kind"] == kind).expect("the kind");
    (found["count"].as_u64().expect("a count"), found["bytes"].as_u64().expect("bytes"))
}

/// What a person can see of a task.
fn seen(world: &World, key: &str) -> (Value, String) {
    let shown = world.json(&["show", key, "--limit", "1000"]);
    (shown["entries"].clone(), world.ok(&["export", key]).stdout)
}

#[test]
fn open_tasks_keep_everything_and_what_was_put_away_goes() {
    let world = World::with_settings(AT_ONCE);
    let note = world.project.join("note.bin");
    std::fs::write(&note, "attached to what stays".repeat(50)).expect("written");
    let words = "stream 20\nwrite a.txt one\nflood 100000";
    world.ok(&["say", words, "--attach", note.to_str().expect("text")]);
    world.ok(&["say", "append a.txt two"]);
    std::fs::write(&note, "attached to what goes".repeat(50)).expect("written");
    world.ok(&["say", "--new", "write b.txt three", "--attach", note.to_str().expect("text")]);
    world.ok(&["say", "append b.txt four"]);
    let before = seen(&world, "shop-1");
    let nothing = world.json(&["gc", "--dry-run"]);
    assert_eq!((freed(&nothing, "blobs").0, freed(&nothing, "checkpoints").0), (0, 0), "all is needed: {nothing:#}");

    world.ok(&["close", "shop-2", "--archive"]);
    let planned = world.json(&["gc", "--dry-run"]);
    assert!(freed(&planned, "blobs").0 >= 1 && freed(&planned, "blobs").1 > 0, "{planned:#}");
    assert!(freed(&planned, "checkpoints").0 >= 1, "{planned:#}");
    assert_eq!(world.json(&["gc", "--dry-run"]), planned, "looking changes nothing");
    let done = world.json(&["gc"]);
    assert_eq!(done["freed"], planned["freed"], "what was said is what went");
    let after = world.json(&["gc"]);
    assert_eq!((freed(&after, "blobs").0, freed(&after, "checkpoints").0), (0, 0), "it went: {after:#}");

    assert_eq!(seen(&world, "shop-1"), before, "an open task shows what it showed");
    assert_eq!(world.task("shop-2")["lifecycle"], "archived");
    assert!(!seen(&world, "shop-2").1.is_empty(), "its record stays");
    world.ok(&["down", "--all"]);
    let said = world.ok(&["say", "--task", "shop-1", "recall"]).stdout;
    assert!(said.contains("append a.txt two"), "it goes on with its context: {said}");
}

#[test]
fn what_is_young_stays() {
    let world = World::new();
    world.ok(&["say", "write a.txt one"]);
    world.ok(&["close", "shop-1", "--archive"]);
    assert_eq!(world.ok(&["gc"]).stdout, "there is nothing to free\n");
}

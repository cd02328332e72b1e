//! Retention: what nothing needs goes, what a task needs stays, and looking changes nothing.

use crate::support::World;
use serde_json::Value;
use throughline_api::client::Client;
use throughline_api::diff::TurnDiff;

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

/// What each turn of a task changed, with the patches.
fn diffs(world: &World, key: &str) -> Vec<TurnDiff> {
    asked(async {
        let client = Client::unix(world.home.join("tl.sock"));
        let mut diffs = vec![];
        for turn in client.turns(key).await.expect("turns").turns {
            diffs.push(client.diff(key, Some(turn.id)).await.expect("a diff"));
        }
        diffs
    })
}

/// The bytes that were attached to a task's first message; none if they are gone.
fn attached(world: &World, key: &str) -> Option<Vec<u8>> {
    let shown = world.json(&["show", key, "--limit", "1000"]);
    let entries = shown["entries"].as_array().expect("a list");
    let digest = entries.iter().find_map(|entry| entry["content"][1]["blob"]["sha256"].as_str());
    let digest = digest.unwrap_or_else(|| panic!("no attachment in {shown:#}"));
    let bytes = asked(async { Client::unix(world.home.join("tl.sock")).blob(digest).await });
    bytes.ok().map(|bytes| bytes.to_vec())
}

fn asked<T>(ask: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(ask)
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
    let left = world.home.join("keepers/left");
    std::fs::create_dir_all(&left).expect("a folder");
    std::fs::write(left.join("spool"), "last words").expect("written");
    let before = (seen(&world, "shop-1"), diffs(&world, "shop-1"), attached(&world, "shop-1"));
    assert_eq!(before.1.iter().map(|diff| diff.files.len()).collect::<Vec<_>>(), [1, 1], "{:#?}", before.1);
    let nothing = world.json(&["gc", "--dry-run"]);
    assert_eq!((freed(&nothing, "blobs").0, freed(&nothing, "checkpoints").0), (0, 0), "all is needed: {nothing:#}");

    world.ok(&["close", "shop-2", "--archive"]);
    let planned = world.json(&["gc", "--dry-run"]);
    assert!(freed(&planned, "blobs").0 >= 1 && freed(&planned, "blobs").1 > 0, "{planned:#}");
    assert!(freed(&planned, "checkpoints").0 >= 1, "{planned:#}");
    // The agent of what was put away is just being ended: what it leaves is its driver's to remove.
    assert_eq!(freed(&planned, "keepers"), (1, 10), "{planned:#}");
    assert_eq!(world.json(&["gc", "--dry-run"]), planned, "looking changes nothing");
    let done = world.json(&["gc"]);
    assert_eq!(done["freed"], planned["freed"], "what was said is what went");
    let after = world.json(&["gc"]);
    assert_eq!((freed(&after, "blobs").0, freed(&after, "checkpoints").0), (0, 0), "it went: {after:#}");

    let now = (seen(&world, "shop-1"), diffs(&world, "shop-1"), attached(&world, "shop-1"));
    assert_eq!(now, before, "an open task shows what it showed");
    assert_eq!(now.2, Some("attached to what stays".repeat(50).into_bytes()));
    assert_eq!((attached(&world, "shop-2"), left.exists()), (None, false));
    assert_eq!(world.task("shop-2")["lifecycle"], "archived");
    assert!(!seen(&world, "shop-2").1.is_empty(), "its record stays");
    world.ok(&["down", "--all"]);
    let said = world.ok(&["say", "--task", "shop-1", "recall"]).stdout;
    assert!(said.contains("append a.txt two"), "it goes on with its context: {said}");
}

#[test]
fn the_way_back_from_a_restore_stays() {
    let world = World::with_settings(AT_ONCE);
    let mine = world.project.join("mine.txt");
    world.ok(&["say", "write a.txt one"]);
    std::fs::write(&mine, "by hand").expect("written");
    world.ok(&["restore", "shop-1", "--turn", "1"]);
    assert!(!mine.exists(), "only the restore's own checkpoint has it now");
    world.ok(&["say", "--new", "write b.txt two"]);
    world.ok(&["say", "--task", "shop-2", "append b.txt three"]);
    world.ok(&["close", "shop-2", "--archive"]);
    assert!(freed(&world.json(&["gc"]), "checkpoints").0 >= 1, "something went");
    world.ok(&["restore", "shop-1", "--undo"]);
    assert_eq!(std::fs::read_to_string(&mine).expect("it is back"), "by hand");
}

#[test]
fn what_a_fork_began_from_stays() {
    let world = World::with_settings(AT_ONCE);
    world.ok(&["say", "write a.txt one"]);
    std::fs::write(world.project.join("mine.txt"), "by hand").expect("written");
    world.ok(&["fork", "shop-1"]);
    let fork = std::path::PathBuf::from(world.task("shop-2")["root"].as_str().expect("a folder"));
    std::fs::write(fork.join("mine.txt"), "by another hand").expect("written");
    world.ok(&["say", "--task", "shop-2", "write new.txt two"]);
    world.ok(&["say", "--new", "write b.txt three"]);
    world.ok(&["say", "--task", "shop-3", "append b.txt four"]);
    world.ok(&["close", "shop-3", "--archive"]);
    assert!(freed(&world.json(&["gc"]), "checkpoints").0 >= 1, "something went");
    world.ok(&["take", "shop-2"]);
    let read = |name: &str| std::fs::read_to_string(world.project.join(name)).expect("it is there");
    assert_eq!((read("mine.txt").as_str(), read("new.txt").trim_end()), ("by another hand", "two"));
    assert_eq!(read("b.txt").lines().count(), 2, "what was written meanwhile stays");
}

#[test]
fn what_is_young_stays() {
    let world = World::new();
    world.ok(&["say", "write a.txt one"]);
    world.ok(&["close", "shop-1", "--archive"]);
    assert_eq!(world.ok(&["gc"]).stdout, "there is nothing to free\n");
}

#[test]
fn what_was_in_a_discarded_fork_stays_until_its_task_is_put_away() {
    let world = World::with_settings(AT_ONCE);
    world.ok(&["say", "write a.txt one"]);
    world.ok(&["fork", "shop-1", "write early.txt x"]);
    world.ok(&["say", "--task", "shop-2", "write only-here.txt x"]);
    let root = std::path::PathBuf::from(world.task("shop-2")["root"].as_str().expect("a folder"));
    world.ok(&["discard", "shop-2"]);
    assert!(!root.exists());
    let done = world.json(&["gc"]);
    assert!(freed(&done, "checkpoints").0 >= 1, "those of its turns go: {done:#}");
    world.ok(&["say", "--task", "shop-2", "say back"]);
    assert_eq!(std::fs::read_to_string(root.join("only-here.txt")).ok().as_deref(), Some("x\n"));
    world.ok(&["discard", "shop-2"]);
    world.ok(&["close", "shop-2", "--archive"]);
    let gone = world.json(&["gc"]);
    assert!(freed(&gone, "checkpoints").0 >= 1, "then it goes: {gone:#}");
}

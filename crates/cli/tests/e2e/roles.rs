//! Roles: a reviewer cannot change the workspace, every surface says whether that is enforced, and what it finds goes to
//! the editor once.

use crate::support::World;
use serde_json::Value;

const AS_REVIEWER: [&str; 6] = ["--task", "shop-1", "--agent", "demo", "--role", "reviewer"];
const AS_EDITOR: [&str; 6] = ["--task", "shop-1", "--agent", "demo", "--role", "editor"];

/// A task with a file, and a reviewer that was told to write another one.
fn reviewed(settings: &str) -> (World, String) {
    let world = World::with_settings(settings);
    world.ok(&["say", "write a.txt one"]);
    let added = world.ok(&["add", "shop-1", "--agent", "demo", "--role", "reviewer", "write b.txt two"]);
    (world, added.stdout)
}

fn say(world: &World, to: [&str; 6], text: &str) -> String {
    world.ok(&[&["say"], &to[..], &[text]].concat()).stdout
}

fn entries(world: &World, wanted: impl Fn(&Value) -> bool) -> Vec<Value> {
    let shown = world.json(&["show", "shop-1", "--limit", "1000"]);
    shown["entries"].as_array().expect("a list").iter().filter(|entry| wanted(entry)).cloned().collect()
}

fn failed_tools(world: &World) -> usize {
    entries(world, |entry| entry["type"] == "tool_call" && entry["status"] == "failed").len()
}

/// What the reviewer's session says of itself in the API.
fn held_to(world: &World) -> Value {
    world.json(&["show", "shop-1"])["task"]["executions"][1]["runtime_session"]["read_only"].clone()
}

fn passed(world: &World) -> usize {
    entries(world, |entry| entry["type"] == "findings_passed").len()
}

#[test]
fn a_reviewer_cannot_write_nor_can_what_it_starts() {
    let (world, added) = reviewed("");
    assert!(added.contains("demo joined as reviewer, read-only (enforced)\n"), "{added}");
    assert!(!world.project.join("b.txt").exists(), "{added}");
    assert_eq!(failed_tools(&world), 1, "{added}");
    let card = world.ok(&["show", "shop-1", "--card"]).stdout;
    assert_eq!(card.matches("edits of files").count(), 1, "only the editor edits unasked: {card}");

    let shell = "run echo gone > a.txt; echo new > c.txt; mkdir d; rm a.txt; ls; touch c.txt";
    world.ok(&[&["say", "--detach"], &AS_REVIEWER[..], &[shell]].concat());
    world.ok(&["approve", &world.wait_for_approval("shop-1")]);
    world.wait_for_turns("shop-1", 3);
    let mut names: Vec<_> =
        world.project.read_dir().expect("a folder").flatten().map(|entry| entry.file_name()).collect();
    names.sort();
    assert_eq!(names, ["a.txt"]);
    assert_eq!(std::fs::read_to_string(world.project.join("a.txt")).expect("it is there"), "one\n");
    assert_eq!(failed_tools(&world), 2);

    // The editor of the same task, with the same agent, still writes.
    say(&world, AS_EDITOR, "write b.txt two");
    assert!(world.project.join("b.txt").exists());

    assert_eq!(held_to(&world)["enforced_by"], "landlock");
    let shown = world.ok(&["show", "shop-1"]).stdout;
    assert!(shown.contains("demo as reviewer, read-only (enforced)"), "{shown}");
    assert!(shown.contains("demo joins as reviewer\n") && shown.contains("  read-only (enforced)\n"), "{shown}");
    assert!(!shown.contains("demo as editor, read-only"), "{shown}");
}

#[test]
fn a_reviewer_stays_confined_when_its_session_is_taken_up_again() {
    let (world, _) = reviewed("");
    world.ok(&["down", "--all"]);
    say(&world, AS_REVIEWER, "write b.txt two");
    assert!(!world.project.join("b.txt").exists());
    assert_eq!(held_to(&world)["enforced_by"], "landlock");
}

#[test]
fn where_nothing_keeps_a_reviewer_from_writing_that_is_said() {
    let (world, added) = reviewed("[roles.reviewer]\nconfine = false\n");
    assert!(added.contains("demo joined as reviewer, read-only (not enforced)\n"), "{added}");
    // The proof that it is the confinement that holds the others.
    assert!(world.project.join("b.txt").exists(), "{added}");
    let held = held_to(&world);
    assert!(held.is_object() && held["enforced_by"].is_null(), "{held}");
    let shown = world.ok(&["show", "shop-1"]).stdout;
    assert!(shown.contains("demo as reviewer, read-only (not enforced)"), "{shown}");
}

#[test]
fn what_a_reviewer_found_goes_to_the_editor_once_with_its_next_input() {
    let (world, _) = reviewed("");
    say(&world, AS_REVIEWER, "say a.txt: the loop never ends");
    assert_eq!(passed(&world), 0);
    let said = say(&world, AS_EDITOR, "fix what it found");
    assert!(said.contains("attachment:///findings.md"), "{said}");
    assert!(!said.contains("attachment:///role.md"), "an editor is told no role: {said}");
    let again = say(&world, AS_EDITOR, "say on");
    assert!(!again.contains("findings.md"), "{again}");
    assert_eq!(passed(&world), 1);
    world.fails(&["fix", "shop-1"], 1, "no_findings");
}

#[test]
fn fix_sends_what_was_found_in_one_step() {
    let (world, added) = reviewed("");
    assert!(added.contains("attachment:///role.md"), "{added}");
    let said = say(&world, AS_REVIEWER, "say a.txt: the loop never ends");
    assert!(!said.contains("role.md"), "a role is told once: {said}");
    let fixed = world.ok(&["fix", "shop-1"]).stdout;
    assert!(fixed.contains("attachment:///findings.md") && fixed.contains("Mend what was found"), "{fixed}");
    assert_eq!(passed(&world), 1);
    world.fails(&["fix", "shop-1"], 1, "no_findings");
}

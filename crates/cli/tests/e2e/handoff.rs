//! What whoever takes a task on is told of it: what the record holds, once, and as it was given.

use crate::support::World;
use serde_json::Value;

const SECOND_AGENT: &str = "[agents.second]\ncommand = [\"{tl}\", \"agent\", \"demo\"]\nenv = [\"THROUGHLINE_HOME\"]\n";

fn given(entry: &Value) -> bool {
    entry["type"] == "handoff_given"
}

fn briefs(world: &World, key: &str) -> Vec<String> {
    let shown = world.json(&["show", key, "--limit", "1000"]);
    let entries = shown["entries"].as_array().expect("a list").iter().filter(|entry| given(entry));
    entries.map(|entry| entry["text"]["text"].as_str().expect("a text").to_owned()).collect()
}

#[test]
fn another_agent_is_told_goal_plan_notes_decisions_turns_diff_and_failures() {
    let world = World::with_settings(SECOND_AGENT);
    world.ok(&["say", "plan look around; write notes\nwrite a.txt hello"]);
    world.ok(&["say", "--detach", "run echo it broke; exit 3"]);
    let approval = world.wait_for_approval("shop-1");
    world.ok(&["approve", &approval]);
    world.wait_for_turns("shop-1", 2);
    world.ok(&["note", "shop-1", "mind", "the", "gap"]);
    let noted = world.ok(&["note", "--project", "shop", "tabs", "only"]);
    assert_eq!(noted.stdout, "shop: noted\n");
    world.ok(&["say", "ask Which port?"]);
    world.ok(&["switch", "shop-1", "--agent", "second"]);
    let said = world.ok(&["say", "recall"]);
    assert!(said.stdout.contains("attachment:///handoff.md"), "{said}");
    let [brief] = briefs(&world, "shop-1").try_into().expect("one brief");
    for part in [
        "Goal: plan look around; write notes",
        "- [x] look around",
        "- (project) tabs only",
        "- mind the gap",
        "approved: echo it broke; exit 3",
        "- asked: plan look around; write notes\n  write a.txt hello",
        "- added a.txt (+1 −0)",
        "+hello",
        "`echo it broke; exit 3`: exit code 3\n```\nit broke",
        "- demo (editor): Which port?",
    ] {
        assert!(brief.contains(part), "{part}\n---\n{brief}");
    }
    assert!(!brief.contains("asked: recall"), "the prompt that carries it is not told in it: {brief}");
    world.ok(&["say", "say on"]);
    assert_eq!(briefs(&world, "shop-1").len(), 1, "it is told once");
}

#[test]
fn a_slash_command_reaches_a_new_agent_verbatim_and_the_brief_comes_after_it() {
    let world = World::with_settings(SECOND_AGENT);
    world.ok(&["say", "say one"]);
    world.ok(&["switch", "shop-1", "--agent", "second"]);
    world.ok(&["say", "/say two"]);
    assert!(briefs(&world, "shop-1").is_empty());
    let said = world.ok(&["say", "recall"]);
    assert!(said.stdout.contains("1. /say two") && said.stdout.contains("handoff.md"), "{said}");
}

#[test]
fn a_brief_keeps_to_the_budget_of_the_settings() {
    let world = World::with_settings(&format!("{SECOND_AGENT}[handoff]\nmax_bytes = 2000\n"));
    let long = "x".repeat(5_000);
    world.ok(&["say", &format!("say {long}\nwrite a.txt {long}")]);
    world.ok(&["switch", "shop-1", "--agent", "second"]);
    world.ok(&["say", "recall"]);
    let [brief] = briefs(&world, "shop-1").try_into().expect("one brief");
    assert!(brief.len() <= 2_000 && brief.contains("a.txt"), "{brief}");
}

#[test]
fn what_is_to_be_remembered_is_pinned_and_handed_over() {
    let world = World::new();
    world.ok(&["say", "say begun"]);
    world.ok(&["say", "Remember that tulips are watered at noon"]);
    let pinned = world.wait_for_entry("shop-1", |entry| entry["type"] == "note_pinned");
    assert_eq!(pinned["text"], "tulips are watered at noon", "{pinned:#}");
    world.ok(&["add", "shop-1", "--agent", "demo", "--role", "reviewer", "say here"]);
    let brief = world.wait_for_entry("shop-1", |entry| entry["type"] == "handoff_given");
    assert!(brief["text"].to_string().contains("- tulips are watered at noon"), "{brief:#}");
}

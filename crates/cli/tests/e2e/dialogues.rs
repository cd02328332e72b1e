//! The two bugs of the design as dialogues, and how messages are routed, corrected and explained from a terminal.

use crate::support::World;
use serde_json::Value;

/// A second agent beside the built-in one: the same program under another name.
const TWO_AGENTS: &str = r#"
[agents.helper]
command = ["{tl}", "agent", "demo"]
aliases = ["hp"]
env = ["THROUGHLINE_HOME"]
read_only = { writable = ["{home}/agents/demo/"] }
"#;

/// Something that comes between two messages.
type Between = fn(&World);

fn nothing(_: &World) {}

fn a_failed_turn(world: &World) {
    world.tl(&["say", "fail"]).has_failed(1, "turn_failed");
}

fn a_killed_daemon(world: &World) {
    world.kill_daemon();
}

/// What may come in between, and in which conversation the next message is said.
const TWISTS: [(Between, &[&str]); 4] =
    [(nothing, &[]), (a_failed_turn, &[]), (a_killed_daemon, &[]), (nothing, &["--conversation", "phone"])];

fn say(world: &World, place: &[&str], words: &str) -> String {
    let args: Vec<&str> = ["say"].iter().chain(place).copied().chain([words]).collect();
    world.ok(&args).stdout
}

fn entries(world: &World, key: &str) -> Vec<Value> {
    let shown = world.json(&["show", key, "--limit", "1000"]);
    shown["entries"].as_array().expect("a list").clone()
}

fn types(world: &World, key: &str) -> Vec<String> {
    entries(world, key).iter().map(|entry| entry["type"].as_str().unwrap_or_default().to_owned()).collect()
}

/// "The agent remembered the session, not the work": started in one place, continued from another, approved in a
/// third, asked about later. It is one task all along.
#[test]
fn the_work_is_remembered_wherever_it_is_spoken_of() {
    for (between, place) in TWISTS {
        let world = World::new();
        let said = say(&world, &[], "write notes.txt one");
        assert!(said.contains("→ new task shop-1"), "{said}");
        between(&world);
        let said = say(&world, place, "run cat notes.txt");
        assert!(said.contains("→ continues *write notes.txt one* (shop-1) with demo"), "{said}");
        world.wait_for_approval("shop-1");
        let said = say(&world, &["--conversation", "chat"], "yes");
        assert!(said.contains("→ approved once: *write notes.txt one* (shop-1)"), "{said}");
        world.wait_for_entry("shop-1", |entry| entry["type"] == "tool_call" && entry["status"] == "completed");
        let said = say(&world, place, "what happened with that?");
        assert!(said.contains("→ how *write notes.txt one* (shop-1) stands, from the record"), "{said}");
        assert_eq!(world.keys(), ["shop-1"]);
    }
}

/// "The task finished and the thread died": a follow-up goes to the same working session, with its context.
#[test]
fn a_follow_up_goes_to_the_same_session_with_its_context() {
    for (between, place) in TWISTS {
        let world = World::new();
        say(&world, &[], "plan draw a button; colour it");
        between(&world);
        let said = say(&world, place, "make the button green");
        assert!(said.contains("→ continues *plan draw a button; colour it* (shop-1) with demo"), "{said}");
        let said = say(&world, place, "recall");
        assert!(said.contains("plan draw a button; colour it") && said.contains("make the button green"), "{said}");
        let started = types(&world, "shop-1").iter().filter(|word| *word == "runtime_session_started").count();
        assert_eq!((world.keys(), started), (vec!["shop-1".to_owned()], 1));
    }
}

#[test]
fn where_the_focus_came_from_is_recorded() {
    let world = World::new();
    say(&world, &[], "say hello");
    let sent = world.json_lines(&["say", "--conversation", "phone", "make it louder"]);
    assert_eq!(sent[0]["decision"]["focus"]["source"], "elsewhere", "{:#}", sent[0]);
    let sent = world.json_lines(&["say", "--conversation", "phone", "and longer"]);
    assert_eq!(sent[0]["decision"]["focus"]["source"], "conversation", "{:#}", sent[0]);
}

#[test]
fn another_agent_joins_or_takes_over_by_word() {
    let world = World::with_settings(TWO_AGENTS);
    say(&world, &[], "write notes.txt one");
    let said = say(&world, &[], "use helper to review it too: look at the tests");
    assert!(said.contains("→ adds helper as reviewer to *write notes.txt one* (shop-1)"), "{said}");
    let said = say(&world, &[], "use helper instead");
    assert!(said.contains("→ *write notes.txt one* (shop-1) goes on with helper"), "{said}");
    let task = world.task("shop-1");
    assert_eq!(world.keys(), ["shop-1"]);
    assert_eq!(task["agent"], "helper", "{task:#}");
}

#[test]
fn what_needs_no_agent_wakes_none() {
    let world = World::new();
    say(&world, &[], "say hello");
    let before = world.task("shop-1")["executions"][0]["turns"].clone();
    for (words, told) in [
        ("how is it going?", "→ how *say hello* (shop-1) stands, from the record"),
        ("what's the status of everything?", "→ how everything stands, from the record"),
        ("thanks!", "→ nothing to do"),
        ("how do I use this?", "→ how to use this"),
        ("we're done with this, close it", "→ closes *say hello* (shop-1)"),
    ] {
        let said = say(&world, &[], words);
        assert!(said.contains(told), "{words}: {said}");
    }
    assert_eq!(world.task("shop-1")["executions"][0]["turns"], before);
    assert_eq!(world.task("shop-1")["lifecycle"], "closed");
}

#[test]
fn an_unclear_message_is_asked_back_with_choices_that_work() {
    let world = World::new();
    say(&world, &[], "say one");
    say(&world, &["--new"], "say two");
    let sent = world.json_lines(&["say", "--conversation", "phone", "yes"]);
    assert_eq!(sent[0]["decision"]["intent"], "clarify", "{:#}", sent[0]);
    let choices = sent[0]["reply"]["choices"].as_array().expect("choices").clone();
    assert_eq!(choices.len(), 3, "two tasks, or a new one: {:#}", sent[0]);
    let decision = sent[0]["decision"]["id"].as_str().expect("an id");
    let moved = world.ok(&["correct", "--decision", decision, "--task", "shop-1"]);
    assert!(moved.stdout.contains("→ continues *say one* (shop-1)"), "{moved}");
}

#[test]
fn an_agents_own_slash_command_reaches_it_as_typed() {
    let world = World::new();
    say(&world, &[], "say hello");
    let said = say(&world, &[], "/recall");
    assert!(said.contains("→ continues *say hello* (shop-1) with demo") && said.contains("1. say hello"), "{said}");
}

#[test]
fn a_task_by_inference_is_undone_in_one_step() {
    let world = World::new();
    say(&world, &[], "write notes.txt one");
    let said = say(&world, &[], "new task: write a changelog for the release");
    assert!(said.contains("→ new task shop-2") && said.contains("`tl undo`"), "{said}");
    let undone = world.ok(&["undo"]);
    assert!(undone.stdout.contains("→ continues *write notes.txt one* (shop-1)"), "{undone}");
    assert_eq!(world.task("shop-2")["lifecycle"], "closed");
    assert!(types(&world, "shop-2").contains(&"input_moved_out".to_owned()));
    assert!(types(&world, "shop-1").contains(&"input_moved_in".to_owned()));
    let again = world.json_lines(&["correct", "--task", "shop-1", "--detach"]);
    assert_eq!(again[0]["task"]["key"], "shop-1", "the same again changes nothing");
    assert_eq!(types(&world, "shop-1").iter().filter(|word| *word == "input_moved_in").count(), 1);
}

#[test]
fn a_message_is_put_right_by_word() {
    let world = World::new();
    say(&world, &[], "write notes.txt one");
    say(&world, &["--new"], "write other.txt two");
    let said = say(&world, &[], "make it shorter");
    assert!(said.contains("(shop-2)"), "{said}");
    let said = say(&world, &[], "no, I meant shop-1");
    assert!(said.contains("→ moved to *write notes.txt one* (shop-1)"), "{said}");
    assert!(types(&world, "shop-2").contains(&"input_moved_out".to_owned()));
    let said = say(&world, &[], "make it longer");
    assert!(said.contains("(shop-1)"), "the focus went along: {said}");
    let said = say(&world, &[], "no, that's a new task");
    assert!(said.contains("(shop-3)"), "{said}");
    assert_eq!(world.keys().len(), 3);
}

/// An order that was carried out is not sent to an agent because the next message names a task.
#[test]
fn what_was_an_order_is_not_moved_to_an_agent() {
    let world = World::new();
    say(&world, &[], "say one");
    say(&world, &[], "close shop-1");
    let said = say(&world, &[], "no, I meant shop-1");
    assert!(!said.contains("→ moved"), "{said}");
    let said = world.ok(&["show", "shop-1"]).stdout;
    assert!(!said.contains("you: close shop-1"), "{said}");
}

#[test]
fn what_an_agent_works_on_moves_only_with_consent() {
    let world = World::new();
    say(&world, &[], "say one");
    say(&world, &["--new"], "say two");
    say(&world, &["--detach"], "sleep 60000");
    world.wait_for_entry("shop-2", |entry| entry["type"] == "turn_started" && entry["turn"].is_string());
    let asked = say(&world, &[], "I meant shop-1");
    assert!(asked.contains("→ asks back") && asked.contains("--interrupt"), "{asked}");
    let last = world.json_lines(&["say", "--detach", "recall"]);
    assert_eq!(last[0]["task"]["key"], "shop-2", "it stayed where it was");
    world.ok(&["cancel", "shop-2"]);
}

#[test]
fn explaining_changes_nothing() {
    let world = World::new();
    say(&world, &[], "say hello");
    let before = types(&world, "shop-1").len();
    let told = world.ok(&["route", "explain", "make the button green"]).stdout;
    assert!(told.contains("→ continue: *say hello* (shop-1)"), "{told}");
    assert!(told.contains("focus: this conversation's own"), "{told}");
    let explained = world.json(&["route", "explain", "stop everything"]);
    assert_eq!(explained["decision"]["intent"], "cancel");
    assert_eq!(types(&world, "shop-1").len(), before);
}

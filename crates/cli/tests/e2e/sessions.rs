//! Runtime sessions as a person meets them: parked, resumed, switched, stalled, crash-looping, and never named.

use crate::support::World;

const SECOND_AGENT: &str = "[agents.second]\ncommand = [\"{tl}\", \"agent\", \"demo\"]\nenv = [\"THROUGHLINE_HOME\"]\n";

fn parked(entry: &serde_json::Value) -> bool {
    entry["type"] == "runtime_session_parked"
}

#[test]
fn what_has_nothing_to_do_is_parked_and_taken_up_by_the_next_message() {
    let world = World::with_settings("park_after_secs = 0\n");
    world.ok(&["say", "say one"]);
    world.wait_for_entry("shop-1", parked);
    let said = world.ok(&["say", "recall"]);
    assert!(said.stdout.contains("1. say one"), "{said}");
    let task = world.task("shop-1");
    let session = &task["executions"][0]["runtime_session"];
    assert_eq!((&session["epoch"], &session["reason"]), (&2.into(), &"first_use".into()), "{task:#}");
}

#[test]
fn who_left_something_running_is_not_parked_for_idleness() {
    let world = World::with_settings("park_after_secs = 0\n");
    world.ok(&["say", "spawn 600"]);
    // The next session's parking shows that the first one's time has come and gone.
    world.ok(&["say", "--new", "say two"]);
    world.wait_for_entry("shop-2", parked);
    let task = world.task("shop-1");
    assert_eq!(task["executions"][0]["runtime_session"]["phase"], "live", "{task:#}");
}

#[test]
fn under_the_cap_the_one_that_rested_longest_makes_room() {
    let world = World::with_settings("max_live_sessions = 1\n");
    world.ok(&["say", "say one"]);
    world.ok(&["say", "--new", "say two"]);
    let entry = world.wait_for_entry("shop-1", parked);
    assert!(entry["cause"].as_str().is_some_and(|cause| cause.contains("room")), "{entry:#}");
    let said = world.ok(&["say", "--task", "shop-1", "recall"]);
    assert!(said.stdout.contains("1. say one"), "{said}");
}

#[test]
fn another_model_stays_in_the_session_and_another_agent_takes_over_with_a_brief() {
    let world = World::with_settings(SECOND_AGENT);
    world.ok(&["say", "say one"]);
    world.ok(&["switch", "shop-1", "--model", "demo-large"]);
    let said = world.ok(&["say", "model"]);
    assert!(said.stdout.contains("demo-large"), "{said}");
    assert_eq!(world.task("shop-1")["executions"][0]["runtime_session"]["epoch"], 1, "no new session for that");
    let refused = world.fails(&["switch", "shop-1", "--model", "demo-huge"], 1, "model_unknown");
    assert!(refused.stderr.contains("demo-small, demo-large"), "{refused}");
    assert_eq!(world.task("shop-1")["executions"][0]["runtime_session"]["phase"], "live", "nor for that");
    world.ok(&["switch", "shop-1", "--agent", "second"]);
    let said = world.ok(&["say", "recall"]);
    assert!(said.stdout.contains("handoff.md"), "whoever has not seen the work gets a brief: {said}");
    let task = world.task("shop-1");
    let executions = task["executions"].as_array().expect("executions");
    assert_eq!(executions.len(), 2, "{task:#}");
    assert_eq!(executions[1]["runtime_session"]["reason"], "changed", "{task:#}");
    world.fails(&["switch", "shop-1", "--agent", "nobody"], 1, "agent_unknown");
    world.fails(&["switch", "shop-1"], 2, "usage");
}

#[test]
fn a_turn_that_is_not_heard_of_is_said_to_be_stalled_and_can_be_cancelled() {
    let world = World::with_settings("stall_after_secs = 0\n");
    world.ok(&["say", "--detach", "hang"]);
    world.wait_for_entry("shop-1", |entry| entry["type"] == "turn_stalled");
    let task = world.task("shop-1");
    let glance = task["glance"].as_str().unwrap_or_default();
    assert!(glance.contains("not been heard of"), "{task:#}");
    let status = world.ok(&["status", "shop-1"]);
    assert!(status.stdout.contains("not been heard of"), "{status}");
    world.ok(&["cancel", "shop-1"]);
    world.wait_for_entry("shop-1", |entry| entry["type"] == "turn_ended");
}

#[test]
fn an_agent_that_dies_again_and_again_is_left_to_rest_with_the_reason() {
    let world = World::new();
    for _ in 0..3 {
        world.fails(&["say", "crash"], 1, "turn_interrupted");
    }
    let refused = world.fails(&["say", "say anything"], 1, "crash_loop");
    assert!(refused.stderr.contains("three times"), "{refused}");
}

#[test]
fn a_new_daemon_says_that_it_goes_on_with_the_running_turn() {
    let world = World::new();
    world.ok(&["say", "--detach", "sleep 1500\nsay done"]);
    world.wait_for_entry("shop-1", |entry| entry["type"] == "turn_started");
    world.kill_daemon();
    world.wait_for_entry("shop-1", |entry| entry["type"] == "runtime_session_reattached");
    let ended = world.wait_for_entry("shop-1", |entry| entry["type"] == "turn_ended");
    assert_eq!(ended["outcome"], "completed", "{ended:#}");
}

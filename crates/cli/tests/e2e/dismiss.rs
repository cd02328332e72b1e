//! One agent of a task is dismissed: its process goes, nothing that it asked for is approved, and the task goes on with the
//! others, whatever happens to the daemon meanwhile.

use serde_json::Value;

use crate::support::World;

const REVIEWER: [&str; 6] = ["add", "shop-1", "--agent", "demo", "--role", "reviewer"];

fn ended(entry: &Value) -> bool {
    entry["type"] == "execution_ended" && entry["end"] == "cancelled"
}

fn activity(world: &World) -> Value {
    world.task("shop-1")["activity"]["word"].clone()
}

#[test]
fn a_reviewer_that_failed_is_dismissed_and_the_task_rests() {
    let world = World::new();
    world.ok(&["say", "say one"]);
    world.fails(&[&REVIEWER[..], &["fail"]].concat(), 1, "turn_failed");
    assert_eq!(activity(&world), "failed");
    // What failed can be run again, whoever it was.
    world.fails(&["retry", "shop-1"], 1, "turn_failed");
    let task = world.task("shop-1");
    assert_eq!((&task["executions"][0]["turns"], &task["executions"][1]["turns"]), (&1.into(), &2.into()), "{task:#}");
    // Nobody is left to do the work of the last editor.
    let refused = world.fails(&["dismiss", "shop-1", "--role", "editor"], 1, "last_execution");
    assert!(refused.stderr.contains("`tl switch shop-1 --agent A`"), "{refused}");
    let dismissed = world.ok(&["dismiss", "shop-1"]);
    assert_eq!(dismissed.stdout, "shop-1 *say one*: demo is dismissed as reviewer\n");
    assert_eq!(activity(&world), "resting");
    world.wait_for_keepers(1);
    let shown = world.ok(&["show", "shop-1"]);
    assert!(shown.stdout.contains("demo was dismissed"), "{shown}");
    world.fails(&["dismiss", "shop-1"], 1, "not_found");
    let said = world.ok(&["say", "recall"]);
    assert!(said.stdout.contains("1. say one"), "the editor goes on where it was: {said}");
    world.ok(&["locale", "zh"]);
    let shown = world.ok(&["show", "shop-1"]);
    assert!(shown.stdout.contains("demo 已被撤下"), "{shown}");
}

#[test]
fn who_waits_for_approval_is_dismissed_across_a_kill_and_never_gets_a_yes() {
    let world = World::new();
    world.ok(&["say", "say one"]);
    world.ok(&[&REVIEWER[..], &["--detach", "run touch /tmp/never; say done"]].concat());
    let approval = world.wait_for_approval("shop-1");
    let to_reviewer = ["say", "--detach", "--task", "shop-1", "--agent", "demo", "--role", "reviewer", "say later"];
    world.ok(&to_reviewer);
    let dismissed = world.ok(&["dismiss", "shop-1", "--role", "reviewer"]);
    world.kill_daemon();
    assert!(dismissed.stdout.contains("1 message that waited for it is taken back"), "{dismissed}");
    world.fails(&["approve", &approval], 1, "approval_settled");
    world.wait_for_entry("shop-1", ended);
    world.wait_for_keepers(1);
    let task = world.task("shop-1");
    let executions = task["executions"].as_array().expect("executions");
    assert_eq!((&executions[0]["ended"], &executions[1]["ended"]), (&Value::Null, &"cancelled".into()), "{task:#}");
    assert_eq!(executions[1]["last_turn"]["outcome"], "cancelled", "{task:#}");
    assert_eq!(executions[1]["turns"], 1, "what waited was taken back: {task:#}");
    let settled = world.wait_for_entry("shop-1", |entry| entry["type"] == "approval_settled");
    assert_eq!(settled["state"], "void", "{settled:#}");
    let said = world.ok(&["say", "recall"]);
    assert!(said.stdout.contains("1. say one"), "{said}");
    assert_eq!(world.task("shop-1")["executions"][0]["runtime_session"]["epoch"], 1);
}

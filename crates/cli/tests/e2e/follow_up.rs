//! The two bugs that Throughline exists to kill: a follow-up goes on in the same task and the same runtime
//! session, whatever happened to the daemon and to the agent's process in between.

use crate::support::World;
use serde_json::Value;

/// One task, one execution, one runtime session: gives the execution.
fn only_execution(world: &World) -> Value {
    assert_eq!(world.keys(), ["shop-1"]);
    let task = world.task("shop-1");
    let executions = task["executions"].as_array().expect("a list").clone();
    assert_eq!(executions.len(), 1, "{task:#}");
    executions[0].clone()
}

fn session_id(execution: &Value) -> String {
    let id = execution["runtime_session"]["id"].as_str();
    id.expect("a runtime session").to_owned()
}

/// How many runtime sessions were ever started for the task.
fn sessions_started(world: &World) -> usize {
    let shown = world.json(&["show", "shop-1", "--limit", "1000"]);
    let entries = shown["entries"].as_array().expect("a list").clone();
    let started = |entry: &&Value| entry["type"] == "runtime_session_started";
    entries.iter().filter(started).count()
}

/// Says something first, lets `between` happen, and checks that the follow-up knows of it.
fn keeps_context(between: impl FnOnce(&World)) -> World {
    let world = World::new();
    let said = world.ok(&["say", "plan a; b"]);
    assert!(said.stdout.contains("→ new task shop-1"), "{said}");
    let session = session_id(&only_execution(&world));
    between(&world);
    let said = world.ok(&["say", "recall"]);
    assert!(said.stdout.contains("→ continues *plan a; b* (shop-1) with demo"), "{said}");
    assert!(said.stdout.contains("plan a; b"), "{said}{}", world.log());
    let execution = only_execution(&world);
    assert_eq!(session_id(&execution), session);
    assert_eq!(sessions_started(&world), 1);
    world
}

fn turns(world: &World) -> u64 {
    only_execution(world)["turns"].as_u64().expect("a number")
}

#[test]
fn a_follow_up_keeps_its_context() {
    let world = keeps_context(|_| {});
    assert_eq!(turns(&world), 2);
}

#[test]
fn after_down_and_up() {
    let world = keeps_context(|world| {
        let down = world.ok(&["down"]);
        assert!(down.stdout.contains("one agent lives on"), "{down}");
        world.ok(&["up"]);
    });
    assert_eq!(turns(&world), 2);
}

#[test]
fn after_the_daemon_was_killed() {
    let world = keeps_context(World::kill_daemon);
    assert_eq!(turns(&world), 2);
}

#[test]
fn after_the_agent_crashed() {
    let world = keeps_context(|world| {
        let crashed = world.tl(&["say", "crash"]);
        crashed.has_failed(1, "turn_interrupted");
    });
    assert_eq!(turns(&world), 3);
}

#[test]
fn after_everything_was_stopped() {
    let world = keeps_context(|world| {
        world.ok(&["down", "--all"]);
        assert_eq!(world.keepers(), [0i32; 0], "nothing lives on");
    });
    assert_eq!(turns(&world), 2);
}

#[test]
fn after_the_task_was_closed_the_follow_up_reopens_it() {
    let world = keeps_context(|world| {
        world.ok(&["close", "shop-1"]);
        assert_eq!(world.task("shop-1")["lifecycle"], "closed");
    });
    assert_eq!(world.task("shop-1")["lifecycle"], "open");
}

#[test]
fn after_a_turn_failed() {
    let world = keeps_context(|world| {
        world.tl(&["say", "fail"]).has_failed(1, "turn_failed");
    });
    assert_eq!(turns(&world), 3);
}

#[test]
fn a_turn_that_runs_while_the_daemon_is_killed_is_seen_to_its_end() {
    let world = World::new();
    let mut said = world.start(&["say", "say before\nsleep 1500\nsay after"]);
    said.wait_for_line(|line| line.contains("before"));
    world.kill_daemon();
    said.wait_for_line(|line| line.contains("after"));
    let ran = said.finish();
    assert_eq!(ran.code, Some(0), "{ran}{}", world.log());
    assert_eq!(turns(&world), 1);
}

#[test]
fn fresh_drops_the_context_on_request_and_says_why() {
    let world = World::new();
    world.ok(&["say", "plan a; b"]);
    let before = session_id(&only_execution(&world));
    world.ok(&["fresh", "shop-1"]);
    let said = world.ok(&["say", "recall"]);
    let answer = said.stdout.lines().skip(1).collect::<Vec<_>>().join("\n");
    assert!(!answer.contains("1. plan a; b"), "{said}");
    let execution = only_execution(&world);
    assert_ne!(session_id(&execution), before);
    assert_eq!(execution["runtime_session"]["reason"], "requested");
    assert_eq!(sessions_started(&world), 2);
}

#[test]
fn a_closed_task_is_reopened_in_words_and_a_look_at_it_changes_nothing() {
    let world = World::new();
    for (number, words) in ["say one", "say two"].into_iter().enumerate() {
        world.ok(&["say", "--new", words]);
        world.ok(&["close", &format!("shop-{}", number + 1)]);
    }
    let lifecycle = |key: &str| world.task(key)["lifecycle"].clone();
    let looked = world.ok(&["say", "switch to shop-1"]);
    assert!(!looked.stdout.contains("open again"), "{looked}");
    assert_eq!(lifecycle("shop-1"), "closed");
    let reopened = world.ok(&["say", "reopen shop-1"]);
    assert!(reopened.stdout.ends_with("It is open again.\n"), "{reopened}");
    assert_eq!((lifecycle("shop-1"), lifecycle("shop-2")), ("open".into(), "closed".into()));
    assert_eq!(world.task("shop-1")["executions"][0]["turns"], 1, "no agent was woken");
    world.ok(&["locale", "zh"]);
    let reopened = world.ok(&["say", "重新打开 shop-2"]);
    assert!(reopened.stdout.ends_with("任务已重新打开。\n"), "{reopened}");
    assert_eq!(lifecycle("shop-2"), "open");
}

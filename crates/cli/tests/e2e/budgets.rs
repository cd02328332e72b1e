//! Budgets: a task that has used up what it may waits for a person, and a yes lets it go on.

use crate::support::World;

#[test]
fn a_task_that_used_up_its_turns_waits_for_a_yes() {
    let world = World::new();
    world.ok(&["say", "say one"]);
    assert!(world.ok(&["budget", "shop-1"]).stdout.contains("has no budget"));
    let set = world.ok(&["budget", "shop-1", "--turns", "1", "--minutes", "60"]);
    assert!(set.stdout.contains("turns    0 of 1"), "{set}");
    world.ok(&["say", "say two"]);
    let task = world.task("shop-1");
    assert_eq!(task["activity"]["word"], "waiting_answer", "{task:#}");
    let needs = world.ok(&["tasks", "--needs-me"]);
    assert!(needs.stdout.contains("The budget of 1 turns is used up."), "{needs}");
    world.ok(&["say", "--detach", "--task", "shop-1", "say three"]);
    assert_eq!(world.task("shop-1")["executions"][0]["turns"], 2, "it waits");
    // A budget is a row like any other.
    world.kill_daemon();
    let said = world.ok(&["say", "yes"]);
    assert!(said.stdout.contains("the budget is extended"), "{said}");
    world.wait_for_turns("shop-1", 3);
    assert_eq!(world.task("shop-1")["activity"]["word"], "waiting_answer", "it is used up again");
    world.ok(&["budget", "shop-1", "--off"]);
    world.fails(&["budget", "shop-1", "--extend"], 1, "question_settled");
    world.ok(&["say", "say four"]);
    assert_eq!(world.task("shop-1")["activity"]["word"], "resting");
    let shown = world.ok(&["show", "shop-1"]);
    assert!(shown.stdout.contains("the budget is used up: nothing starts until you say so"), "{shown}");
}

#[test]
fn a_budget_that_makes_no_sense_is_refused() {
    let world = World::new();
    world.ok(&["say", "say one"]);
    world.fails(&["budget", "shop-1", "--turns", "0"], 2, "usage");
    world.fails(&["budget", "shop-1", "--off", "--turns", "2"], 2, "usage");
    world.fails(&["budget", "shop-1", "--cost=-1"], 1, "invalid_body");
    world.fails(&["budget", "shop-1", "--minutes=0"], 1, "invalid_body");
    world.fails(&["budget", "nope-1"], 1, "not_found");
}

#[test]
fn time_that_runs_out_in_a_turn_pauses_it_and_a_new_budget_goes_on() {
    let world = World::new();
    world.ok(&["say", "say one"]);
    world.ok(&["budget", "shop-1", "--minutes", "0.01"]);
    world.ok(&["say", "--detach", "hang"]);
    let reached = world.wait_for_entry("shop-1", |entry| entry["type"] == "budget_reached");
    assert_eq!(reached["cap"], "minutes", "{reached:#}");
    let task = world.task("shop-1");
    assert_eq!(task["activity"]["word"], "waiting_answer", "{task:#}");
    assert_eq!(task["executions"][0]["last_turn"]["outcome"], "interrupted", "{task:#}");
    // It was stopped like any other turn: the session is the same, and so is the process.
    world.kill_daemon();
    world.ok(&["budget", "shop-1", "--minutes", "60"]);
    world.wait_for_turns("shop-1", 3);
    let after = world.task("shop-1");
    let said = after["executions"][0]["last_said"].as_str().unwrap_or_default().to_owned();
    assert!(said.contains("go on where you stopped"), "{after:#}");
    for path in ["/executions/0/runtime_session/id", "/executions/0/runtime_session/epoch"] {
        assert_eq!(after.pointer(path), task.pointer(path), "{path}: {after:#}");
    }
    assert_eq!(after["activity"]["word"], "resting", "{after:#}");
}

#[test]
fn tokens_and_cost_that_run_out_in_a_turn_pause_it() {
    for (cap, bound, lines, asked) in [
        ("tokens", "1000", "spend 500\nspend 1500\nhang", "1000 个 token 的预算已用完"),
        ("cost", "0.5", "spend 10 25\nspend 10 75\nhang", "费用 0.5 的预算已用完"),
    ] {
        let world = World::new();
        world.ok(&["say", "say one"]);
        world.ok(&["budget", "shop-1", &format!("--{cap}"), bound]);
        world.ok(&["say", "--detach", lines]);
        let reached = world.wait_for_entry("shop-1", |entry| entry["type"] == "budget_reached");
        assert_eq!(reached["cap"], cap, "{reached:#}");
        world.ok(&["locale", "zh"]);
        let needs = world.ok(&["tasks", "--needs-me"]);
        assert!(needs.stdout.contains(asked), "{needs}");
        world.ok(&["say", "好的"]);
        world.wait_for_turns("shop-1", 3);
    }
}

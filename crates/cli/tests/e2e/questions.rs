//! Questions in the middle of a turn: asked by a form, answered from anywhere, once.

use crate::support::World;

fn ask(world: &World, words: &str) {
    let said = world.ok(&["say", words]);
    assert!(said.stdout.contains("asks: Which colour?"), "{said}");
    assert!(said.stdout.contains("answer: tl answer shop-1 TEXT"), "{said}");
    let task = world.task("shop-1");
    assert_eq!(task["activity"]["word"], "waiting_answer", "{task:#}");
}

#[test]
fn what_is_said_to_a_task_that_waits_is_its_answer() {
    let world = World::new();
    ask(&world, "form Which colour?\nsay after");
    assert!(world.ok(&["tasks", "--needs-me"]).stdout.contains("Which colour?"));
    let said = world.ok(&["say", "green"]);
    assert!(said.stdout.contains("You answered “green” to “Which colour?”."), "{said}");
    assert!(said.stdout.contains("after"), "the same turn goes on: {said}");
    assert_eq!(world.task("shop-1")["executions"][0]["turns"], 1);
    let shown = world.ok(&["show", "shop-1"]);
    assert!(shown.stdout.contains(r#"answered: {"answer":"green"}"#), "{shown}");
    world.fails(&["answer", "shop-1", "late"], 1, "question_settled");
}

#[test]
fn a_question_survives_the_daemon_and_can_be_declined() {
    let world = World::new();
    ask(&world, "form Which colour?");
    world.kill_daemon();
    assert_eq!(world.task("shop-1")["executions"][0]["active_turn"]["question"]["message"], "Which colour?");
    world.ok(&["answer", "shop-1", "--decline"]);
    world.wait_for_turns("shop-1", 1);
    assert_eq!(world.task("shop-1")["executions"][0]["last_said"], "You did not answer “Which colour?”.");
}

#[test]
fn a_question_of_an_agent_that_is_gone_is_void() {
    let world = World::new();
    ask(&world, "form Which colour?");
    world.ok(&["cancel", "shop-1"]);
    world.wait_for_turns("shop-1", 1);
    let shown = world.ok(&["show", "shop-1"]);
    assert!(shown.stdout.contains("not answered: the turn is being stopped"), "{shown}");
    world.fails(&["answer", "shop-1", "green"], 1, "question_settled");
}

#[test]
fn a_named_task_gets_its_answer_and_an_empty_one_is_refused() {
    let world = World::new();
    ask(&world, "form Which colour?");
    world.fails(&["answer", "shop-1"], 2, "usage");
    let said = world.ok(&["say", "--task", "shop-1", "blue"]);
    assert!(said.stdout.contains("You answered “blue” to “Which colour?”."), "{said}");
}

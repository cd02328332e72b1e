//! What a reviewer found goes to the editor with the next message, once.

mod support;

use support::World;
use throughline_model::execution::Role;
use throughline_model::ids::{ExecutionId, TaskId, TurnId};
use throughline_model::task::{TaskCommand, TaskEvent};

impl World {
    /// What went along with the prompt that runs.
    fn carried(&self, task: TaskId) -> Vec<TurnId> {
        self.primary(task).prompt().expect("a prompt").findings.to_vec()
    }

    fn found(&self, task: TaskId, by: ExecutionId) -> Vec<TurnId> {
        let execution = self.task(task).execution(by).expect("it is there");
        execution.past.findings.iter().map(|finding| finding.turn).collect()
    }

    fn passed(&self) -> usize {
        self.count(|event| matches!(event, TaskEvent::FindingsPassed { .. }))
    }
}

#[test]
fn fix_what_it_found_is_one_message_in_any_language() {
    let mut world = World::new();
    let (task, reviewer) = world.reviewed();
    world.follow_up(task, "按它说的改");
    assert_eq!(world.carried(task), world.found(task, reviewer));
    world.answered(task);
    world.follow_up(task, "and now?");
    assert!(world.carried(task).is_empty(), "they go once");
    assert_eq!(world.passed(), 1);
    world.answered(task);
    world.review(task, reviewer, "One more thing.");
    world.follow_up(task, "that too");
    assert_eq!(world.carried(task), world.found(task, reviewer)[1..]);
}

#[test]
fn what_was_found_while_the_editor_worked_is_not_lost() {
    let mut world = World::new();
    let task = world.new_task("fix routing");
    world.opened(task);
    let reviewer = world.mint.id();
    let add =
        TaskCommand::AddExecution { execution: reviewer, agent: "cc".into(), role: Role::Reviewer, worktree: None };
    world.tell(task, add).expect("added");
    world.review(task, reviewer, "The lock is held too long.");
    assert!(world.primary(task).active.is_some(), "they work in parallel");
    world.answered(task);
    world.follow_up(task, "fix it");
    assert_eq!(world.carried(task).len(), 1);
}

#[test]
fn a_slash_command_carries_nothing_and_the_findings_wait() {
    let mut world = World::new();
    let (task, _) = world.reviewed();
    world.follow_up(task, "/compact");
    assert!(world.carried(task).is_empty());
    world.answered(task);
    world.follow_up(task, "fix it");
    assert_eq!(world.carried(task).len(), 1);
}

#[test]
fn whoever_takes_over_gets_what_nobody_has() {
    let mut world = World::new();
    let (task, _) = world.reviewed();
    let next = world.mint.id();
    let switch = |execution, agent: &str| TaskCommand::Switch { execution, agent: Some(agent.into()), model: None };
    world.tell(task, switch(next, "codex")).expect("nothing runs");
    world.follow_up(task, "fix it");
    world.opened(task);
    assert_eq!(world.carried(task).len(), 1);
    world.answered(task);
    let last = world.mint.id();
    world.tell(task, switch(last, "opencode")).expect("nothing runs");
    world.follow_up(task, "go on");
    world.opened(task);
    assert!(world.carried(task).is_empty(), "the brief tells what was done about them");
}

#[test]
fn a_reviewer_is_told_its_role_once_per_session_and_not_before_a_slash_command() {
    let mut world = World::new();
    let task = world.new_task_as("/review", Role::Reviewer);
    world.opened(task);
    let told = |world: &World| world.primary(task).prompt().expect("a prompt").role;
    assert_eq!(told(&world), None);
    world.answered(task);
    for expected in [Some(Role::Reviewer), None] {
        world.follow_up(task, "look at it");
        assert_eq!(told(&world), expected);
        world.answered(task);
    }
    world.tell(task, TaskCommand::Fresh).expect("nothing runs");
    world.follow_up(task, "again");
    assert_eq!(told(&world), Some(Role::Reviewer), "a new session has not heard it");
}

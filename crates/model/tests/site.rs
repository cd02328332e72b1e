//! What is done to a workspace itself: under the lease or not at all, once, and with a way back.

mod support;

use support::{World, broken};
use throughline_model::effect::Effect;
use throughline_model::execution::Activity;
use throughline_model::ids::{ChangeId, TaskId};
use throughline_model::rejection::Rejection;
use throughline_model::site::{ChangeKind, ChangePlan, ChangeResult};
use throughline_model::task::{TaskCommand, TaskEvent};

fn restore(world: &mut World, task: TaskId) -> Result<ChangeId, Rejection> {
    let (change, person) = (world.mint.id(), world.person);
    let kind = ChangeKind::Restore { tree: "then".into(), point: None };
    world.tell(task, TaskCommand::ChangeWorkspace { change, person, kind, execution: None }).map(|_| change)
}

fn plan(world: &mut World, task: TaskId, change: ChangeId, undo: &str) {
    let plan = ChangePlan { undo: undo.into(), target: "then".into(), commit: None, files: vec![] };
    world.tell(task, TaskCommand::PlanChange { change, plan }).expect("it is under way");
}

fn end(world: &mut World, task: TaskId, change: ChangeId, result: ChangeResult) {
    world.tell(task, TaskCommand::EndChange { change, result }).expect("it is under way");
}

#[test]
fn a_restore_waits_for_nobody() {
    let mut world = World::new();
    let task = world.rested();
    let other = world.new_task("another");
    let refused = restore(&mut world, task).expect_err("another task writes in the same root");
    assert_eq!(refused.code(), "workspace_busy");
    assert!(refused.to_string().contains("shop-2"), "{refused}");
    let refused = restore(&mut world, other).expect_err("its own turn runs");
    assert_eq!(refused.code(), "turn_running");
    assert_eq!(world.count(|event| matches!(event, TaskEvent::WorkspaceChangeBegun { .. })), 0, "nothing is recorded");
}

#[test]
fn turns_wait_for_a_restore_and_then_go_on() {
    let mut world = World::new();
    let task = world.rested();
    let change = restore(&mut world, task).expect("nothing runs");
    let wanted = Effect::ChangeWorkspace { task, change };
    assert_eq!(world.take_effects().iter().filter(|effect| **effect == wanted).count(), 1);
    let other = world.new_task("another");
    let waits = world.task(other).activity();
    assert!(matches!(&waits, Activity::Queued { reason } if reason.contains("restoring")), "{waits:?}");
    assert_eq!(restore(&mut world, task).expect_err("one at a time").code(), "workspace_busy");
    plan(&mut world, task, change, "now");
    end(&mut world, task, change, ChangeResult::Done { kept: vec![], notes: vec![] });
    assert_eq!(world.task(other).activity(), Activity::Working);
    assert_eq!(world.task(task).site.change, None);
}

#[test]
fn the_state_before_is_what_was_found_first_and_is_remembered() {
    let mut world = World::new();
    let task = world.rested();
    let change = restore(&mut world, task).expect("nothing runs");
    plan(&mut world, task, change, "now");
    plan(&mut world, task, change, "half way");
    end(&mut world, task, change, ChangeResult::Failed { failure: broken("restore_incomplete") });
    assert_eq!(world.task(task).site.undo.as_deref(), Some("now"), "half a restore can be undone too");
    let late = ChangeResult::Done { kept: vec![], notes: vec![] };
    let refused = world.tell(task, TaskCommand::EndChange { change, result: late }).expect_err("it is over");
    assert_eq!(refused.code(), "not_found");
}

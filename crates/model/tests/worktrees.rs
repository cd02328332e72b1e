//! Worktrees of executions: two of one task write at the same time, each in its own place; what was done apart is taken or
//! discarded without loss, and who takes over goes on there.

mod support;

use support::World;
use throughline_model::execution::{Activity, Role};
use throughline_model::ids::{ExecutionId, TaskId};
use throughline_model::input::{QueuedInput, Urgency};
use throughline_model::rejection::Rejection;
use throughline_model::runtime_session::{Parking, RuntimeDescription};
use throughline_model::site::{ChangeKind, ChangePlan, ChangeResult, Site, WorktreeSeed};
use throughline_model::task::{Lifecycle, Report, TaskCommand, TurnAnswer};
use throughline_model::turn::{StopReason, Usage};

const APART: &str = "/home/worktrees/shop-apart";

/// Adds an editor that works apart.
fn add_apart(world: &mut World, task: TaskId) -> ExecutionId {
    let execution = world.mint.id();
    let (change, person) = (world.mint.id(), world.person);
    let worktree = Some(WorktreeSeed { root: APART.into(), base: "base".into(), change, person });
    let add = TaskCommand::AddExecution { execution, agent: "cc".into(), role: Role::Editor, worktree };
    world.tell(task, add).expect("added");
    execution
}

fn own(world: &World, task: TaskId, execution: ExecutionId) -> &Site {
    world.task(task).site.own(execution).expect("a worktree")
}

/// What is being done to the worktree is done.
fn done(world: &mut World, task: TaskId, execution: ExecutionId) {
    let change = own(world, task, execution).change.as_ref().expect("a change").id;
    let plan = ChangePlan { undo: "before".into(), target: "after".into(), commit: None, files: vec![] };
    world.tell(task, TaskCommand::PlanChange { change, plan }).expect("planned");
    let result = ChangeResult::Done { kept: vec![], notes: vec![] };
    world.tell(task, TaskCommand::EndChange { change, result }).expect("ended");
}

fn say_to(world: &mut World, task: TaskId, execution: ExecutionId, text: &str) -> Result<(), Rejection> {
    let queued = QueuedInput {
        input: world.mint.id(),
        person: world.person,
        conversation: world.conversation,
        content: vec![throughline_model::content::ContentBlock::text(text)],
        at: throughline_model::time::Timestamp::from_millis(world.at),
    };
    let enqueue = TaskCommand::Enqueue { queued, execution: Some(execution), urgency: Urgency::InTurn };
    world.tell(task, enqueue).map(drop)
}

fn report(world: &mut World, task: TaskId, execution: ExecutionId, report: Report) {
    let session = world.task(task).execution(execution).and_then(|known| known.session.as_ref()).expect("a session");
    let (session, epoch) = (session.id, session.epoch);
    world.tell(task, TaskCommand::Report { session, epoch, report }).expect("current");
}

fn works(world: &mut World, task: TaskId, execution: ExecutionId) {
    let description = Box::new(RuntimeDescription::default());
    let opened = Report::Opened { native: format!("native-{execution}"), description, parking: Parking::default() };
    report(world, task, execution, opened);
}

fn answers(world: &mut World, task: TaskId, execution: ExecutionId) {
    let turn = world.task(task).execution(execution).and_then(|known| known.active.as_ref()).expect("a turn").id;
    let answer = TurnAnswer::Stopped { reason: StopReason::EndTurn };
    report(world, task, execution, Report::TurnAnswered { turn, answer, usage: Usage::default() });
}

/// A task whose second editor has worked apart, and rests.
fn rested_apart(world: &mut World) -> (TaskId, ExecutionId) {
    let task = world.rested();
    let execution = add_apart(world, task);
    done(world, task, execution);
    say_to(world, task, execution, "try redis").expect("taken");
    works(world, task, execution);
    answers(world, task, execution);
    (task, execution)
}

fn take(world: &mut World, task: TaskId, execution: ExecutionId) -> Result<(), Rejection> {
    let (change, person) = (world.mint.id(), world.person);
    let kind = ChangeKind::Take {
        fork: task,
        key: world.task(task).key.clone(),
        root: APART.into(),
        base: "base".into(),
        execution: Some(execution),
    };
    world.tell(task, TaskCommand::ChangeWorkspace { change, person, kind, execution: None }).map(drop)
}

#[test]
fn who_works_apart_waits_for_its_worktree_and_for_nobody_else() {
    let mut world = World::new();
    let task = world.rested();
    let execution = add_apart(&mut world, task);
    say_to(&mut world, task, execution, "try redis").expect("taken");
    let waits = world.task(task).execution(execution).map(|known| known.activity());
    assert!(matches!(&waits, Some(Activity::Queued { reason }) if reason.contains("preparing")), "{waits:?}");
    world.follow_up(task, "go on meanwhile");
    assert_eq!(world.primary(task).activity(), Activity::Working, "the task's own folder is free");
    done(&mut world, task, execution);
    let both: Vec<_> = world.task(task).executions.iter().map(|known| known.activity()).collect();
    assert_eq!(both, [Activity::Working, Activity::Working], "two write at once, each in its own place");
    assert_eq!(world.task(task).site_of(execution).root, APART);
    assert_ne!(world.task(task).workplace().root, APART, "the first one stays where it is");
    works(&mut world, task, execution);
    answers(&mut world, task, execution);
    say_to(&mut world, task, execution, "more").expect("taken");
    let again = world.task(task).execution(execution).map(|known| known.activity());
    assert_eq!(again, Some(Activity::Working), "its own lease was given back");
}

#[test]
fn what_was_done_apart_is_taken_into_the_tasks_folder_and_the_worktree_goes() {
    let mut world = World::new();
    let (task, execution) = rested_apart(&mut world);
    take(&mut world, task, execution).expect("nothing runs");
    let held = own(&world, task, execution).change.as_ref().map(|change| change.kind.clone());
    assert!(matches!(held, Some(ChangeKind::Yield { .. })), "it holds still meanwhile: {held:?}");
    world.change_done(task);
    assert_eq!(world.task(task).lifecycle, Lifecycle::Open, "the task goes on");
    assert_eq!(world.task(task).site.undo.as_deref(), Some("before"), "it can be undone");
    let removing = own(&world, task, execution).change.as_ref().map(|change| change.kind.clone());
    assert_eq!(removing, Some(ChangeKind::Remove {}));
    assert_eq!(say_to(&mut world, task, execution, "wait").expect_err("its folder goes").code(), "workspace_busy");
    world.follow_up(task, "the other one does not care");
    done(&mut world, task, execution);
    assert!(own(&world, task, execution).removed.is_some());
    say_to(&mut world, task, execution, "once more").expect("taken");
    let preparing = own(&world, task, execution).change.as_ref().map(|change| change.kind.clone());
    assert!(matches!(preparing, Some(ChangeKind::Prepare { tree, .. }) if tree == "after"), "all of it comes back");
}

#[test]
fn nothing_is_taken_or_discarded_while_it_works() {
    let mut world = World::new();
    let (task, execution) = rested_apart(&mut world);
    say_to(&mut world, task, execution, "more").expect("taken");
    assert_eq!(take(&mut world, task, execution).expect_err("it works").code(), "turn_running");
    assert_eq!(world.task(task).site.change, None, "nothing is left behind");
    let (change, person) = (world.mint.id(), world.person);
    let discard = TaskCommand::Discard { change, person, execution: Some(execution) };
    assert_eq!(world.tell(task, discard).expect_err("it works").code(), "turn_running");
}

#[test]
fn discarding_a_worktree_beside_the_task_leaves_the_task_open() {
    let mut world = World::new();
    let (task, execution) = rested_apart(&mut world);
    let (change, person) = (world.mint.id(), world.person);
    world.tell(task, TaskCommand::Discard { change, person, execution: None }).expect("it is the only one");
    assert_eq!(world.task(task).lifecycle, Lifecycle::Open);
    done(&mut world, task, execution);
    assert!(own(&world, task, execution).removed.is_some());
    assert!(world.task(task).site.removed.is_none());
}

#[test]
fn who_takes_over_goes_on_in_the_worktree() {
    let mut world = World::new();
    let (task, failed) = rested_apart(&mut world);
    let turn = world.task(task).execution(failed).and_then(|known| known.past.last.as_ref()).expect("a turn").id;
    let execution = world.mint.id();
    world.tell(task, TaskCommand::Replace { failed, turn, execution, agent: "codex".into() }).expect("replaced");
    assert_eq!(world.task(task).site_of(execution).root, APART);
    assert_eq!(world.task(task).site_of(failed).root, APART, "its turns happened there");
    assert_eq!(world.task(task).site.worktrees.len(), 1, "one place");
}

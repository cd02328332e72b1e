//! Forks: recorded in both timelines, not begun before their workspace is there, taken or discarded without loss.

mod support;

use support::{World, broken, open_failed};
use throughline_model::effect::Effect;
use throughline_model::execution::Activity;
use throughline_model::ids::TaskId;
use throughline_model::rejection::Rejection;
use throughline_model::runtime_session::{Parking, RuntimeDescription, StartReason};
use throughline_model::site::{ChangeKind, ChangeResult};
use throughline_model::task::{Lifecycle, NativeFate, Report, TaskCommand, TaskEvent};

fn starts(world: &mut World, task: TaskId) -> usize {
    let started = |effect: &Effect| matches!(effect, Effect::StartRuntime { process } if process.task == task);
    world.take_effects().iter().filter(|effect| started(effect)).count()
}

/// A fork that has worked, and rests.
fn rested_fork(world: &mut World, source: TaskId) -> TaskId {
    let fork = world.fork(source, None);
    world.change_done(fork);
    world.opened(fork);
    world.answered(fork);
    fork
}

fn take(world: &mut World, source: TaskId, fork: TaskId) -> Result<(), Rejection> {
    let (change, person) = (world.mint.id(), world.person);
    let root = world.task(fork).site.root.clone();
    let kind = ChangeKind::Take { fork, key: "shop-2".into(), root, base: "base".into(), execution: None };
    world.tell(source, TaskCommand::ChangeWorkspace { change, person, kind, execution: None }).map(drop)
}

#[test]
fn a_fork_is_in_both_timelines_and_waits_for_its_workspace() {
    let mut world = World::new();
    let source = world.rested();
    let fork = world.fork(source, None);
    let key = world.task(fork).key.clone();
    assert_eq!(world.count(|event| matches!(event, TaskEvent::ForkMade { fork: made, key: named, .. } if *made == fork && *named == key)), 1);
    assert_eq!(world.task(fork).site.fork.as_ref().map(|known| known.source), Some(source));
    assert_eq!(world.task(fork).notes, ["mind the gap"]);
    let waits = world.task(fork).activity();
    assert!(matches!(&waits, Activity::Queued { reason } if reason.contains("preparing")), "{waits:?}");
    assert_eq!(starts(&mut world, fork), 0, "no agent is started in a folder that is not there");
    world.follow_up(source, "go on meanwhile");
    assert_eq!(world.task(source).activity(), Activity::Working, "the source has its own workspace");
    world.change_done(fork);
    assert_eq!(starts(&mut world, fork), 1);
    assert_eq!(
        world.primary(fork).handoff.as_ref().and_then(|brief| brief.from),
        Some(source),
        "a brief tells of the source"
    );
}

#[test]
fn who_is_forked_natively_needs_no_brief_and_who_cannot_be_gets_it() {
    for native in [true, false] {
        let mut world = World::new();
        let source = world.rested();
        let fork = world.fork(source, Some("native-1"));
        world.change_done(fork);
        assert_eq!(world.primary(fork).next_start.fork.as_deref(), Some("native-1"));
        if native {
            let description =
                RuntimeDescription { forked_from: Some("native-1".into()), ..RuntimeDescription::default() };
            let opened = Report::Opened {
                native: "native-2".into(),
                description: Box::new(description),
                parking: Parking::default(),
            };
            world.report(fork, opened).expect("current");
        } else {
            world.report(fork, open_failed(NativeFate::Kept)).expect("current");
            assert_eq!(world.primary(fork).next_start.fork, None, "it is tried once");
            world.opened(fork);
            assert_eq!(world.start_reasons().last(), Some(&StartReason::FirstUse));
        }
        assert_eq!(world.primary(fork).handoff.is_none(), native);
        assert_eq!(world.task(fork).activity(), Activity::Working, "the first words are handed on either way");
    }
}

#[test]
fn a_take_holds_both_and_then_the_fork_is_closed_and_removed() {
    let mut world = World::new();
    let source = world.rested();
    let fork = rested_fork(&mut world, source);
    take(&mut world, source, fork).expect("nothing runs");
    let (change, person) = (world.person_change(), world.person);
    let refused = world.tell(fork, TaskCommand::Discard { change, person, execution: None });
    assert_eq!(refused.expect_err("it holds still").code(), "workspace_busy");
    world.change_done(source);
    assert_eq!(world.task(source).site.undo.as_deref(), Some("before"));
    assert_eq!(world.task(fork).lifecycle, Lifecycle::Closed);
    let removing = world.task(fork).site.change.as_ref().map(|change| change.kind.clone());
    assert_eq!(removing, Some(ChangeKind::Remove {}));
    world.change_done(fork);
    assert_eq!(world.task(fork).site.removed.as_ref().map(|removed| removed.tree.as_str()), Some("after"));
    assert_eq!(take(&mut world, source, fork).expect_err("its folder is gone").code(), "workspace_gone");
}

#[test]
fn a_take_is_refused_while_the_fork_works_and_a_conflict_leaves_both_as_they_are() {
    let mut world = World::new();
    let source = world.rested();
    let fork = rested_fork(&mut world, source);
    world.follow_up(fork, "more");
    assert_eq!(take(&mut world, source, fork).expect_err("the fork works").code(), "turn_running");
    assert_eq!(world.task(source).site.change, None, "nothing is left behind");
    world.answered(fork);
    take(&mut world, source, fork).expect("nothing runs");
    let change = world.task(source).site.change.as_ref().expect("a change").id;
    let result = ChangeResult::Failed { failure: broken("take_conflict") };
    world.tell(source, TaskCommand::EndChange { change, result }).expect("ended");
    assert_eq!((world.task(fork).lifecycle, &world.task(fork).site.change), (Lifecycle::Open, &None));
    world.follow_up(fork, "try again");
    assert_eq!(world.task(fork).activity(), Activity::Working, "both workspaces are free again");
}

#[test]
fn a_discarded_fork_comes_back_with_its_files_when_something_is_said_to_it() {
    let mut world = World::new();
    let source = world.rested();
    let person = world.person;
    let change = world.person_change();
    let refused =
        world.tell(source, TaskCommand::Discard { change, person, execution: None }).expect_err("it is no fork");
    assert_eq!(refused.code(), "not_a_fork");
    let fork = rested_fork(&mut world, source);
    let change = world.person_change();
    world.tell(fork, TaskCommand::Discard { change, person, execution: None }).expect("nothing runs");
    assert_eq!(world.task(fork).lifecycle, Lifecycle::Closed);
    assert_eq!(world.tell(fork, TaskCommand::Reopen).expect_err("it is being removed").code(), "workspace_busy");
    world.change_done(fork);
    world.follow_up(fork, "one more thing");
    let preparing = world.task(fork).site.change.as_ref().map(|change| change.kind.clone());
    assert!(matches!(preparing, Some(ChangeKind::Prepare { tree, .. }) if tree == "after"));
    assert!(matches!(world.task(fork).activity(), Activity::Queued { .. }));
    world.change_done(fork);
    assert_eq!(world.task(fork).site.removed, None);
    assert_eq!(world.task(fork).activity(), Activity::Working);
}

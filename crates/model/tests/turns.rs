//! Queue, lease, interruption, withdrawal, retry, and every way in which a turn ends.

mod support;

use support::{World, broken};
use throughline_model::effect::Effect;
use throughline_model::execution::{Activity, Role};
use throughline_model::input::Urgency;
use throughline_model::route::Intent;
use throughline_model::task::{Lifecycle, Report, TaskCommand, TaskEvent, TurnAnswer};
use throughline_model::turn::{StopReason, TurnOutcome, TurnStage};

fn prompts(world: &mut World) -> usize {
    world.take_effects().iter().filter(|effect| matches!(effect, Effect::PromptAgent { .. })).count()
}

#[test]
fn what_is_said_while_it_works_waits_and_is_dispatched_in_order() {
    let mut world = World::new();
    let task = world.new_task("one");
    world.opened(task);
    let two = world.follow_up(task, "two");
    let three = world.follow_up(task, "three");
    assert_eq!(world.primary(task).queue.len(), 2);
    world.answered(task);
    assert_eq!(world.primary(task).active.as_ref().map(|turn| turn.input.input), Some(two));
    world.answered(task);
    assert_eq!(world.primary(task).active.as_ref().map(|turn| turn.input.input), Some(three));
    world.answered(task);
    assert_eq!(world.primary(task).past.turns, 3);
    assert_eq!(prompts(&mut world), 3, "each prompt is handed on once");
}

#[test]
fn an_interruption_stops_what_runs_and_goes_first() {
    let mut world = World::new();
    let task = world.new_task("one");
    world.opened(task);
    world.follow_up(task, "two");
    let urgent =
        world.receive(Intent::Continue { task, execution: None }, None, "wait!", Urgency::Interrupt).expect("taken");
    assert!(world.take_effects().iter().any(|effect| matches!(effect, Effect::CancelTurn { .. })));
    world.answer(task, TurnAnswer::Stopped { reason: StopReason::Cancelled });
    assert_eq!(world.primary(task).active.as_ref().map(|turn| turn.input.input), Some(urgent));
    let last = world.primary(task).past.last.clone().expect("ended");
    assert!(matches!(last.outcome, TurnOutcome::Interrupted { .. }));
}

#[test]
fn an_input_can_be_withdrawn_until_the_agent_has_it() {
    let mut world = World::new();
    let task = world.new_task("one");
    let first = world.primary(task).active.as_ref().expect("a turn").input.input;
    world.tell(task, TaskCommand::Withdraw { input: first }).expect("its session is not open yet");
    assert!(world.primary(task).active.is_none());
    world.opened(task);
    world.follow_up(task, "two");
    let three = world.follow_up(task, "three");
    world.tell(task, TaskCommand::Withdraw { input: three }).expect("it waits");
    assert!(world.primary(task).queue.is_empty());
    let two = world.primary(task).active.as_ref().expect("a turn").input.input;
    let refused = world.tell(task, TaskCommand::Withdraw { input: two }).expect_err("the agent has it");
    assert_eq!(refused.code(), "input_gone");
}

#[test]
fn one_writing_turn_at_a_time_per_root() {
    let mut world = World::new();
    let first = world.new_task("one");
    let second = world.new_task("two");
    let waits = world.task(second).activity();
    assert!(matches!(&waits, Activity::Queued { reason } if reason.contains("shop-1")), "{waits:?}");
    assert_eq!(world.sessions_started(), 1, "nothing is started for a turn that waits");
    world.opened(first);
    world.answered(first);
    assert_eq!(world.primary(second).active.as_ref().map(|turn| turn.stage.clone()), Some(TurnStage::AwaitingSession));
    world.opened(second);
    world.answered(second);
    assert_eq!(world.task(second).activity(), Activity::Resting);
}

#[test]
fn who_only_reads_does_not_wait() {
    let mut world = World::new();
    let writer = world.new_task("one");
    world.opened(writer);
    let reader = world.new_task_as("review it", Role::Reviewer);
    assert_eq!(world.primary(reader).active.as_ref().map(|turn| turn.stage.clone()), Some(TurnStage::AwaitingSession));
}

#[test]
fn a_turn_that_gives_up_waiting_frees_nobody_elses_lease() {
    let mut world = World::new();
    let first = world.new_task("one");
    let second = world.new_task("two");
    let third = world.new_task("three");
    world.tell(second, TaskCommand::Cancel).expect("it waits");
    assert!(matches!(world.task(third).activity(), Activity::Queued { .. }));
    world.opened(first);
    world.answered(first);
    assert_eq!(world.task(third).activity(), Activity::Working);
}

#[test]
fn an_agent_that_does_not_stop_loses_its_process_and_not_its_session() {
    let mut world = World::new();
    let task = world.new_task("hang");
    world.opened(task);
    let turn = world.running_turn(task);
    world.tell(task, TaskCommand::Cancel).expect("it runs");
    let timer = world.take_effects().into_iter().find(|effect| matches!(effect, Effect::Later { .. }));
    let Some(Effect::Later { command, to, .. }) = timer else { panic!("a timer") };
    world.send(to, *command).expect("due");
    let last = world.primary(task).past.last.clone().expect("ended");
    assert_eq!((last.id, last.outcome), (turn, TurnOutcome::Cancelled));
    assert!(world.take_effects().iter().any(|effect| matches!(effect, Effect::StopRuntime { .. })));
    world.follow_up(task, "go on");
    assert_eq!(world.sessions_started(), 1);
}

#[test]
fn a_cancel_that_is_answered_forgets_its_timer() {
    let mut world = World::new();
    let task = world.new_task("hang");
    world.opened(task);
    world.tell(task, TaskCommand::Cancel).expect("it runs");
    world.answer(task, TurnAnswer::Stopped { reason: StopReason::EndTurn });
    assert!(world.take_effects().iter().any(|effect| matches!(effect, Effect::Forget { .. })));
    let last = world.primary(task).past.last.clone().expect("ended");
    assert_eq!(last.outcome, TurnOutcome::Cancelled, "whatever the agent calls it, the person stopped it");
}

#[test]
fn retry_runs_the_last_input_again_as_a_new_turn() {
    let mut world = World::new();
    let task = world.new_task("fix");
    world.opened(task);
    world.answer(task, TurnAnswer::Failed { failure: broken("turn_failed") });
    assert!(matches!(world.task(task).activity(), Activity::Failed { .. }));
    let failed = world.primary(task).past.last.clone().expect("a turn");
    let person = world.person;
    world.tell(task, TaskCommand::Retry { person, execution: None }).expect("nothing runs");
    let again = world.primary(task).active.clone().expect("a turn");
    assert_ne!(again.id, failed.id);
    assert_eq!(again.input.content, failed.input.content);
    assert_eq!(
        world.count(|event| matches!(event, TaskEvent::TurnRequested { retry_of: Some(of), .. } if *of == failed.id)),
        1
    );
}

#[test]
fn a_limit_or_a_login_blocks_instead_of_failing() {
    let mut world = World::new();
    let task = world.new_task("fix");
    world.opened(task);
    world.answer(task, TurnAnswer::Failed { failure: broken("usage_limit") });
    assert!(matches!(world.task(task).activity(), Activity::Blocked { .. }));
}

#[test]
fn a_prompt_of_which_nobody_knows_is_never_sent_again() {
    let mut world = World::new();
    let task = world.new_task("fix");
    world.opened(task);
    let turn = world.running_turn(task);
    world.report(task, Report::PromptUnknown { turn, cause: "the keeper died".into() }).expect("current");
    assert_eq!(prompts(&mut world), 1);
    assert!(matches!(
        world.primary(task).past.last.as_ref().map(|turn| &turn.outcome),
        Some(TurnOutcome::Unknown { .. })
    ));
}

#[test]
fn a_closed_task_is_reopened_by_any_follow_up() {
    let mut world = World::new();
    let task = world.rested();
    let person = world.person;
    world.tell(task, TaskCommand::Close { person }).expect("closed");
    assert_eq!(world.task(task).lifecycle, Lifecycle::Closed);
    world.follow_up(task, "one more thing");
    assert_eq!(world.task(task).lifecycle, Lifecycle::Open);
}

#[test]
fn a_full_queue_refuses_and_changes_nothing() {
    let mut world = World::new();
    let task = world.new_task("one");
    for count in 0..100 {
        world.follow_up(task, &format!("more {count}"));
    }
    let before = world.log.len();
    let intent = Intent::Continue { task, execution: None };
    let refused = world.receive(intent, None, "too much", Urgency::InTurn).expect_err("full");
    assert_eq!(refused.code(), "queue_full");
    assert_eq!(world.log.len(), before, "not even the input is taken");
}

#[test]
fn use_cc_to_review_it_too_is_a_second_execution_that_replaces_nothing() {
    let mut world = World::new();
    let task = world.rested();
    world.follow_up(task, "more");
    let execution = world.mint.id();
    world
        .tell(
            task,
            TaskCommand::AddExecution { execution, agent: "claude-code".into(), role: Role::Reviewer, worktree: None },
        )
        .expect("added");
    let intent = Intent::Continue { task, execution: Some(execution) };
    world.receive(intent, None, "review it", Urgency::InTurn).expect("taken");
    let state = world.task(task);
    assert_eq!(state.executions.len(), 2);
    assert!(state.executions.iter().all(|execution| execution.active.is_some()), "both are at work");
    assert_ne!(world.primary(task).id, execution);
}

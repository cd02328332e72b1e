//! A message that was meant for another task goes there, whatever had become of it, and both records say so.

mod support;

use support::World;
use throughline_model::event::Event;
use throughline_model::ids::{InputId, TaskId};
use throughline_model::rejection::Rejection;
use throughline_model::stream::StreamId;
use throughline_model::task::{Lifecycle, TaskEvent};

/// The moves that a task's record has, as words.
fn moves(world: &World, task: TaskId) -> Vec<&'static str> {
    let of_task = world.log.iter().filter(|(stream, ..)| *stream == StreamId::Task(task));
    of_task
        .filter_map(|(_, event, _)| match event {
            Event::Task(TaskEvent::InputMovedOut { .. }) => Some("out"),
            Event::Task(TaskEvent::InputMovedIn { .. }) => Some("in"),
            _ => None,
        })
        .collect()
}

fn has(world: &World, task: TaskId, input: InputId) -> bool {
    let primary = world.primary(task);
    let active = primary.active.as_ref().is_some_and(|active| active.input.input == input);
    active || primary.queue.iter().any(|queued| queued.input == input)
}

#[test]
fn one_that_waits_just_goes() {
    let mut world = World::new();
    let (wrong, right) = (world.rested(), world.rested());
    world.follow_up(wrong, "first");
    let input = world.follow_up(wrong, "second");
    world.correct(input, Some(wrong), right, false).expect("nobody works on it");
    assert!(!has(&world, wrong, input) && has(&world, right, input));
    assert_eq!((moves(&world, wrong), moves(&world, right)), (vec!["out"], vec!["in"]));
}

#[test]
fn one_that_an_agent_works_on_moves_only_with_consent() {
    let mut world = World::new();
    let (wrong, right) = (world.rested(), world.rested());
    let input = world.follow_up(wrong, "oops");
    let before = world.log.len();
    let refused = world.correct(input, Some(wrong), right, false).expect_err("it runs");
    assert_eq!((refused, world.log.len()), (Rejection::NeedsConsent, before));
    world.correct(input, Some(wrong), right, true).expect("agreed");
    assert!(world.primary(wrong).active.as_ref().is_some_and(|turn| turn.stopping.is_some()), "it is asked to stop");
    assert!(has(&world, right, input));
}

#[test]
fn one_whose_turn_is_over_is_queued_anew() {
    let mut world = World::new();
    let (wrong, right) = (world.rested(), world.rested());
    let input = world.follow_up(wrong, "oops");
    world.answered(wrong);
    world.correct(input, Some(wrong), right, false).expect("it is over");
    assert!(has(&world, right, input));
    assert_eq!((moves(&world, wrong), moves(&world, right)), (vec!["out"], vec!["in"]));
    assert_eq!(world.task(wrong).lifecycle, Lifecycle::Open, "it has work of its own");
}

#[test]
fn a_task_that_was_started_by_it_is_closed() {
    let mut world = World::new();
    let right = world.rested();
    let wrong = world.new_task("make the button green");
    let input = world.started_by(wrong).expect("it was given one");
    world.correct(input, Some(wrong), right, true).expect("agreed");
    assert_eq!(world.task(wrong).lifecycle, Lifecycle::Closed);
    assert!(has(&world, right, input));
}

#[test]
fn one_that_was_only_asked_about_comes_from_nowhere() {
    let mut world = World::new();
    let right = world.rested();
    let input = world.mint.id();
    world.correct(input, None, right, false).expect("taken");
    assert_eq!(moves(&world, right), ["in"]);
    assert!(has(&world, right, input));
}

#[test]
fn where_it_is_already_nothing_happens() {
    let mut world = World::new();
    let task = world.rested();
    let input = world.follow_up(task, "right here");
    assert_eq!(world.correct(input, Some(task), task, true).expect("fine"), vec![]);
}

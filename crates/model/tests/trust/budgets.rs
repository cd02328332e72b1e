//! Budgets: what is used up is asked about; a turn is stopped cleanly and goes on when the person says so.

use crate::support::World;
use throughline_model::budget::{Budget, Cap, Caps};
use throughline_model::command::Command;
use throughline_model::content::plain_text;
use throughline_model::effect::Effect;
use throughline_model::event::Event;
use throughline_model::execution::{Activity, Role};
use throughline_model::ids::TaskId;
use throughline_model::input::Urgency;
use throughline_model::present::{self, Locale};
use throughline_model::rejection::Rejection;
use throughline_model::route::Intent;
use throughline_model::task::{Report, TaskCommand, TaskEvent, TurnAnswer};
use throughline_model::time::Timestamp;
use throughline_model::turn::{StopReason, StopWish, TurnOutcome, Usage};

const MINUTE: Caps = Caps { turns: None, minutes: Some(1.0), tokens: None, cost: None };

/// A task whose turn runs under these caps.
fn working(caps: Caps) -> (World, TaskId) {
    let mut world = World::new();
    let task = world.new_task("paint it");
    let by = world.person;
    world.tell(task, TaskCommand::SetBudget { caps, by }).expect("set");
    world.opened(task);
    (world, task)
}

/// When the time is to be looked at, as the last timer says; none if it was dropped.
fn timer(world: &World) -> Option<i64> {
    let newest = world.effects.iter().rev();
    let mut timers = newest.filter_map(|effect| match effect {
        Effect::Later { timer, at, command, .. } if timer.starts_with("budget:") => {
            assert_eq!(**command, Command::Task(TaskCommand::CheckTime));
            Some(Some(at.millis()))
        }
        Effect::Forget { timer } if timer.starts_with("budget:") => Some(None),
        _ => None,
    });
    timers.next().flatten()
}

fn look_at_the_clock(world: &mut World, task: TaskId, millis: i64) -> Vec<Event> {
    // A command takes ten milliseconds here.
    world.at = millis - 10;
    world.tell(task, TaskCommand::CheckTime).expect("it can always be asked")
}

fn stopped(events: &[Event]) -> Vec<StopWish> {
    let wish = |event: &Event| match event {
        Event::Task(TaskEvent::TurnStopRequested { wish, .. }) => Some(*wish),
        _ => None,
    };
    events.iter().filter_map(wish).collect()
}

fn cancelled(world: &mut World, task: TaskId) {
    world.answer(task, TurnAnswer::Stopped { reason: StopReason::Cancelled });
}

fn used(world: &mut World, task: TaskId, usage: Usage) -> Vec<Event> {
    world.report(task, Report::Used(Box::new(usage))).expect("current")
}

fn waits(world: &World, task: TaskId) -> bool {
    world.task(task).activity() == Activity::WaitingAnswer
}

#[test]
fn time_that_runs_out_in_a_turn_stops_it_and_asks() {
    let (mut world, task) = working(MINUTE);
    let started = world.primary(task).active.as_ref().and_then(|active| active.started_at).expect("it runs").millis();
    assert_eq!(timer(&world), Some(started + 60_000));
    assert!(
        look_at_the_clock(&mut world, task, started + 59_999).is_empty(),
        "a timer that comes early changes nothing"
    );
    world.take_effects();
    let events = look_at_the_clock(&mut world, task, started + 60_000);
    assert_eq!(stopped(&events), [StopWish::Budget { cap: Cap::Minutes }]);
    assert!(
        world.effects.iter().any(|effect| matches!(effect, Effect::CancelTurn { .. })),
        "the agent is asked to stop"
    );
    assert!(look_at_the_clock(&mut world, task, started + 60_010).is_empty(), "once");
    assert!(!waits(&world, task), "nobody is asked while it stops");
    world.follow_up(task, "and then blue");
    cancelled(&mut world, task);
    assert!(waits(&world, task));
    let last = world.primary(task).past.last.clone().expect("a turn");
    assert_eq!(last.outcome, TurnOutcome::Interrupted { cause: "the budget was used up".into() });
    assert_eq!(timer(&world), None);
    assert!(world.primary(task).active.is_none(), "what waits waits");
    assert!(present::glance(Locale::Zh, world.task(task)).contains("1 分钟 的预算已用完。要再用同样多继续吗？"));
    assert!(present::glance(Locale::En, world.task(task)).contains("The budget of 1 minutes is used up. Go on"));
}

#[test]
fn a_stopped_turn_goes_on_as_a_new_one_and_never_with_the_old_prompt() {
    let (mut world, task) = working(MINUTE);
    let session = world.primary(task).session.as_ref().map(|session| session.id);
    look_at_the_clock(&mut world, task, 100_000);
    cancelled(&mut world, task);
    let by = world.person;
    world.tell(task, TaskCommand::ExtendBudget { by }).expect("it waits");
    let active = world.primary(task).active.clone().expect("it goes on");
    assert!(plain_text(&active.input.content).contains("go on where you stopped"));
    assert_eq!(world.primary(task).session.as_ref().map(|session| session.id), session);
    assert_eq!(world.tell(task, TaskCommand::ExtendBudget { by }).err(), Some(Rejection::QuestionSettled));
    world.answered(task);
    assert_eq!(world.task(task).activity(), Activity::Resting);
}

#[test]
fn who_said_something_meanwhile_has_said_how_to_go_on() {
    let (mut world, task) = working(MINUTE);
    look_at_the_clock(&mut world, task, 100_000);
    cancelled(&mut world, task);
    world.follow_up(task, "no, do it in blue");
    let by = world.person;
    world.tell(task, TaskCommand::ExtendBudget { by }).expect("it waits");
    let active = world.primary(task).active.clone().expect("it goes on");
    assert_eq!(plain_text(&active.input.content), "no, do it in blue");
    assert!(world.primary(task).queue.is_empty());
}

#[test]
fn tokens_and_cost_stop_a_turn_as_soon_as_they_are_reported() {
    let tokens = |tokens| Usage { context_tokens: Some(tokens), ..Usage::default() };
    let cost = |cost: &str| Usage { cost: Some(cost.into()), ..Usage::default() };
    let (mut world, task) = working(Caps { tokens: Some(100), ..Caps::default() });
    assert!(used(&mut world, task, tokens(99)).is_empty(), "it is no event");
    assert_eq!(stopped(&used(&mut world, task, tokens(100))), [StopWish::Budget { cap: Cap::Tokens }]);
    // An agent that says less in the end was stopped all the same.
    cancelled(&mut world, task);
    assert!(waits(&world, task));
    assert!(used(&mut world, task, tokens(500)).is_empty(), "nothing runs");

    let (mut world, task) = working(Caps { cost: Some(0.5), turns: Some(1), ..Caps::default() });
    assert!(used(&mut world, task, cost("0.49 USD")).is_empty());
    assert_eq!(stopped(&used(&mut world, task, cost("0.50 USD"))), [StopWish::Budget { cap: Cap::Cost }]);
    world.report(task, Report::Exited { cause: "signal 9".into() }).expect("current");
    assert!(waits(&world, task), "a process that dies of it is asked about, too");
    assert!(world.primary(task).past.last_said.starts_with("The budget of a cost of 0.5 is used up."));
}

#[test]
fn a_task_without_a_budget_has_no_timer_and_is_never_stopped() {
    let mut world = World::new();
    let task = world.new_task("paint it");
    world.opened(task);
    let much = Usage { total_tokens: Some(u64::MAX), cost: Some("1000000 USD".into()), ..Usage::default() };
    assert!(used(&mut world, task, much).is_empty());
    assert!(look_at_the_clock(&mut world, task, i64::from(i32::MAX)).is_empty());
    world.answered(task);
    assert!(!world.effects.iter().any(|effect| effect.key().starts_with("timer:budget:")));
}

#[test]
fn a_budget_that_is_set_in_a_turn_counts_from_then() {
    let mut world = World::new();
    let task = world.new_task("paint it");
    world.opened(task);
    world.at += 50_000;
    let by = world.person;
    world.tell(task, TaskCommand::SetBudget { caps: MINUTE, by }).expect("set");
    let set = world.at;
    assert_eq!(timer(&world), Some(set + 60_000));
    world.at = set + 20_000 - 10;
    world.answered(task);
    assert_eq!(world.task(task).budget.used.millis, 20_000);
    assert_eq!(timer(&world), None, "nothing runs");
    world.follow_up(task, "again");
    assert_eq!(timer(&world), Some(world.at + 40_000), "what was used is used");
    world.tell(task, TaskCommand::SetBudget { caps: Caps::default(), by }).expect("set");
    assert_eq!(timer(&world), None);
}

#[test]
fn turns_that_run_side_by_side_share_the_time() {
    let (mut world, task) = working(MINUTE);
    let started = world.at;
    let (execution, agent) = (world.mint.id(), "demo".to_owned());
    world
        .tell(task, TaskCommand::AddExecution { execution, agent, role: Role::Reviewer, worktree: None })
        .expect("it joins");
    world.at = started + 10_000 - 10;
    let input = world.mint.id();
    let queued = throughline_model::input::QueuedInput {
        input,
        person: world.person,
        conversation: world.conversation,
        content: vec![throughline_model::content::ContentBlock::text("look at it")],
        at: Timestamp::from_millis(world.at),
    };
    let urgency = Urgency::InTurn;
    world.tell(task, TaskCommand::Enqueue { queued, execution: Some(execution), urgency }).expect("taken");
    let known = world.task(task).execution(execution).and_then(|known| known.session.as_ref()).expect("a session");
    let (session, epoch) = (known.id, known.epoch);
    let (native, description) = ("n".into(), Box::default());
    let report =
        Report::Opened { native, description, parking: throughline_model::runtime_session::Parking::default() };
    world.tell(task, TaskCommand::Report { session, epoch, report }).expect("current");
    let second = world.at;
    assert_eq!(timer(&world), Some(second + (60_000 - (second - started)) / 2), "half of what is left, each");
    let end = timer(&world).expect("a timer");
    assert!(look_at_the_clock(&mut world, task, end - 1).is_empty());
    assert_eq!(stopped(&look_at_the_clock(&mut world, task, end)).len(), 2);
}

#[test]
fn a_new_budget_while_a_turn_stops_lets_it_go_on_without_a_question() {
    let (mut world, task) = working(MINUTE);
    look_at_the_clock(&mut world, task, 100_000);
    let by = world.person;
    world.tell(task, TaskCommand::SetBudget { caps: Caps { minutes: Some(5.0), ..MINUTE }, by }).expect("set");
    cancelled(&mut world, task);
    assert!(!waits(&world, task));
    let active = world.primary(task).active.clone().expect("it goes on");
    assert!(plain_text(&active.input.content).contains("go on where you stopped"));
}

#[test]
fn a_yes_extends_what_is_used_up_and_other_words_wait() {
    let (mut world, task) = working(Caps { turns: Some(1), ..Caps::default() });
    let by = world.person;
    let same = world.task(task).budget.caps;
    assert_eq!(world.tell(task, TaskCommand::SetBudget { caps: same, by }), Ok(vec![]), "nothing changes");
    let say = |world: &mut World, words: &str| {
        let intent = Intent::Answer { task, execution: None };
        world.receive(intent, None, words, Urgency::InTurn).expect("taken");
    };
    say(&mut world, "yes");
    assert_eq!(world.primary(task).queue.len(), 1, "nothing is used up: it is a message");
    world.answered(task);
    assert!(waits(&world, task));
    assert_eq!(world.task(task).budget.reached, Some(Cap::Turns));
    say(&mut world, "what for?");
    assert_eq!(world.primary(task).queue.len(), 2, "it waits");
    say(&mut world, " Yes. ");
    assert_eq!((world.task(task).budget.reached, world.task(task).budget.used.turns), (None, 0));
    assert_eq!(world.primary(task).queue.len(), 1, "the first of them goes on");
}

#[test]
fn each_cap_is_asked_about_in_words_and_in_both_languages() {
    let caps = Caps { turns: Some(3), minutes: Some(2.5), tokens: Some(900), cost: Some(0.5) };
    let budget = Budget { caps, ..Budget::default() };
    for (cap, en, zh) in [
        (Cap::Turns, "of 3 turns is", "3 轮 的"),
        (Cap::Minutes, "of 2.5 minutes is", "2.5 分钟 的"),
        (Cap::Tokens, "of 900 tokens is", "900 个 token 的"),
        (Cap::Cost, "of a cost of 0.5 is", "费用 0.5 的"),
    ] {
        let spent = budget.spent(cap);
        assert!(spent.question(Locale::En).contains(en), "{}", spent.question(Locale::En));
        assert!(spent.question(Locale::Zh).contains(zh), "{}", spent.question(Locale::Zh));
    }
}

#[test]
fn whole_minutes_are_written_as_they_always_were() {
    let written = |minutes| serde_json::to_string(&Caps { minutes, ..Caps::default() }).expect("json");
    assert_eq!(written(Some(5.0)), r#"{"turns":null,"minutes":5,"tokens":null,"cost":null}"#);
    assert_eq!(written(Some(0.5)), r#"{"turns":null,"minutes":0.5,"tokens":null,"cost":null}"#);
    assert_eq!(written(None), r#"{"turns":null,"minutes":null,"tokens":null,"cost":null}"#);
    let read: Caps = serde_json::from_str(r#"{"minutes":5}"#).expect("what was written before");
    assert_eq!(read.minutes, Some(5.0));
}

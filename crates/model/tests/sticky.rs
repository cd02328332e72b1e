//! The runtime session is sticky: exactly four reasons start another one, and nothing else does (DESIGN §3.1–2).

mod support;

use support::{CHAT, World, broken, open_failed};
use throughline_model::effect::Effect;
use throughline_model::input::Urgency;
use throughline_model::route::Intent;
use throughline_model::runtime_session::{
    ResumeCause, RuntimeDescription, RuntimePhase, SettingChange, StartReason, Terms,
};
use throughline_model::task::{NativeFate, Report, TaskCommand, TaskEvent, TurnAnswer};
use throughline_model::turn::{StopReason, TurnOutcome};

/// After whatever happened, the next message goes to the same runtime session.
fn assert_sticks(mut world: World, task: throughline_model::ids::TaskId) {
    let before = world.primary(task).session.clone().expect("a session");
    world.follow_up(task, "make the button green");
    let after = world.primary(task).session.clone().expect("a session");
    assert_eq!(after.id, before.id);
    assert_eq!(after.native, before.native);
    assert_eq!(world.sessions_started(), 1);
    if after.phase == RuntimePhase::Starting {
        world.opened(task);
    }
    assert!(
        world.primary(task).active.as_ref().is_some_and(|turn| turn.started_at.is_some()),
        "the prompt is handed on"
    );
}

#[test]
fn completed_is_no_reason() {
    let mut world = World::new();
    let task = world.rested();
    assert_sticks(world, task);
}

#[test]
fn failed_is_no_reason() {
    let mut world = World::new();
    let task = world.new_task("fix");
    world.opened(task);
    world.answer(task, TurnAnswer::Failed { failure: broken("turn_failed") });
    assert_sticks(world, task);
}

#[test]
fn cancelled_is_no_reason() {
    let mut world = World::new();
    let task = world.new_task("fix");
    world.opened(task);
    world.tell(task, TaskCommand::Cancel).expect("a turn runs");
    world.answer(task, TurnAnswer::Stopped { reason: StopReason::Cancelled });
    assert_sticks(world, task);
}

#[test]
fn a_daemon_restart_is_no_reason() {
    let mut world = World::new();
    let task = world.rested();
    // All that a new daemon has is the record.
    let text = serde_json::to_string(&world.states.iter().map(|(id, state)| (*id, state.clone())).collect::<Vec<_>>())
        .expect("json");
    let back: Vec<_> = serde_json::from_str(&text).expect("the same");
    world.states = back.into_iter().collect();
    assert_sticks(world, task);
}

#[test]
fn idleness_is_no_reason() {
    let mut world = World::new();
    let task = world.rested();
    let session = world.primary(task).session.as_ref().expect("a session").id;
    world.tell(task, TaskCommand::Park { session, cause: "idle".into() }).expect("idle");
    assert_eq!(world.primary(task).session.as_ref().map(|session| session.phase), Some(RuntimePhase::Parked));
    assert_sticks(world, task);
}

#[test]
fn the_death_of_its_process_is_no_reason() {
    let mut world = World::new();
    let task = world.new_task("crash");
    world.opened(task);
    world.report(task, Report::Exited { cause: "signal 9".into() }).expect("current");
    let last = world.primary(task).past.last.clone().expect("a turn");
    assert!(matches!(last.outcome, TurnOutcome::Interrupted { .. }), "{last:?}");
    world.follow_up(task, "go on");
    let resumed = |event: &TaskEvent| {
        matches!(event, TaskEvent::RuntimeSessionResumed { cause: ResumeCause::ProcessDied, epoch: 2, .. })
    };
    assert_eq!(world.count(resumed), 1, "the new process says why it exists");
    assert_eq!(world.sessions_started(), 1);
}

#[test]
fn a_crash_loop_is_damped_and_left_to_rest() {
    let mut world = World::new();
    let task = world.new_task("crash");
    for _ in 0..3 {
        world.opened(task);
        world.report(task, Report::Exited { cause: "signal 9".into() }).expect("current");
        world.follow_up(task, "again");
    }
    let last = world.primary(task).past.last.clone().expect("a turn");
    assert!(matches!(&last.outcome, TurnOutcome::Failed { failure } if failure.code == "crash_loop"), "{last:?}");
    world.at += 60_000;
    world.follow_up(task, "and now?");
    assert_eq!(world.sessions_started(), 1, "it is the same session that is taken up");
    assert_eq!(world.primary(task).session.as_ref().map(|session| session.phase), Some(RuntimePhase::Starting));
}

#[test]
fn a_process_with_nothing_to_do_is_parked_later_and_each_turn_sets_the_time_anew() {
    let mut world = World::new();
    let task = world.rested();
    let parks = |world: &mut World| {
        let effects = world.take_effects();
        effects.into_iter().filter(|effect| matches!(effect, Effect::ParkRuntime { .. })).collect::<Vec<_>>()
    };
    let first = parks(&mut world);
    world.follow_up(task, "more");
    world.answered(task);
    let second = parks(&mut world);
    assert_eq!((first.len(), second.len()), (1, 1));
    assert_eq!(first[0].key(), second[0].key(), "the later one replaces the earlier one");
    assert!(first[0].due_at() < second[0].due_at());
}

#[test]
fn another_channel_is_no_reason() {
    let mut world = World::new();
    let task = world.rested();
    let phone = world.mint.id();
    world.open(phone, CHAT);
    let intent = Intent::Continue { task, execution: None };
    world.receive_in(phone, intent, None, "make it green", Urgency::InTurn).expect("taken");
    assert_eq!(world.sessions_started(), 1);
    assert_eq!(world.task(task).conversations.len(), 2, "both are told from now on");
}

#[test]
fn closing_and_reopening_is_no_reason() {
    let mut world = World::new();
    let task = world.rested();
    let person = world.person;
    world.tell(task, TaskCommand::Close { person }).expect("closed");
    assert_eq!(
        world.primary(task).session.as_ref().map(|session| session.phase),
        Some(RuntimePhase::Parked),
        "its process goes"
    );
    assert_sticks(world, task);
}

#[test]
fn first_use_is_a_reason() {
    let mut world = World::new();
    world.new_task("fix");
    assert_eq!(world.start_reasons(), [StartReason::FirstUse]);
}

#[test]
fn the_persons_wish_is_a_reason() {
    let mut world = World::new();
    let task = world.rested();
    let old = world.primary(task).session.clone().expect("a session");
    world.take_effects();
    world.tell(task, TaskCommand::Fresh).expect("nothing runs");
    let stops = |effect: &Effect| matches!(effect, Effect::StopRuntime { process } if process.session == old.id);
    assert!(world.take_effects().iter().any(stops), "the old process goes");
    world.follow_up(task, "again from the start");
    assert_eq!(world.start_reasons(), [StartReason::FirstUse, StartReason::Requested]);
    assert!(world.primary(task).handoff.is_none(), "fresh means without the context");
}

#[test]
fn a_change_that_the_session_cannot_take_is_a_reason() {
    let mut world = World::new();
    let task = world.rested();
    let execution = world.mint.id();
    let switch = |model: &str| TaskCommand::Switch { execution, agent: None, model: Some(model.into()) };
    world.tell(task, switch("large")).expect("it offers this one");
    assert_eq!(world.sessions_started(), 1);
    assert!(
        world.take_effects().iter().any(|effect| matches!(effect, Effect::SetModel { model, .. } if model == "large"))
    );
    world.tell(task, switch("SMALL")).expect("people do not spell as machines do");
    assert_eq!(world.primary(task).model.as_deref(), Some("small"));
}

#[test]
fn a_model_that_the_session_does_not_offer_costs_nothing() {
    let mut world = World::new();
    let task = world.rested();
    let execution = world.mint.id();
    let switch = || TaskCommand::Switch { execution, agent: None, model: Some("unheard-of".into()) };
    for parked in [false, true] {
        if parked {
            let session = world.primary(task).session.as_ref().expect("a session").id;
            world.tell(task, TaskCommand::Park { session, cause: "idle".into() }).expect("it rests");
        }
        let before = world.task(task).clone();
        let refused = world.tell(task, switch()).expect_err("nobody offers it");
        assert_eq!((refused.code(), &*refused.hint()), ("model_unknown", "it offers small, large"));
        assert_eq!(*world.task(task), before, "nothing changed");
    }
    world.follow_up(task, "go on");
    assert_eq!(world.start_reasons(), [StartReason::FirstUse]);
}

#[test]
fn a_model_that_is_only_taken_at_the_start_is_a_reason() {
    let mut world = World::new();
    let task = world.new_task("fix routing");
    let terms = Terms { model_at_start: true, ..Terms::default() };
    world.opened_as(task, RuntimeDescription { terms, ..RuntimeDescription::default() });
    world.answered(task);
    let execution = world.mint.id();
    world.tell(task, TaskCommand::Switch { execution, agent: None, model: Some("any".into()) }).expect("changed");
    world.follow_up(task, "go on");
    assert_eq!(world.start_reasons(), [StartReason::FirstUse, StartReason::Changed]);
    assert!(world.primary(task).handoff.is_some(), "whoever has not seen the work gets a brief");
    assert_eq!(world.primary(task).model.as_deref(), Some("any"));
}

#[test]
fn a_refused_model_is_not_asked_for_again() {
    let mut world = World::new();
    let task = world.rested();
    let execution = world.mint.id();
    world.tell(task, TaskCommand::Switch { execution, agent: None, model: Some("large".into()) }).expect("offered");
    world.report(task, Report::Changed(SettingChange::Model { model: "large".into() })).expect("current");
    world.tell(task, TaskCommand::Switch { execution, agent: None, model: Some("small".into()) }).expect("offered");
    let refused = SettingChange::ModelRefused { model: "small".into(), cause: "sold out".into() };
    world.report(task, Report::Changed(refused)).expect("current");
    assert_eq!(world.primary(task).model.as_deref(), Some("large"), "what it goes on with");
}

#[test]
fn another_agent_takes_over_with_a_brief_under_the_same_task() {
    let mut world = World::new();
    let task = world.rested();
    let execution = world.mint.id();
    world
        .tell(task, TaskCommand::Switch { execution, agent: Some("codex".into()), model: None })
        .expect("nothing runs");
    assert_eq!(world.primary(task).id, execution);
    assert_eq!(world.task(task).executions.len(), 2);
    let brief = world.brief(task);
    assert!(brief.contains("fix routing"), "{brief}");
    world.follow_up(task, "go on");
    assert_eq!(world.start_reasons(), [StartReason::FirstUse, StartReason::Changed]);
    world.opened(task);
    world.answered(task);
    assert!(world.primary(task).handoff.is_none(), "it is told once");
}

#[test]
fn a_session_that_is_truly_lost_is_a_reason() {
    let mut world = World::new();
    let task = world.rested();
    world.report(task, Report::Exited { cause: "signal 9".into() }).expect("current");
    world.follow_up(task, "go on");
    world.report(task, open_failed(NativeFate::Gone)).expect("current");
    assert_eq!(world.start_reasons(), [StartReason::FirstUse, StartReason::Lost]);
    let turn = world.running_turn(task);
    world.opened(task);
    assert_eq!(world.running_turn(task), turn, "the same turn goes on in the new session");
    assert!(world.primary(task).prompt().is_some_and(|prompt| prompt.handoff.is_some()), "with a brief");
}

#[test]
fn a_start_that_fails_is_tried_again_by_the_next_message_and_keeps_what_is_bound() {
    let mut world = World::new();
    let task = world.rested();
    world.report(task, Report::Exited { cause: "signal 9".into() }).expect("current");
    world.follow_up(task, "go on");
    world.report(task, open_failed(NativeFate::Kept)).expect("current");
    let last = world.primary(task).past.last.clone().expect("a turn");
    assert!(matches!(last.outcome, TurnOutcome::Failed { .. }));
    assert_sticks(world, task);
}

#[test]
fn a_first_start_that_fails_leaves_the_reason_as_it_was() {
    let mut world = World::new();
    let task = world.new_task("fix");
    world.report(task, open_failed(NativeFate::Kept)).expect("current");
    world.follow_up(task, "again");
    assert_eq!(world.start_reasons(), [StartReason::FirstUse, StartReason::FirstUse]);
}

#[test]
fn who_speaks_for_an_older_process_is_refused() {
    let mut world = World::new();
    let task = world.rested();
    let session = world.primary(task).session.as_ref().expect("a session").id;
    world.report(task, Report::Exited { cause: "signal 9".into() }).expect("current");
    world.follow_up(task, "go on");
    let late = TaskCommand::Report { session, epoch: 1, report: Report::Exited { cause: "late".into() } };
    let refused = world.tell(task, late).expect_err("epoch 2 is current");
    assert_eq!(refused.code(), "stale_epoch");
}

//! Native sessions that were begun elsewhere: resumed by the next message, their past recorded once.

mod support;

use support::World;
use throughline_model::effect::Effect;
use throughline_model::ids::{Id as _, ItemId, RuntimeSessionId, TaskId, TurnId};
use throughline_model::item::{Item, ItemBody};
use throughline_model::rejection::Rejection;
use throughline_model::runtime_session::RuntimePhase;
use throughline_model::task::{ImportedTurn, TaskCommand, TaskEvent};
use throughline_model::time::Timestamp;

fn imported() -> (World, TaskId, RuntimeSessionId) {
    let mut world = World::new();
    let task = TaskId::of_native("codex", "01a1e20a");
    let session = world.mint.id();
    world.import(task, session);
    (world, task, session)
}

fn turns(session: RuntimeSessionId, numbers: std::ops::Range<u64>) -> Vec<ImportedTurn> {
    let turn = |number: u64| ImportedTurn {
        turn: TurnId::derive(session.uuid(), &number.to_string()),
        said: format!("do {number}").into(),
        said_at: Timestamp::from_millis(0),
        items: vec![Item {
            id: ItemId::derive(session.uuid(), &number.to_string()),
            turn: None,
            body: ItemBody::Message { text: format!("did {number}").into(), attachments: vec![], question: false },
        }],
    };
    numbers.map(turn).collect()
}

fn recorded(world: &World, wanted: fn(&TaskEvent) -> bool) -> usize {
    let is = |event: &throughline_model::event::Event| match event {
        throughline_model::event::Event::Task(event) => wanted(event),
        _ => false,
    };
    world.log.iter().filter(|(_, event, _)| is(event)).count()
}

#[test]
fn the_next_message_resumes_it_and_starts_no_other_session() {
    let (mut world, task, session) = imported();
    assert_eq!(world.primary(task).session.as_ref().map(|known| known.phase), Some(RuntimePhase::Parked));
    world.follow_up(task, "go on");
    let known = world.primary(task).session.clone().expect("bound");
    assert_eq!((known.id, known.epoch, known.native.as_deref()), (session, 1, Some("01a1e20a")));
    assert_eq!(recorded(&world, |event| matches!(event, TaskEvent::RuntimeSessionStarted { .. })), 0);
    assert!(world.effects.iter().any(|effect| matches!(effect, Effect::StartRuntime { .. })));
}

#[test]
fn turns_that_are_read_twice_are_recorded_once() {
    let (mut world, task, session) = imported();
    for (from, numbers) in [(0, 0..3), (0, 0..3), (1, 1..5), (9, 9..12)] {
        world.tell(task, TaskCommand::ImportTurns { session, from, turns: turns(session, numbers) }).expect("taken");
    }
    assert_eq!(recorded(&world, |event| matches!(event, TaskEvent::TurnImported { .. })), 5);
    assert_eq!(recorded(&world, |event| matches!(event, TaskEvent::ItemRecorded { .. })), 5);
    assert_eq!(world.primary(task).past.turns, 5);
    assert!(world.brief(task).contains("did 4"), "{}", world.brief(task));
    world.tell(task, TaskCommand::FinishImport { session, left_out: None }).expect("finished");
    world.tell(task, TaskCommand::ImportTurns { session, from: 5, turns: turns(session, 5..9) }).expect("passed over");
    world.tell(task, TaskCommand::FinishImport { session, left_out: None }).expect("passed over");
    assert_eq!(world.primary(task).past.turns, 5);
    assert_eq!(recorded(&world, |event| matches!(event, TaskEvent::PastImported { .. })), 1);
}

#[test]
fn what_was_not_imported_has_no_past_to_read() {
    let mut world = World::new();
    let task = world.new_task("fix routing");
    let session = world.mint.id();
    let refused = world.tell(task, TaskCommand::FinishImport { session, left_out: None });
    assert_eq!(refused.err(), Some(Rejection::NotFound { what: "imported session" }));
}

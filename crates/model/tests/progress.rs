//! Work that goes on is told by one message, changed now and then; everything else leaves before it.

mod support;

use proptest::prelude::*;
use support::{CHAT, World};
use throughline_model::command::Command;
use throughline_model::conversation::{Conversation, ConversationCommand};
use throughline_model::delivery::{Delivery, DeliveryOutcome, PushReason};
use throughline_model::effect::Effect;
use throughline_model::ids::TaskId;
use throughline_model::item::{Item, ItemBody};
use throughline_model::outbound::{PACE, Seen};
use throughline_model::stream::StreamId;
use throughline_model::task::Report;
use throughline_model::time::Timestamp;

/// A task that was begun from a phone, and works.
fn from_a_phone() -> (World, TaskId) {
    let mut world = World::new();
    let phone = world.mint.id();
    world.open(phone, CHAT);
    world.conversation = phone;
    let task = world.new_task("fix routing");
    world.opened(task);
    (world, task)
}

fn phone(world: &World) -> &Conversation {
    world.states[&StreamId::Conversation(world.conversation)].conversation().expect("a phone")
}

fn order(world: &mut World, command: ConversationCommand) {
    world.send(StreamId::Conversation(world.conversation), Command::Conversation(command)).expect("taken");
}

fn works(world: &mut World, task: TaskId) {
    let turn = world.running_turn(task);
    let body = ItemBody::Thought { text: "hm".into() };
    let item = Item { id: world.mint.id(), turn: Some(turn), body };
    world.report(task, Report::Recorded(Box::new(item))).expect("current");
}

fn queued(world: &World, push: PushReason) -> Vec<Delivery> {
    phone(world).outbound.iter().filter(|known| known.push == push).cloned().collect()
}

/// Sends what may leave first, as an outbox does. Answers with what it was.
fn send(world: &mut World, outcome: DeliveryOutcome) -> Option<Delivery> {
    let now = Timestamp::from_millis(world.at);
    let first = phone(world).outbound.iter().find(|known| known.is_due(now)).cloned()?;
    let seen = first.turn.and_then(|turn| phone(world).progress.get(&turn)).map(|known| known.seen.clone());
    let message = match (first.push, seen) {
        // What was lost is not sent a second time, and what tells the end only changes what is there.
        (PushReason::Progress, Some(Seen::As(known))) | (PushReason::Worked, Some(Seen::As(known))) => Some(known),
        (PushReason::Worked, _) => {
            let superseded = DeliveryOutcome::Superseded;
            order(
                world,
                ConversationCommand::SettleDelivery {
                    delivery: first.id,
                    outcome: superseded,
                    message: None,
                    cause: None,
                },
            );
            return Some(first);
        }
        _ => Some(format!("42:{}", world.at)),
    };
    order(world, ConversationCommand::AttemptDelivery { delivery: first.id });
    let message = message.filter(|_| outcome == DeliveryOutcome::Sent);
    order(world, ConversationCommand::SettleDelivery { delivery: first.id, outcome, message, cause: None });
    Some(first)
}

fn send_all(world: &mut World) {
    while send(world, DeliveryOutcome::Sent).is_some() {}
}

#[test]
fn a_burst_of_steps_is_one_message_that_waits_for_its_time() {
    let (mut world, task) = from_a_phone();
    for _ in 0..50 {
        works(&mut world, task);
    }
    let waiting = queued(&world, PushReason::Progress);
    let [only] = &waiting[..] else { panic!("{waiting:?}") };
    let rows: Vec<_> = world.take_effects();
    let row = rows.iter().find(|row| matches!(row, Effect::Deliver { delivery, .. } if *delivery == only.id));
    assert_eq!(row.expect("a row").due_at(), only.due_at, "the row is a timer");
    send_all(&mut world);
    assert_eq!(queued(&world, PushReason::Progress).len(), 1, "everything else has left before it");
    world.at += 3_000;
    send_all(&mut world);
    let shown = phone(&world).progress[&world.running_turn(task)].clone();
    let Seen::As(message) = &shown.seen else { panic!("{shown:?}") };
    for _ in 0..50 {
        works(&mut world, task);
    }
    let [next] = &queued(&world, PushReason::Progress)[..] else { panic!("one change") };
    assert_eq!(next.due_at, Some(shown.changed_at.after(PACE)));
    world.at += 3_000;
    send_all(&mut world);
    assert_eq!(phone(&world).progress[&world.running_turn(task)].seen, Seen::As(message.clone()), "the same message");
}

#[test]
fn the_end_supersedes_what_waits_and_the_result_does_not_wait() {
    let (mut world, task) = from_a_phone();
    world.at += 3_000;
    send_all(&mut world);
    works(&mut world, task);
    let turn = world.running_turn(task);
    world.answered(task);
    assert!(queued(&world, PushReason::Progress).is_empty(), "what it was doing is old news");
    let [result] = &queued(&world, PushReason::Completed)[..] else { panic!("one result") };
    assert_eq!((result.due_at, result.turn), (None, Some(turn)));
    let [last] = &queued(&world, PushReason::Worked)[..] else { panic!("one last word") };
    assert!(last.due_at.is_some_and(|due| due > Timestamp::from_millis(world.at)));
    world.at += 3_000;
    send_all(&mut world);
    assert!(phone(&world).progress.is_empty() && phone(&world).outbound.is_empty());
}

#[test]
fn work_that_is_over_at_once_has_a_result_and_no_progress() {
    let (mut world, task) = from_a_phone();
    works(&mut world, task);
    world.answered(task);
    world.at += 60_000;
    let mut left = vec![];
    while let Some(sent) = send(&mut world, DeliveryOutcome::Sent) {
        left.push(sent.push);
    }
    assert_eq!(left, [PushReason::Reply, PushReason::Completed]);
    assert!(phone(&world).progress.is_empty());
}

#[test]
fn a_message_that_may_be_there_is_not_sent_again() {
    let (mut world, task) = from_a_phone();
    send_all(&mut world);
    world.at += 3_000;
    assert_eq!(send(&mut world, DeliveryOutcome::Unknown).expect("due").push, PushReason::Progress);
    world.at += 60_000;
    works(&mut world, task);
    assert!(queued(&world, PushReason::Progress).is_empty());
    world.answered(task);
    world.at += 60_000;
    send_all(&mut world);
    assert!(phone(&world).progress.is_empty() && phone(&world).outbound.is_empty());
}

#[test]
fn the_longer_it_takes_the_less_often_it_is_told() {
    let (mut world, task) = from_a_phone();
    let mut changes = 0;
    for _ in 0..3_600 {
        world.at += 1_000;
        works(&mut world, task);
        while let Some(sent) = send(&mut world, DeliveryOutcome::Sent) {
            changes += u32::from(sent.push == PushReason::Progress);
        }
    }
    assert!((60..140).contains(&changes), "{changes} changes in an hour");
}

#[test]
fn a_terminal_reads_the_stream_and_gets_none() {
    let mut world = World::new();
    let task = world.new_task("fix routing");
    world.opened(task);
    works(&mut world, task);
    world.answered(task);
    assert!(phone(&world).outbound.is_empty() && phone(&world).progress.is_empty());
}

#[derive(Clone, Debug)]
enum Step {
    Work,
    Wait(i64),
    Send(DeliveryOutcome),
    End,
    Begin,
}

fn step() -> impl Strategy<Value = Step> {
    let outcome = prop_oneof![
        4 => Just(DeliveryOutcome::Sent),
        1 => Just(DeliveryOutcome::Unknown),
        1 => Just(DeliveryOutcome::Dead),
        1 => Just(DeliveryOutcome::Expired),
    ];
    prop_oneof![
        4 => Just(Step::Work),
        3 => (0..5_000i64).prop_map(Step::Wait),
        4 => outcome.prop_map(Step::Send),
        1 => Just(Step::End),
        1 => Just(Step::Begin),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_there_is_one_message_for_a_turn_and_one_result(steps in prop::collection::vec(step(), 1..80)) {
        let (mut world, task) = from_a_phone();
        let (mut sent, mut results) = (vec![], vec![]);
        let mut left = |world: &mut World, outcome| {
            let seen = phone(world).progress.clone();
            let Some(delivery) = send(world, outcome) else { return false };
            let turn = delivery.turn;
            match delivery.push {
                PushReason::Progress => {
                    let first = turn.is_some_and(|turn| seen[&turn].seen == Seen::NotYet);
                    sent.push((turn, first && outcome != DeliveryOutcome::Expired, world.at));
                }
                PushReason::Completed => results.push(turn),
                _ => {}
            }
            true
        };
        for step in steps {
            let runs = world.primary(task).active.is_some();
            match step {
                Step::Work if runs => works(&mut world, task),
                Step::Wait(millis) => world.at += millis,
                Step::Send(outcome) => drop(left(&mut world, outcome)),
                Step::End if runs => world.answered(task),
                Step::Begin => drop(world.follow_up(task, "go on")),
                Step::Work | Step::End => {}
            }
        }
        while world.primary(task).active.is_some() {
            world.answered(task);
        }
        world.at += 600_000;
        while left(&mut world, DeliveryOutcome::Sent) {}
        prop_assert!(phone(&world).progress.is_empty(), "{:?}", phone(&world).progress);
        for pair in sent.windows(2).filter(|pair| pair[0].0 == pair[1].0) {
            prop_assert!(pair[1].2 - pair[0].2 >= 3_000, "{pair:?}");
        }
        let mut firsts: Vec<_> = sent.iter().filter(|(_, first, _)| *first).map(|(turn, ..)| *turn).collect();
        let count = firsts.len();
        firsts.dedup();
        prop_assert_eq!(firsts.len(), count, "two messages for one turn");
        let count = results.len();
        results.dedup();
        prop_assert_eq!(results.len(), count, "two results for one turn");
    }
}

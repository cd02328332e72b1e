//! Who is told what: reasons, quiet hours, digests, and the one chat that hears of what is done elsewhere. Whatever
//! somebody chooses, nothing that waits for them is lost.

mod support;

use std::collections::BTreeMap;

use proptest::prelude::*;
use support::{CHAT, TELEGRAM, World};
use throughline_model::approval::Verdict;
use throughline_model::command::Command;
use throughline_model::conversation::{Address, Conversation, ConversationCommand};
use throughline_model::delivery::{Cause, Delivery, DeliveryOutcome, PushReason};
use throughline_model::effect::Effect;
use throughline_model::event::Event;
use throughline_model::identity::Identity;
use throughline_model::ids::{ApprovalId, ConversationId, DeliveryId, PersonId, TaskId};
use throughline_model::input::Urgency;
use throughline_model::notice::{Quiet, Reason, Reasons, TimeOfDay};
use throughline_model::person::PersonCommand;
use throughline_model::present::{self, Locale};
use throughline_model::route::Intent;
use throughline_model::state::State;
use throughline_model::stream::StreamId;
use throughline_model::time::Timestamp;
use throughline_model::view::{DeliveryRow, Row, TaskRow, rows};

/// A person with a terminal and so many chats; the last one is the one that they met last.
fn with_chats(count: i64) -> (World, Vec<ConversationId>) {
    let mut world = World::new();
    let person = world.person;
    let identity = Identity::OsUser { uid: 1000 };
    tell_person(&mut world, PersonCommand::Enrol { person, name: "Ada".into(), locale: "en".into(), identity });
    let chats = (0..count).map(|user| {
        let identity = Identity::on(TELEGRAM, user);
        tell_person(&mut world, PersonCommand::Link { identity: identity.clone() });
        let conversation = world.mint.id();
        let address = Some(Address { place: user.to_string(), with: Some(identity) });
        let open = ConversationCommand::Open { conversation, channel: CHAT, person, project: None, address };
        order(&mut world, conversation, open);
        conversation
    });
    let chats = chats.collect();
    (world, chats)
}

fn tell_person(world: &mut World, command: PersonCommand) -> Vec<Event> {
    let person: PersonId = world.person;
    world.send(StreamId::Person(person), Command::Person(command)).expect("taken")
}

fn order(world: &mut World, chat: ConversationId, command: ConversationCommand) {
    world.send(StreamId::Conversation(chat), Command::Conversation(command)).expect("taken");
}

fn chat(world: &World, chat: ConversationId) -> &Conversation {
    world.states[&StreamId::Conversation(chat)].conversation().expect("a chat")
}

fn pushes(world: &World, of: ConversationId) -> Vec<PushReason> {
    chat(world, of).outbound.iter().map(|known| known.push).collect()
}

fn asks(world: &mut World, task: TaskId) -> ApprovalId {
    let approval = world.mint.id();
    world.report(task, support::asked(approval)).expect("current");
    approval
}

fn night() -> Quiet {
    let time = |hour| TimeOfDay { hour, minute: 0 };
    Quiet { from: time(22), until: time(7), zone: "UTC".into(), except: Reasons::none() }
}

#[test]
fn one_chat_hears_of_what_is_done_elsewhere_the_last_that_was_written_from_or_the_chosen_one() {
    let (mut world, chats) = with_chats(2);
    let (task, approval) = world.asking();
    assert_eq!(pushes(&world, chats[0]), []);
    assert_eq!(pushes(&world, chats[1]), [PushReason::NeedsApproval], "met last");
    assert!(world.task(task).conversations.iter().all(|known| !chats.contains(known)), "it takes no part");
    let sent = chat(&world, chats[1]).outbound[0].id;
    let message = Some("1:7".to_owned());
    order(
        &mut world,
        chats[1],
        ConversationCommand::SettleDelivery { delivery: sent, outcome: DeliveryOutcome::Sent, message, cause: None },
    );
    tell_person(&mut world, PersonCommand::WriteFrom { conversation: chats[0] });
    world.decide_on(task, approval, Verdict::Approve).expect("pending");
    assert_eq!(pushes(&world, chats[1]), [PushReason::Decided], "who was asked is told how it ended");
    assert_eq!(pushes(&world, chats[0]), []);
    world.answered(task);
    assert_eq!(pushes(&world, chats[0]), [PushReason::Completed], "they are here now");
    tell_person(&mut world, PersonCommand::ChooseMain { conversation: Some(chats[1]) });
    let (second, _) = world.asking();
    assert_eq!(pushes(&world, chats[1]).last(), Some(&PushReason::NeedsApproval), "they chose this one");
    assert_ne!(second, task);
    let elsewhere = world.mint.id();
    let wrong = PersonCommand::ChooseMain { conversation: Some(elsewhere) };
    assert!(world.send(StreamId::Person(world.person), Command::Person(wrong)).is_err(), "none of theirs");
}

#[test]
fn a_chat_that_takes_part_is_told_and_no_other() {
    let (mut world, chats) = with_chats(3);
    world.conversation = chats[1];
    let task = world.new_task("fix routing");
    world.opened(task);
    tell_person(&mut world, PersonCommand::WriteFrom { conversation: chats[0] });
    asks(&mut world, task);
    assert!(pushes(&world, chats[1]).contains(&PushReason::NeedsApproval));
    assert!(pushes(&world, chats[0]).is_empty() && pushes(&world, chats[2]).is_empty());
}

#[test]
fn a_chat_is_told_for_the_reasons_that_were_chosen() {
    let (mut world, chats) = with_chats(1);
    let only =
        |reasons: &[Reason]| ConversationCommand::ChooseReasons { reasons: Reasons(reasons.iter().copied().collect()) };
    order(&mut world, chats[0], only(&[Reason::Approval]));
    let (task, approval) = world.asking();
    world.decide_on(task, approval, Verdict::Approve).expect("pending");
    world.answered(task);
    assert_eq!(pushes(&world, chats[0]), [], "the request was decided before it left, and results are not wanted");
    order(&mut world, chats[0], only(&[]));
    world.asking();
    assert_eq!(pushes(&world, chats[0]), []);
}

#[test]
fn what_comes_at_night_is_one_digest_in_the_morning_and_what_asks_follows() {
    let (mut world, chats) = with_chats(1);
    let home = chats[0];
    tell_person(&mut world, PersonCommand::ChooseQuiet { quiet: Some(night()) });
    assert_eq!(chat(&world, home).told.quiet, Some(night()));
    let done = world.rested();
    let (task, _) = world.asking();
    let morning = Timestamp::from_millis(world.at + 9 * 3_600_000);
    world.take_effects();
    for delivery in chat(&world, home).outbound.clone() {
        order(&mut world, home, ConversationCommand::HoldDelivery { delivery: delivery.id, until: morning });
    }
    assert!(chat(&world, home).outbound.is_empty());
    let effects = world.take_effects();
    let timer = effects.iter().find(|effect| matches!(effect, Effect::Later { .. })).expect("a timer");
    assert_eq!(timer.due_at(), Some(morning));
    world.at = morning.millis();
    order(&mut world, home, ConversationCommand::EndQuiet);
    let [digest, asking] = &pushes(&world, home)[..] else { panic!("{:?}", pushes(&world, home)) };
    assert!(matches!(digest, PushReason::Digest { since } if *since < morning));
    assert_eq!(*asking, PushReason::NeedsApproval);
    assert!(chat(&world, home).told.held.is_empty() && chat(&world, home).told.held_since.is_none());
    order(&mut world, home, ConversationCommand::EndQuiet);
    assert_eq!(pushes(&world, home).len(), 2, "once");
    assert_ne!(done, task);
}

#[test]
fn who_changes_quiet_hours_is_awake_and_told_at_once() {
    let (mut world, chats) = with_chats(1);
    tell_person(&mut world, PersonCommand::ChooseQuiet { quiet: Some(night()) });
    world.rested();
    let delivery = chat(&world, chats[0]).outbound[0].id;
    let until = Timestamp::from_millis(world.at + 1_000);
    order(&mut world, chats[0], ConversationCommand::HoldDelivery { delivery, until });
    tell_person(&mut world, PersonCommand::ChooseQuiet { quiet: None });
    assert!(matches!(pushes(&world, chats[0])[..], [PushReason::Digest { .. }]));
}

#[test]
fn a_new_chat_keeps_the_quiet_that_was_chosen_before() {
    let (mut world, _) = with_chats(1);
    tell_person(&mut world, PersonCommand::ChooseQuiet { quiet: Some(night()) });
    let identity = Identity::on(TELEGRAM, 99);
    tell_person(&mut world, PersonCommand::Link { identity: identity.clone() });
    let (conversation, person) = (world.mint.id(), world.person);
    let address = Some(Address { place: "99".into(), with: Some(identity) });
    let open = ConversationCommand::Open { conversation, channel: CHAT, person, project: None, address };
    order(&mut world, conversation, open);
    assert_eq!(chat(&world, conversation).told.quiet, Some(night()));
}

/// What the outbox says of a delivery.
fn delivery_row(world: &World, delivery: DeliveryId) -> DeliveryRow {
    let mut states: BTreeMap<StreamId, State> = BTreeMap::new();
    let mut found = None;
    for (stream, event, at) in &world.log {
        let before = states.remove(stream).unwrap_or_else(|| State::empty(stream.kind()));
        let mut after = before.clone();
        throughline_model::evolve(&mut after, event, *at);
        found = rows(*stream, &before, &after, event, *at).into_iter().fold(found, |found, row| match row {
            Row::Delivery(row) if row.id == delivery => Some(row),
            _ => found,
        });
        states.insert(*stream, after);
    }
    found.expect("a delivery")
}

#[test]
fn the_outbox_says_how_often_something_was_tried_and_why_it_did_not_arrive() {
    let (mut world, chats) = with_chats(1);
    world.rested();
    let delivery = chat(&world, chats[0]).outbound[0].id;
    let seen = |world: &World| {
        let row = delivery_row(world, delivery);
        let why = present::why_not_sent(Locale::En, &row).map(|(code, _)| code);
        (row.state.clone(), row.tries, why, row.is_lost())
    };
    assert_eq!(seen(&world), ("pending".into(), 0, None, false));
    let attempt = ConversationCommand::AttemptDelivery { delivery };
    order(&mut world, chats[0], attempt.clone());
    assert_eq!(seen(&world), ("sending".into(), 1, None, false));
    let busy = Some(Cause::Busy);
    order(&mut world, chats[0], ConversationCommand::PostponeDelivery { delivery, cause: busy });
    assert_eq!(seen(&world), ("pending".into(), 1, Some("busy"), false));
    order(&mut world, chats[0], attempt);
    let mut other = world.clone();
    let settle = |outcome, cause| ConversationCommand::SettleDelivery { delivery, outcome, message: None, cause };
    let refused = Some(Cause::refused("the bot was blocked"));
    order(&mut world, chats[0], settle(DeliveryOutcome::Dead, refused));
    assert_eq!(seen(&world), ("dead".into(), 2, Some("refused"), true));
    order(&mut other, chats[0], settle(DeliveryOutcome::Sent, None));
    assert_eq!(seen(&other), ("sent".into(), 2, None, false), "what arrived explains nothing");
}

#[derive(Clone, Debug)]
enum Step {
    Choose(Vec<Reason>),
    Quiet(bool),
    Begin,
    Ask(usize),
    End(usize),
    Decide(usize),
    Hold,
    Send(DeliveryOutcome),
    Morning,
    Digest,
    Write(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let outcome = prop_oneof![3 => Just(DeliveryOutcome::Sent), 1 => Just(DeliveryOutcome::Unknown)];
    prop_oneof![
        1 => prop::sample::subsequence(Reason::ALL.to_vec(), 0..=4).prop_map(Step::Choose),
        1 => any::<bool>().prop_map(Step::Quiet),
        2 => Just(Step::Begin),
        4 => (0..4usize).prop_map(Step::Ask),
        2 => (0..4usize).prop_map(Step::End),
        1 => (0..4usize).prop_map(Step::Decide),
        4 => Just(Step::Hold),
        3 => outcome.prop_map(Step::Send),
        1 => Just(Step::Morning),
        1 => Just(Step::Digest),
        1 => (0..2usize).prop_map(Step::Write),
    ]
}

/// The list as a store has it.
fn listed(world: &World) -> Vec<TaskRow> {
    let mut states = std::collections::BTreeMap::new();
    let mut list = std::collections::BTreeMap::new();
    for (stream, event, at) in &world.log {
        let state = states.entry(*stream).or_insert_with(|| throughline_model::state::State::empty(stream.kind()));
        let before = state.clone();
        throughline_model::evolve(state, event, *at);
        for row in rows(*stream, &before, state, event, *at) {
            if let Row::Task(row) = row {
                list.insert(row.id, *row);
            }
        }
    }
    list.into_values().collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever is chosen: what asks is on its way, waits for the morning with a timer, was told, or was not wanted; and
    /// until it is decided every digest names it.
    #[test]
    fn nothing_that_asks_is_lost(steps in prop::collection::vec(step(), 1..60)) {
        let (mut world, chats) = with_chats(2);
        let (mut tasks, mut asked, mut told) = (vec![], vec![], vec![]);
        for step in steps {
            let task = |nth: usize, tasks: &[TaskId]| tasks.get(nth % tasks.len().max(1)).copied();
            let first = |world: &World| {
                let waiting = chats.iter().flat_map(|of| chat(world, *of).outbound.iter().map(|known| (*of, known.clone())));
                waiting.into_iter().next()
            };
            let running = |world: &World, task: TaskId| world.primary(task).active.as_ref().is_some_and(|it| it.started_at.is_some());
            match step {
                Step::Choose(reasons) => {
                    let reasons = Reasons(reasons.into_iter().collect());
                    order(&mut world, chats[1], ConversationCommand::ChooseReasons { reasons });
                }
                Step::Quiet(on) => {
                    let quiet = on.then(night);
                    tell_person(&mut world, PersonCommand::ChooseQuiet { quiet });
                }
                Step::Begin if tasks.len() < 3 => {
                    let task = world.new_task_as("look around", throughline_model::execution::Role::Reviewer);
                    world.opened(task);
                    tasks.push(task);
                }
                Step::Ask(nth) => if let Some(task) = task(nth, &tasks).filter(|task| running(&world, *task)) {
                    let main = world.states[&StreamId::Person(world.person)].person().and_then(|known| known.main_chat());
                    let wanted = main.is_some_and(|main| chat(&world, main).told.reasons.has(Reason::Approval));
                    asked.push((task, asks(&mut world, task), wanted));
                },
                Step::End(nth) => if let Some(task) = task(nth, &tasks).filter(|task| running(&world, *task)) {
                    world.answered(task);
                },
                Step::Decide(nth) => if let Some((task, approval, _)) = asked.get(nth).copied() {
                    let _ = world.decide_on(task, approval, Verdict::Deny);
                },
                Step::Hold => if let Some((of, delivery)) = first(&world).filter(|(_, known)| Reason::of(known.push).is_some()) {
                    let until = Timestamp::from_millis(world.at + 1_000);
                    order(&mut world, of, ConversationCommand::HoldDelivery { delivery: delivery.id, until });
                },
                Step::Send(outcome) => if let Some((of, delivery)) = first(&world) {
                    let message = Some(format!("1:{}", world.at));
                    told.extend(delivery.approval.filter(|_| delivery.push == PushReason::NeedsApproval));
                    order(&mut world, of, ConversationCommand::AttemptDelivery { delivery: delivery.id });
                    order(&mut world, of, ConversationCommand::SettleDelivery { delivery: delivery.id, outcome, message, cause: None });
                },
                Step::Morning => for of in &chats {
                    order(&mut world, *of, ConversationCommand::EndQuiet);
                },
                Step::Digest => order(&mut world, chats[0], ConversationCommand::Digest),
                Step::Write(nth) => drop(tell_person(&mut world, PersonCommand::WriteFrom { conversation: chats[nth] })),
                Step::Begin => {}
            }
        }
        let list = listed(&world);
        let now = Timestamp::from_millis(world.at + 1);
        let digest = present::digest(Locale::En, &list, 0, now, now).text;
        for (task, approval, wanted) in asked {
            let pending = world.task(task).approvals.pending(approval).is_some();
            if !pending {
                continue;
            }
            let about = |known: &Delivery| known.approval == Some(approval);
            let waits = chats.iter().any(|of| chat(&world, *of).outbound.iter().any(about));
            let held = chats.iter().any(|of| chat(&world, *of).told.held.iter().any(about));
            prop_assert_eq!(waits || held || told.contains(&approval), wanted, "it is on its way, held or told");
            prop_assert!(digest.contains(&world.task(task).key), "{}", digest);
        }
        for of in &chats {
            let state = chat(&world, *of);
            let timer = format!("quiet:{of}");
            let set = world.effects.iter().any(|effect| matches!(effect, Effect::Later { timer: known, .. } if *known == timer));
            prop_assert!(state.told.held.is_empty() || set, "what is held has a timer");
            prop_assert_eq!(state.told.held.is_empty(), state.told.held_since.is_none());
        }
    }
}

#[test]
fn of_what_may_not_have_arrived_is_said_once_that_it_is_there() {
    let (mut world, chats) = with_chats(1);
    let (task, approval) = world.asking();
    let settle = |world: &mut World, outcome, cause| {
        let delivery = chat(world, chats[0]).outbound[0].id;
        order(world, chats[0], ConversationCommand::SettleDelivery { delivery, outcome, message: None, cause });
    };
    settle(&mut world, DeliveryOutcome::Unknown, Some(Cause::Interrupted));
    let again = chat(&world, chats[0]).outbound[0].clone();
    assert_eq!((again.push, again.approval, again.task), (PushReason::Unsure, Some(approval), Some(task)));
    assert!(again.due_at.is_some() && !again.handed.attempted, "{again:?}");
    settle(&mut world, DeliveryOutcome::Unknown, Some(Cause::no_answer("")));
    assert_eq!(pushes(&world, chats[0]), [], "of itself nothing follows");
}

#[test]
fn what_is_decided_meanwhile_is_not_asked_again_and_what_is_refused_neither() {
    let (mut world, chats) = with_chats(1);
    let (task, approval) = world.asking();
    let sent = chat(&world, chats[0]).outbound[0].id;
    let settle =
        |delivery, outcome, cause| ConversationCommand::SettleDelivery { delivery, outcome, message: None, cause };
    order(&mut world, chats[0], settle(sent, DeliveryOutcome::Unknown, Some(Cause::Interrupted)));
    assert_eq!(pushes(&world, chats[0]), [PushReason::Unsure]);
    world.decide_on(task, approval, Verdict::Deny).expect("pending");
    assert!(!pushes(&world, chats[0]).contains(&PushReason::Unsure), "{:?}", pushes(&world, chats[0]));
    let (mut world, chats) = with_chats(1);
    world.asking();
    let sent = chat(&world, chats[0]).outbound[0].id;
    order(&mut world, chats[0], settle(sent, DeliveryOutcome::Dead, Some(Cause::refused("no"))));
    assert_eq!(pushes(&world, chats[0]), []);
}

#[test]
fn who_chooses_quiet_hours_a_moment_after_writing_has_them() {
    let (mut world, chats) = with_chats(1);
    let asks = Intent::Status { task: None };
    world.receive_in(chats[0], asks, None, "how is it going?", Urgency::InTurn).expect("taken");
    assert!(chat(&world, chats[0]).told.spoken_at.is_some(), "awake");
    order(&mut world, chats[0], ConversationCommand::KeepQuiet { quiet: Some(night()) });
    assert_eq!(chat(&world, chats[0]).told.spoken_at, None, "and wants to be left alone");
}

//! Any sequence of commands: replay agrees with snapshots, and the invariants of the model hold at every step.

mod support;

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use support::{CHAT, World, asked, broken, open_failed};
use throughline_model::approval::Verdict;
use throughline_model::content::Text;
use throughline_model::conversation::ConversationEvent;
use throughline_model::delivery::PushReason;
use throughline_model::effect::Effect;
use throughline_model::event::Event;
use throughline_model::evolve;
use throughline_model::execution::Role;
use throughline_model::ids::{ConversationId, TaskId};
use throughline_model::input::Urgency;
use throughline_model::item::{Item, ItemBody};
use throughline_model::route::Intent;
use throughline_model::state::State;
use throughline_model::stream::StreamId;
use throughline_model::task::{NativeFate, Report, TaskCommand, TaskEvent, TurnAnswer};
use throughline_model::turn::{StopReason, Usage};
use throughline_model::workspace::Holder;

/// One thing that may happen, on one of a few tasks.
#[derive(Clone, Debug)]
enum Step {
    New(Role),
    Say(u8, Urgency),
    FromPhone(u8),
    Opened(u8),
    OpenFailed(u8, NativeFate),
    Answered(u8, StopReason),
    Failed(u8),
    Message(u8, bool),
    Asked(u8),
    Decided(u8, Verdict),
    Exited(u8),
    Cancel(u8),
    CancelOverdue(u8),
    Withdraw(u8),
    Retry(u8),
    Fresh(u8),
    Close(u8),
    Add(u8, Role),
    Dismiss(u8, u8),
    Switch(u8),
    Note(u8),
    Correct(u8, u8, bool),
    StopAll,
}

fn step() -> impl Strategy<Value = Step> {
    use Step::*;
    let urgency = prop_oneof![3 => Just(Urgency::InTurn), 1 => Just(Urgency::Interrupt)];
    let fate = prop_oneof![Just(NativeFate::Kept), Just(NativeFate::Gone)];
    let reason = prop_oneof![4 => Just(StopReason::EndTurn), 1 => Just(StopReason::Cancelled)];
    let verdict = prop_oneof![Just(Verdict::Approve), Just(Verdict::Deny)];
    let role = prop_oneof![3 => Just(Role::Editor), 1 => Just(Role::Reviewer)];
    let added = prop_oneof![Just(Role::Editor), Just(Role::Reviewer)];
    prop_oneof![
        2 => role.prop_map(New),
        6 => (0u8..4, urgency).prop_map(|(task, urgency)| Say(task, urgency)),
        1 => (0u8..4).prop_map(FromPhone),
        8 => (0u8..4).prop_map(Opened),
        1 => (0u8..4, fate).prop_map(|(task, fate)| OpenFailed(task, fate)),
        8 => (0u8..4, reason).prop_map(|(task, reason)| Answered(task, reason)),
        1 => (0u8..4).prop_map(Failed),
        2 => (0u8..4, any::<bool>()).prop_map(|(task, question)| Message(task, question)),
        2 => (0u8..4).prop_map(Asked),
        2 => (0u8..4, verdict).prop_map(|(task, verdict)| Decided(task, verdict)),
        2 => (0u8..4).prop_map(Exited),
        2 => (0u8..4).prop_map(Cancel),
        1 => (0u8..4).prop_map(CancelOverdue),
        1 => (0u8..4).prop_map(Withdraw),
        1 => (0u8..4).prop_map(Retry),
        1 => (0u8..4).prop_map(Fresh),
        1 => (0u8..4).prop_map(Close),
        1 => (0u8..4, added).prop_map(|(task, role)| Add(task, role)),
        1 => (0u8..4, 0u8..4).prop_map(|(task, which)| Dismiss(task, which)),
        1 => (0u8..4).prop_map(Switch),
        1 => (0u8..4).prop_map(Note),
        2 => (0u8..4, 0u8..4, any::<bool>()).prop_map(|(from, to, interrupt)| Correct(from, to, interrupt)),
        1 => Just(StopAll),
    ]
}

struct Run {
    world: World,
    tasks: Vec<TaskId>,
    phone: ConversationId,
}

impl Run {
    fn new() -> Self {
        let mut world = World::new();
        let phone = world.mint.id();
        world.open(phone, CHAT);
        let tasks = vec![world.new_task("first")];
        Run { world, tasks, phone }
    }

    /// Takes a step. A "no" is fine; what it must never do is change anything.
    fn take(&mut self, step: Step) {
        let before = (self.world.log.len(), self.world.effects.len());
        let refused = self.refused(step);
        let world = &self.world;
        if refused {
            assert_eq!(before, (world.log.len(), world.effects.len()), "a refusal changes nothing");
        }
    }

    /// Whether the answer was "no".
    fn refused(&mut self, step: Step) -> bool {
        let tasks = self.tasks.clone();
        let of = |index: u8| tasks[usize::from(index) % tasks.len()];
        let world = &mut self.world;
        let person = world.person;
        match step {
            Step::New(role) => {
                self.tasks.push(world.new_task_as("another", role));
                false
            }
            Step::Say(index, urgency) => {
                world.receive(Intent::Continue { task: of(index), execution: None }, None, "more", urgency).is_err()
            }
            Step::FromPhone(index) => {
                let intent = Intent::Continue { task: of(index), execution: None };
                world.receive_in(self.phone, intent, None, "from the phone", Urgency::InTurn).is_err()
            }
            Step::Opened(index) => {
                let starting = world.primary(of(index)).session.as_ref().is_some_and(|session| session.has_process());
                if starting {
                    world.opened(of(index));
                }
                false
            }
            Step::OpenFailed(index, fate) => report(world, of(index), open_failed(fate)),
            Step::Answered(index, reason) => answer(world, of(index), TurnAnswer::Stopped { reason }),
            Step::Failed(index) => answer(world, of(index), TurnAnswer::Failed { failure: broken("turn_failed") }),
            Step::Message(index, question) => {
                let body = ItemBody::Message { text: Text::from("said"), attachments: vec![], question };
                let item = Item { id: world.mint.id(), turn: None, body };
                report(world, of(index), Report::Recorded(Box::new(item)))
            }
            Step::Asked(index) => {
                let approval = world.mint.id();
                report(world, of(index), asked(approval))
            }
            Step::Decided(index, verdict) => {
                let pending = world.task(of(index)).approvals.pending.first().map(|known| known.approval.id);
                pending.is_none_or(|approval| world.decide_on(of(index), approval, verdict).is_err())
            }
            Step::Exited(index) => report(world, of(index), Report::Exited { cause: "signal 9".into() }),
            Step::Cancel(index) => world.tell(of(index), TaskCommand::Cancel).is_err(),
            Step::CancelOverdue(index) => {
                let turn = world.primary(of(index)).active.as_ref().map(|turn| turn.id);
                turn.is_none_or(|turn| world.tell(of(index), TaskCommand::CancelOverdue { turn }).is_err())
            }
            Step::Withdraw(index) => {
                let input = world.primary(of(index)).queue.first().map(|queued| queued.input);
                input.is_none_or(|input| world.tell(of(index), TaskCommand::Withdraw { input }).is_err())
            }
            Step::Retry(index) => world.tell(of(index), TaskCommand::Retry { person, execution: None }).is_err(),
            Step::Fresh(index) => world.tell(of(index), TaskCommand::Fresh).is_err(),
            Step::Close(index) => world.tell(of(index), TaskCommand::Close { person }).is_err(),
            Step::Dismiss(index, which) => dismissed(world, of(index), which),
            Step::Add(index, role) => added(world, of(index), role),
            Step::Switch(index) => {
                let execution = world.mint.id();
                let switch = TaskCommand::Switch { execution, agent: Some("codex".into()), model: None };
                world.tell(of(index), switch).is_err()
            }
            Step::Correct(from, to, interrupt) => corrected(world, of(from), of(to), interrupt),
            Step::StopAll => stopped(world, self.phone, &tasks),
            Step::Note(index) => {
                world.tell(of(index), TaskCommand::PinNote { person, text: "mind this".into() }).is_err()
            }
        }
    }
}

/// Whether nobody could be added to a task.
fn added(world: &mut World, task: TaskId, role: Role) -> bool {
    let execution = world.mint.id();
    let add = TaskCommand::AddExecution { execution, agent: "cc".into(), role, worktree: None };
    world.tell(task, add).is_err()
}

/// Whether nobody else could do the work of one of a task's executions.
fn dismissed(world: &mut World, task: TaskId, which: u8) -> bool {
    let executions = &world.task(task).executions;
    let execution = executions[usize::from(which) % executions.len()].id;
    world.tell(task, TaskCommand::Dismiss { execution }).is_err()
}

/// Whether an input of one task could not be moved to another.
fn corrected(world: &mut World, from: TaskId, to: TaskId, interrupt: bool) -> bool {
    let primary = world.primary(from);
    let queued = primary.queue.first().map(|queued| queued.input);
    let active = primary.active.as_ref().map(|turn| turn.input.input);
    let last = primary.past.last.as_ref().map(|turn| turn.input.input);
    let input = queued.or(active).or(last);
    input.is_none_or(|input| world.correct(input, Some(from), to, interrupt).is_err())
}

/// Whether "stop everything" was refused.
fn stopped(world: &mut World, phone: ConversationId, tasks: &[TaskId]) -> bool {
    let runs = |task: &&TaskId| world.primary(**task).active.is_some();
    let running = tasks.iter().filter(runs).copied().collect();
    let everything = Intent::Cancel { task: None, running };
    world.receive_in(phone, everything, None, "stop everything", Urgency::InTurn).is_err()
}

fn report(world: &mut World, task: TaskId, report: Report) -> bool {
    world.primary(task).session.is_none() || world.report(task, report).is_err()
}

fn answer(world: &mut World, task: TaskId, answer: TurnAnswer) -> bool {
    let running = world.primary(task).active.as_ref().filter(|turn| turn.started_at.is_some()).map(|turn| turn.id);
    running.is_none_or(|turn| report(world, task, Report::TurnAnswered { turn, answer, usage: Usage::default() }))
}

fn replayed(world: &World) -> BTreeMap<StreamId, State> {
    let mut states = BTreeMap::new();
    for (stream, event, at) in &world.log {
        let state = states.entry(*stream).or_insert_with(|| State::empty(stream.kind()));
        evolve(state, event, *at);
    }
    states
}

/// A snapshot is the state as JSON; the events after it are replayed on top.
fn from_snapshot(world: &World, cut: usize) -> BTreeMap<StreamId, State> {
    let mut states: BTreeMap<StreamId, State> = BTreeMap::new();
    for (stream, event, at) in &world.log[..cut] {
        evolve(states.entry(*stream).or_insert_with(|| State::empty(stream.kind())), event, *at);
    }
    for state in states.values_mut() {
        let json = serde_json::to_string(state).expect("json");
        *state = serde_json::from_str(&json).expect("a snapshot reads back");
    }
    for (stream, event, at) in &world.log[cut..] {
        let json = event.encode().expect("json");
        let event = Event::decode(stream.kind(), &json).expect("an event reads back");
        evolve(states.entry(*stream).or_insert_with(|| State::empty(stream.kind())), &event, *at);
    }
    states
}

fn check_invariants(world: &World) {
    let mut prompted = BTreeSet::new();
    for effect in &world.effects {
        if let Effect::PromptAgent { turn, .. } = effect {
            assert!(prompted.insert(*turn), "a prompt is handed on at most once (P4)");
        }
    }
    let mut ended = BTreeSet::new();
    for (_, event, _) in &world.log {
        if let Event::Task(TaskEvent::TurnEnded { turn, .. }) = event {
            assert!(ended.insert(*turn), "a turn ends once");
        }
    }
    check_leaders(world);
    check_lease(world);
    check_inputs(world);
    check_deliveries(world);
}

/// Somebody is there whom unmarked messages go to, and only one.
fn check_leaders(world: &World) {
    for task in world.states.values().filter_map(State::task) {
        let live = task.executions.iter().filter(|execution| execution.ended.is_none());
        assert_eq!(live.filter(|execution| execution.primary).count(), 1, "{:?}", task.executions);
    }
}

/// At most one turn writes in a root, and who holds the lease is a turn that has not ended.
fn check_lease(world: &World) {
    let active: BTreeSet<_> = world
        .states
        .values()
        .filter_map(State::task)
        .flat_map(|task| task.executions.iter().filter_map(|execution| execution.active.as_ref().map(|turn| turn.id)))
        .collect();
    for state in world.states.values() {
        if let State::Workspace(Some(workspace)) = state {
            for claim in workspace.holder.iter().chain(&workspace.waiting) {
                let Holder::Turn(turn) = claim.holder else { panic!("nothing changes a workspace here") };
                assert!(active.contains(&turn), "a lease of a turn that ended is never held");
            }
            assert!(workspace.holder.is_some() || workspace.waiting.is_empty(), "nobody waits for a free workspace");
        }
    }
}

/// Every input that was taken for a task waits, runs, became a turn or was withdrawn: none is lost.
fn check_inputs(world: &World) {
    let mut open = BTreeSet::new();
    for (stream, event, _) in &world.log {
        match event {
            Event::Task(TaskEvent::InputQueued { queued, .. }) => {
                open.insert((*stream, queued.input));
            }
            Event::Task(
                TaskEvent::TurnRequested { input, .. }
                | TaskEvent::InputWithdrawn { input }
                | TaskEvent::InputMovedOut { input, .. },
            ) => {
                open.remove(&(*stream, *input));
            }
            _ => {}
        }
    }
    let waiting: BTreeSet<_> = world
        .states
        .values()
        .filter_map(State::task)
        .flat_map(|task| {
            let stream = StreamId::Task(task.id);
            let queues = task.executions.iter().flat_map(|execution| &execution.queue);
            queues.map(move |queued| (stream, queued.input))
        })
        .collect();
    assert_eq!(open, waiting);
}

/// No delivery goes to a conversation that the task does not belong to (P8).
fn check_deliveries(world: &World) {
    for (stream, event, _) in &world.log {
        if let (
            StreamId::Conversation(conversation),
            Event::Conversation(ConversationEvent::DeliveryQueued { delivery }),
        ) = (stream, event)
        {
            // Who asks is answered, whatever it is about; nobody else hears that.
            if delivery.push == PushReason::Reply {
                continue;
            }
            let task = delivery.task.expect("what a task pushes is about it");
            assert!(world.task(task).conversations.contains(conversation));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_the_record_and_the_state_agree(steps in prop::collection::vec(step(), 1..60), cut in 0.0f64..1.0) {
        let mut run = Run::new();
        for step in steps {
            run.take(step);
            check_invariants(&run.world);
        }
        let world = &run.world;
        let live: BTreeMap<_, _> = world.states.iter().filter(|(id, _)| world.log.iter().any(|(stream, ..)| stream == *id)).map(|(id, state)| (*id, state.clone())).collect();
        prop_assert_eq!(&replayed(world), &live);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "a place in a short log")]
        let cut = (cut * world.log.len() as f64) as usize;
        prop_assert_eq!(&from_snapshot(world, cut), &live);
    }
}

//! Conversation: a long-lived place to talk. It has a focus, takes inputs and holds what is to be delivered.
//!
//! Invariants: an input is recorded together with the decision that was made of it; focus moves only as
//! DESIGN §3.8 says; a delivery that was queued stays here until it is settled.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use crate::approval::{Decision, Source, Verdict};
use crate::channel::Channel;
use crate::command::Command;
use crate::content::{ContentBlock, plain_text};
use crate::correction::Correction;
use crate::delivery::{Cause, Delivery, DeliveryOutcome};
use crate::effect::Effect;
use crate::execution::Role;
use crate::identity::Identity;
use crate::ids::{ApprovalId, ConversationId, DeliveryId, ExecutionId, InputId, PersonId, ProjectId, TaskId, TurnId};
use crate::input::{QueuedInput, Urgency};
use crate::notice::{Quiet, Reasons, Told};
use crate::outbound::{self, Progress, Stage};
use crate::person::{Group, PersonCommand};
use crate::project::ProjectCommand;
use crate::rejection::Rejection;
use crate::reply::Reply;
use crate::route::{Intent, RouteDecision};
use crate::router;
use crate::site::WorktreeSeed;
use crate::stream::StreamId;
use crate::task::{ForkSeed, TaskCommand, TaskSeed};
use crate::time::Timestamp;

/// A conversation's state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Conversation {
    /// Which.
    pub id: ConversationId,
    /// Where it takes place.
    pub channel: Channel,
    /// Who opened it.
    pub person: PersonId,
    /// The project that a new task would belong to.
    pub project: Option<ProjectId>,
    /// Where it is on its platform, for one that messages are pushed to.
    #[serde(default)]
    pub address: Option<Address>,
    /// The task that an unmarked message continues, per person.
    pub focus: BTreeMap<PersonId, TaskId>,
    /// What is on its way out.
    pub outbound: Vec<Delivery>,
    /// The messages that ask for a decision, by what they ask about, so that they can say how it ended.
    #[serde(default)]
    pub asking: BTreeMap<ApprovalId, String>,
    /// The messages that tell of work that goes on, by the turn that leads it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub progress: BTreeMap<TurnId, Progress>,
    /// What it is told, and what waits for quiet hours to end.
    #[serde(default)]
    pub told: Told,
}

/// Where a conversation is on its platform.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Address {
    /// The place. Only the channel can read it.
    pub place: String,
    /// With whom alone it is. Nothing is sent there once that identity is not the person's any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub with: Option<Identity>,
}

impl Conversation {
    /// One in which nothing was said yet.
    #[must_use]
    pub fn new(id: ConversationId, channel: Channel, person: PersonId, project: Option<ProjectId>) -> Self {
        Conversation {
            id,
            channel,
            person,
            project,
            address: None,
            focus: BTreeMap::new(),
            outbound: vec![],
            asking: BTreeMap::new(),
            progress: BTreeMap::new(),
            told: Told::default(),
        }
    }
}

/// A message together with what was made of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Received {
    /// Which.
    pub input: InputId,
    /// Who said it.
    pub person: PersonId,
    /// What they said.
    pub content: Vec<ContentBlock>,
    /// What was made of it.
    pub decision: RouteDecision,
    /// What a new task, or a new execution, starts from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub birth: Option<Birth>,
    /// Where it goes in the queue.
    #[serde(default)]
    pub urgency: Urgency,
    /// What Throughline itself says to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<Reply>,
    /// The platform's name of the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// What an input gives birth to, with ids that were minted outside.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "birth", rename_all = "snake_case")]
pub enum Birth {
    /// A task.
    Task {
        /// Which.
        task: TaskId,
        /// What it starts from.
        seed: TaskSeed,
        /// The worktree that its first execution gets, if it gets one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        worktree: Option<WorktreeSeed>,
    },
    /// A task that goes another way from where another one stands.
    Fork {
        /// Which.
        task: TaskId,
        /// What it starts from.
        seed: TaskSeed,
        /// What it gets from its source.
        fork: Box<ForkSeed>,
    },
    /// An execution under a task that is there.
    Execution {
        /// Which.
        execution: ExecutionId,
    },
}

/// What can be asked of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ConversationCommand {
    /// Make it; nothing happens if it is there.
    Open {
        /// Which.
        conversation: ConversationId,
        /// Where it takes place.
        channel: Channel,
        /// Who opens it.
        person: PersonId,
        /// The project that a new task would belong to.
        project: Option<ProjectId>,
        /// Where it is on its platform.
        #[serde(default)]
        address: Option<Address>,
    },
    /// Take a message.
    Receive(Box<Received>),
    /// Move a message to where it was meant.
    Correct(Box<Correction>),
    /// Turn to another task.
    Focus {
        /// Who.
        person: PersonId,
        /// To which task.
        task: TaskId,
    },
    /// Send something out.
    Deliver {
        /// What.
        delivery: Delivery,
    },
    /// A task goes on, or its work is over.
    Report {
        /// Which.
        task: TaskId,
        /// The turn that leads it on: it has one message.
        turn: TurnId,
        /// Whether it still does.
        stage: Stage,
    },
    /// Be told for these reasons, and no other.
    ChooseReasons {
        /// Which.
        reasons: Reasons,
    },
    /// Its person wants quiet at these hours.
    KeepQuiet {
        /// Which; none any more if none.
        quiet: Option<Quiet>,
    },
    /// It is quiet: keep this for later.
    HoldDelivery {
        /// Which.
        delivery: DeliveryId,
        /// Until when it is quiet.
        until: Timestamp,
    },
    /// Quiet hours are over.
    EndQuiet,
    /// Tell what happened lately, in one message.
    Digest,
    /// It is handed to the platform now.
    AttemptDelivery {
        /// Which.
        delivery: DeliveryId,
    },
    /// The platform has certainly not taken it, and will be tried again.
    PostponeDelivery {
        /// Which.
        delivery: DeliveryId,
        /// Why.
        #[serde(default)]
        cause: Option<Cause>,
    },
    /// Say what became of it.
    SettleDelivery {
        /// Which.
        delivery: DeliveryId,
        /// How it ended.
        outcome: DeliveryOutcome,
        /// The platform's name of the message that it became.
        #[serde(default)]
        message: Option<String>,
        /// Why it did not arrive.
        #[serde(default)]
        cause: Option<Cause>,
    },
}

/// What happened in a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ConversationEvent {
    /// It was opened.
    ConversationOpened {
        /// Which.
        conversation: ConversationId,
        /// Where it takes place.
        channel: Channel,
        /// Who opened it.
        person: PersonId,
        /// The project that a new task would belong to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        project: Option<ProjectId>,
        /// Where it is on its platform.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        address: Option<Address>,
    },
    /// A message came in, and this was made of it.
    InputReceived(Box<Received>),
    /// A message was meant otherwise.
    InputCorrected(Box<Correction>),
    /// The focus moved.
    FocusMoved {
        /// Whose.
        person: PersonId,
        /// To which task.
        task: TaskId,
    },
    /// Something is to be sent.
    DeliveryQueued {
        /// What.
        delivery: Delivery,
    },
    /// It is told for these reasons, and no other.
    ReasonsChosen {
        /// Which.
        reasons: Reasons,
    },
    /// Its person wants quiet at these hours.
    QuietKept {
        /// Which; none any more if none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        quiet: Option<Quiet>,
    },
    /// It is quiet, so this waits.
    DeliveryHeld {
        /// Which.
        delivery: DeliveryId,
        /// Until when it is quiet.
        until: Timestamp,
    },
    /// It was about to be handed to the platform.
    DeliveryAttempted {
        /// Which.
        delivery: DeliveryId,
    },
    /// The platform has certainly not taken it yet.
    DeliveryPostponed {
        /// Which.
        delivery: DeliveryId,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cause: Option<Cause>,
    },
    /// This became of it.
    DeliverySettled {
        /// Which.
        delivery: DeliveryId,
        /// How it ended.
        outcome: DeliveryOutcome,
        /// The platform's name of the message that it became.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        /// Why it did not arrive.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cause: Option<Cause>,
    },
}

pub(crate) fn decide(
    state: Option<&Conversation>,
    command: ConversationCommand,
    at: Timestamp,
) -> Result<Vec<ConversationEvent>, Rejection> {
    let Some(state) = state else {
        return match command {
            ConversationCommand::Open { conversation, channel, person, project, address } => {
                Ok(vec![ConversationEvent::ConversationOpened { conversation, channel, person, project, address }])
            }
            ConversationCommand::Receive(_)
            | ConversationCommand::Correct(_)
            | ConversationCommand::Focus { .. }
            | ConversationCommand::Deliver { .. }
            | ConversationCommand::Report { .. }
            | ConversationCommand::ChooseReasons { .. }
            | ConversationCommand::KeepQuiet { .. }
            | ConversationCommand::HoldDelivery { .. }
            | ConversationCommand::EndQuiet
            | ConversationCommand::Digest
            | ConversationCommand::AttemptDelivery { .. }
            | ConversationCommand::PostponeDelivery { .. }
            | ConversationCommand::SettleDelivery { .. } => Err(Rejection::NotFound { what: "conversation" }),
        };
    };
    match command {
        ConversationCommand::Open { .. } => Ok(vec![]),
        ConversationCommand::Receive(received) => receive(state, *received, at),
        ConversationCommand::Correct(correction) => Ok(correct(state, *correction)),
        ConversationCommand::Focus { person, task } => Ok(moved(state, person, task).into_iter().collect()),
        // Who reads the stream has it already.
        ConversationCommand::Deliver { .. } if !state.channel.pushes() => Ok(vec![]),
        ConversationCommand::Report { .. } if !state.channel.pushes() => Ok(vec![]),
        ConversationCommand::Deliver { delivery } => Ok(outbound::deliver(state, delivery)),
        ConversationCommand::Report { task, turn, stage } => Ok(outbound::report(state, task, turn, stage, at)),
        ConversationCommand::ChooseReasons { reasons } => Ok(match state.told.reasons == reasons {
            true => vec![],
            false => vec![ConversationEvent::ReasonsChosen { reasons }],
        }),
        ConversationCommand::KeepQuiet { quiet } => Ok(outbound::keep_quiet(state, quiet, at)),
        ConversationCommand::HoldDelivery { delivery, until } => Ok(outbound::hold(state, delivery, until)),
        ConversationCommand::EndQuiet if state.told.held.is_empty() => Ok(vec![]),
        ConversationCommand::EndQuiet | ConversationCommand::Digest => Ok(outbound::digest(state, at)),
        ConversationCommand::AttemptDelivery { delivery } => {
            Ok(match state.outbound.iter().any(|known| known.id == delivery && !known.handed.attempted) {
                true => vec![ConversationEvent::DeliveryAttempted { delivery }],
                false => vec![],
            })
        }
        ConversationCommand::PostponeDelivery { delivery, cause } => {
            Ok(match state.outbound.iter().any(|known| known.id == delivery && known.handed.attempted) {
                true => vec![ConversationEvent::DeliveryPostponed { delivery, cause }],
                false => vec![],
            })
        }
        ConversationCommand::SettleDelivery { delivery, outcome, message, cause } => {
            Ok(outbound::settle(state, delivery, outcome, message, cause, at))
        }
    }
}

fn receive(state: &Conversation, received: Received, at: Timestamp) -> Result<Vec<ConversationEvent>, Rejection> {
    if received.content.is_empty() {
        return Err(Rejection::Empty);
    }
    let forks = matches!(received.birth, Some(Birth::Fork { .. }));
    if matches!(received.decision.intent, Intent::Fork { .. }) && !forks {
        return Err(Rejection::NotAvailable { what: "forking from here" });
    }
    let person = received.person;
    let target = received.addressed();
    // Where nobody watches, whoever spoke is told what was made of it.
    let answer = state.channel.pushes().then(|| Delivery::answer(&received, at));
    let mut events = vec![ConversationEvent::InputReceived(Box::new(received))];
    events.extend(target.and_then(|task| moved(state, person, task)));
    events.extend(answer.map(|delivery| ConversationEvent::DeliveryQueued { delivery }));
    Ok(events)
}

fn correct(state: &Conversation, correction: Correction) -> Vec<ConversationEvent> {
    let person = correction.person;
    let target = correction.task();
    if target == correction.from {
        return vec![];
    }
    let mut events = vec![ConversationEvent::InputCorrected(Box::new(correction))];
    events.extend(target.and_then(|task| moved(state, person, task)));
    events
}

fn moved(state: &Conversation, person: PersonId, task: TaskId) -> Option<ConversationEvent> {
    (state.focus.get(&person) != Some(&task)).then_some(ConversationEvent::FocusMoved { person, task })
}

pub(crate) fn evolve(state: &mut Option<Conversation>, event: &ConversationEvent, at: Timestamp) {
    match (state.as_mut(), event) {
        (_, ConversationEvent::ConversationOpened { conversation, channel, person, project, address }) => {
            let opened = Conversation::new(*conversation, *channel, *person, *project);
            *state = Some(Conversation { address: address.clone(), ..opened });
        }
        (Some(state), ConversationEvent::FocusMoved { person, task }) => {
            state.focus.insert(*person, *task);
        }
        (Some(state), ConversationEvent::DeliveryQueued { delivery }) => outbound::queued(state, delivery, at),
        (Some(state), ConversationEvent::ReasonsChosen { reasons }) => state.told.reasons = reasons.clone(),
        (Some(state), ConversationEvent::QuietKept { quiet }) => {
            state.told.quiet.clone_from(quiet);
            // Whoever chooses quiet hours wants them kept, also if they wrote a moment ago.
            state.told.spoken_at = None;
        }
        (Some(state), ConversationEvent::DeliveryHeld { delivery, .. }) => outbound::held(state, *delivery),
        (Some(state), ConversationEvent::DeliveryAttempted { delivery }) => {
            outbound::attempted(state, *delivery);
        }
        (Some(state), ConversationEvent::DeliveryPostponed { delivery, cause }) => {
            outbound::postponed(state, *delivery, cause.as_ref());
        }
        (Some(state), ConversationEvent::DeliverySettled { delivery, outcome, message, .. }) => {
            outbound::settled(state, *delivery, *outcome, message.as_deref(), at);
        }
        (Some(state), ConversationEvent::InputReceived(_)) => state.told.spoken_at = Some(at),
        (Some(_), ConversationEvent::InputCorrected(_)) => {}
        (
            None,
            ConversationEvent::FocusMoved { .. }
            | ConversationEvent::DeliveryQueued { .. }
            | ConversationEvent::ReasonsChosen { .. }
            | ConversationEvent::QuietKept { .. }
            | ConversationEvent::DeliveryHeld { .. }
            | ConversationEvent::DeliveryAttempted { .. }
            | ConversationEvent::DeliveryPostponed { .. }
            | ConversationEvent::DeliverySettled { .. }
            | ConversationEvent::InputReceived(_)
            | ConversationEvent::InputCorrected(_),
        ) => {}
    }
}

pub(crate) fn react(state: &Conversation, event: &ConversationEvent, at: Timestamp) -> Vec<Effect> {
    match event {
        ConversationEvent::InputReceived(received) => {
            wrote(state, received).into_iter().chain(carry_out(state, received, at)).collect()
        }
        ConversationEvent::DeliveryHeld { until, .. } => vec![Effect::Later {
            timer: format!("quiet:{}", state.id),
            at: *until,
            to: StreamId::Conversation(state.id),
            command: Box::new(Command::Conversation(ConversationCommand::EndQuiet)),
        }],
        ConversationEvent::InputCorrected(correction) => move_input(state, correction),
        ConversationEvent::DeliveryQueued { delivery } => {
            vec![Effect::Deliver { conversation: state.id, delivery: delivery.id, at: delivery.due_at }]
        }
        ConversationEvent::ConversationOpened { address: Some(Address { with: Some(identity), .. }), .. } => {
            let met = PersonCommand::Meet { conversation: state.id, identity: identity.clone() };
            vec![Effect::Tell { to: StreamId::Person(state.person), command: Box::new(Command::Person(met)) }]
        }
        ConversationEvent::ConversationOpened { .. }
        | ConversationEvent::FocusMoved { .. }
        | ConversationEvent::ReasonsChosen { .. }
        | ConversationEvent::QuietKept { .. }
        | ConversationEvent::DeliveryAttempted { .. }
        | ConversationEvent::DeliveryPostponed { .. }
        | ConversationEvent::DeliverySettled { .. } => vec![],
    }
}

/// Where a person writes from is where they are.
fn wrote(state: &Conversation, received: &Received) -> Option<Effect> {
    let from = match &state.address.as_ref()?.with {
        Some(_) => PersonCommand::WriteFrom { conversation: state.id },
        None => PersonCommand::SpeakIn { group: Group { conversation: state.id, channel: state.channel } },
    };
    Some(Effect::Tell { to: StreamId::Person(received.person), command: Box::new(Command::Person(from)) })
}

/// What a decision makes of an input, told to the aggregates that it concerns.
fn carry_out(state: &Conversation, received: &Received, at: Timestamp) -> Vec<Effect> {
    let queued = || QueuedInput {
        input: received.input,
        person: received.person,
        conversation: state.id,
        content: received.content.clone(),
        at,
    };
    let tell = |task: TaskId, command: TaskCommand| Effect::Tell {
        to: StreamId::Task(task),
        command: Box::new(Command::Task(command)),
    };
    let enqueue =
        |task, execution| tell(task, TaskCommand::Enqueue { queued: queued(), execution, urgency: received.urgency });
    match (&received.decision.intent, &received.birth) {
        (Intent::NewTask { .. }, Some(Birth::Task { task, seed, worktree })) => {
            let mut effects = new_task(*task, seed, received.person, state.id);
            let give = |worktree| TaskCommand::GiveWorktree { execution: seed.execution, seed: worktree };
            effects.extend(worktree.clone().map(|worktree| tell(*task, give(worktree))));
            effects.push(enqueue(*task, None));
            effects
        }
        (Intent::Fork { .. }, Some(Birth::Fork { task, seed, fork })) => {
            let mut effects = fork_task(*task, seed, fork, state.id);
            effects.push(enqueue(*task, None));
            effects
        }
        (Intent::AddExecution { task, agent, role }, Some(Birth::Execution { execution })) => {
            vec![tell(*task, add(*execution, agent, *role)), enqueue(*task, Some(*execution))]
        }
        (Intent::Continue { task, execution }, _) => vec![enqueue(*task, *execution)],
        (Intent::Answer { task, execution }, _) => {
            let (queued, execution, urgency) = (queued(), *execution, received.urgency);
            vec![tell(*task, TaskCommand::Answer { queued, execution, urgency })]
        }
        // Another agent is told what the person said; another model waits for the next message.
        (Intent::SwitchAgent { task, agent, model }, Some(Birth::Execution { execution })) => {
            let switch = TaskCommand::Switch { execution: *execution, agent: agent.clone(), model: model.clone() };
            let switched = tell(*task, switch);
            if agent.is_some() { vec![switched, enqueue(*task, None)] } else { vec![switched] }
        }
        (Intent::FreshSession { task }, _) => vec![tell(*task, TaskCommand::Fresh)],
        (Intent::Retry { task, execution }, _) => {
            vec![tell(*task, TaskCommand::Retry { person: received.person, execution: *execution })]
        }
        (Intent::Cancel { running, .. }, _) => running.iter().map(|task| tell(*task, TaskCommand::Cancel)).collect(),
        (Intent::Close { task }, _) => vec![tell(*task, TaskCommand::Close { person: received.person })],
        (Intent::Approve { task, approval, .. }, _) => {
            vec![tell(*task, decide_approval(state, *approval, Verdict::Approve, received.person, None))]
        }
        (Intent::Deny { task, approval }, _) => {
            let reason = router::reason(&plain_text(&received.content));
            vec![tell(*task, decide_approval(state, *approval, Verdict::Deny, received.person, reason))]
        }
        (
            Intent::NewTask { .. }
            | Intent::AddExecution { .. }
            | Intent::SwitchAgent { .. }
            | Intent::Fork { .. }
            | Intent::Status { .. }
            | Intent::Focus { .. }
            | Intent::Correct { .. }
            | Intent::Clarify { .. }
            | Intent::Ack
            | Intent::Help,
            _,
        ) => vec![],
    }
}

/// Makes a task, and has it numbered.
fn new_task(task: TaskId, seed: &TaskSeed, person: PersonId, conversation: ConversationId) -> Vec<Effect> {
    let create = TaskCommand::Create { seed: seed.clone(), person, conversation };
    vec![
        Effect::Tell { to: StreamId::Task(task), command: Box::new(Command::Task(create)) },
        Effect::Tell {
            to: StreamId::Project(seed.project),
            command: Box::new(Command::Project(ProjectCommand::NumberTask { task })),
        },
    ]
}

/// Makes a fork: the task, what it gets from its source, and then its number, by which the source is told of it.
#[must_use]
pub fn fork_task(task: TaskId, seed: &TaskSeed, fork: &ForkSeed, conversation: ConversationId) -> Vec<Effect> {
    let project = seed.project;
    let create = TaskCommand::Create { seed: seed.clone(), person: fork.person, conversation };
    let tell = |command| Effect::Tell { to: StreamId::Task(task), command: Box::new(Command::Task(command)) };
    vec![
        tell(create),
        tell(TaskCommand::BecomeFork { seed: Box::new(fork.clone()) }),
        Effect::Tell {
            to: StreamId::Project(project),
            command: Box::new(Command::Project(ProjectCommand::NumberTask { task })),
        },
    ]
}

/// Takes a message out of the task that had it, and gives it to the one that it was meant for.
fn move_input(state: &Conversation, correction: &Correction) -> Vec<Effect> {
    let Some(to) = correction.task() else { return vec![] };
    let tell = |task: TaskId, command: TaskCommand| Effect::Tell {
        to: StreamId::Task(task),
        command: Box::new(Command::Task(command)),
    };
    let Correction { input, person, started, interrupt, .. } = *correction;
    let mut effects = vec![];
    if let Some(from) = correction.from {
        effects.push(tell(from, TaskCommand::MoveOut { input, to, person, started, interrupt }));
    }
    if let Some(Birth::Task { task, seed, .. }) = &correction.birth {
        effects.push(tell(*task, TaskCommand::Create { seed: seed.clone(), person, conversation: state.id }));
        effects.push(Effect::Tell {
            to: StreamId::Project(seed.project),
            command: Box::new(Command::Project(ProjectCommand::NumberTask { task: *task })),
        });
    }
    let queued = QueuedInput {
        input,
        person,
        conversation: state.id,
        content: correction.content.clone(),
        at: correction.said_at,
    };
    effects.push(tell(to, TaskCommand::MoveIn { queued, from: correction.from }));
    effects
}

fn add(execution: ExecutionId, agent: &str, role: Role) -> TaskCommand {
    TaskCommand::AddExecution { execution, agent: agent.to_owned(), role, worktree: None }
}

/// A yes or no in words. What it is about was shown as this channel shows things.
fn decide_approval(
    conversation: &Conversation,
    approval: ApprovalId,
    verdict: Verdict,
    by: PersonId,
    reason: Option<String>,
) -> TaskCommand {
    let source = Source { surface: conversation.channel, identity: None, conversation: Some(conversation.id) };
    let decision = Decision { verdict, by, source, digest: None, option: None, reason };
    TaskCommand::DecideApproval { approval, decision: Box::new(decision) }
}

impl Received {
    /// The task that it is addressed to, and that it moves the focus to: on a new task, on `focus` and on an input
    /// for another task; never on status, approval, denial or thanks (DESIGN §3.8).
    #[must_use]
    pub fn addressed(&self) -> Option<TaskId> {
        match &self.decision.intent {
            Intent::NewTask { .. } => match &self.birth {
                Some(Birth::Task { task, .. } | Birth::Fork { task, .. }) => Some(*task),
                Some(Birth::Execution { .. }) | None => None,
            },
            Intent::Fork { .. } => self.task(),
            Intent::Continue { task, .. }
            | Intent::Answer { task, .. }
            | Intent::AddExecution { task, .. }
            | Intent::SwitchAgent { task, .. }
            | Intent::FreshSession { task }
            | Intent::Retry { task, .. }
            | Intent::Focus { task } => Some(*task),
            Intent::Status { .. }
            | Intent::Approve { .. }
            | Intent::Deny { .. }
            | Intent::Cancel { .. }
            | Intent::Close { .. }
            | Intent::Correct { .. }
            | Intent::Clarify { .. }
            | Intent::Ack
            | Intent::Help => None,
        }
    }

    /// The task that it went to: the one it was addressed to, or the one it gave birth to.
    #[must_use]
    pub fn task(&self) -> Option<TaskId> {
        match &self.birth {
            Some(Birth::Task { task, .. } | Birth::Fork { task, .. }) => Some(*task),
            Some(Birth::Execution { .. }) | None => self.decision.intent.task(),
        }
    }
}

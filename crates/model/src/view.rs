//! Views: what lists and look-ups need of an aggregate, as rows that are written in the same transaction.
//!
//! A row is a pure function of the state, or of one event; nothing here is a source of truth.

use serde::{Deserialize, Serialize};

use crate::approval::{Approval, Settlement};
use crate::budget::Spent;
use crate::conversation::ConversationEvent;
use crate::delivery::{Cause, Delivery, DeliveryOutcome, PushReason};
use crate::event::Event;
use crate::execution::{Activity, Execution, Role};
use crate::ids::{
    ApprovalId, ConversationId, DecisionId, DeliveryId, ExecutionId, InputId, PersonId, ProjectId, TaskId, TurnId,
};
use crate::person::{Offer, PersonEvent};
use crate::question::QuestionSettlement;
use crate::reply::Reply;
use crate::route::RouteDecision;
use crate::state::State;
use crate::stream::StreamId;
use crate::task::{Lifecycle, Task, TaskEvent};
use crate::time::Timestamp;

/// How much of a request a list shows.
const ASKED_CHARS: usize = 200;

/// A row to be written, whole, in place of the one with the same id.
#[derive(Clone, Debug, PartialEq)]
pub enum Row {
    /// Of the list of tasks.
    Task(Box<TaskRow>),
    /// Of the list of projects.
    Project(ProjectRow),
    /// Of the inputs.
    Input(Box<InputRow>),
    /// An input became a turn, or was withdrawn.
    InputMoved(InputMoved),
    /// Of the approvals.
    Approval(Box<ApprovalRow>),
    /// Of the outbox.
    Delivery(DeliveryRow),
    /// A person addressed a task.
    Addressed(Addressed),
    /// Of the names by which things are found.
    Name(NameRow),
}

/// A task in a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskRow {
    /// Which.
    pub id: TaskId,
    /// The handle that a person types.
    pub key: String,
    /// Of which project.
    pub project: ProjectId,
    /// What it is called.
    pub title: String,
    /// The person's axis.
    pub lifecycle: Lifecycle,
    /// The derived axis.
    pub activity: Activity,
    /// The primary execution's agent.
    pub agent: String,
    /// The last words of an agent.
    pub last_said: String,
    /// What it waits for a yes to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_for: Option<WaitingFor>,
    /// How many steps of the plan are done, and of how many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<(usize, usize)>,
    /// Who works on it.
    #[serde(default)]
    pub executions: Vec<ExecutionRow>,
    /// The mode of an agent of it that asks for nothing at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unasked_mode: Option<String>,
    /// When something happened to it last.
    pub updated_at: Timestamp,
}

/// What a task waits for a yes to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum WaitingFor {
    /// What an agent asks to do.
    Approval(String),
    /// A new budget: this one is used up.
    Budget(Spent),
}

/// An execution in a task's row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutionRow {
    /// Which.
    pub id: ExecutionId,
    /// Whose.
    pub agent: String,
    /// As what.
    pub role: Role,
    /// What it does.
    pub activity: Activity,
    /// Whether unmarked messages go to it.
    pub primary: bool,
}

/// A person addressed a task, in whatever conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addressed {
    /// Who.
    pub person: PersonId,
    /// Which task.
    pub task: TaskId,
    /// When last.
    pub at: Timestamp,
}

/// A project in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectRow {
    /// Which.
    pub id: ProjectId,
    /// What it is called.
    pub name: String,
    /// Where it is.
    pub root: String,
    /// Its default agent.
    pub agent: String,
}

/// An input and what was made of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InputRow {
    /// Which.
    pub id: InputId,
    /// Where it was said.
    pub conversation: ConversationId,
    /// Who said it.
    pub person: PersonId,
    /// What was made of it.
    pub decision: RouteDecision,
    /// The task it went to.
    pub task: Option<TaskId>,
    /// The turn it became.
    pub turn: Option<TurnId>,
    /// What Throughline itself said to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<Reply>,
    /// When.
    pub at: Timestamp,
}

/// What became of an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputMoved {
    /// Which.
    pub id: InputId,
    /// The turn it became; none if it was withdrawn.
    pub turn: Option<TurnId>,
}

/// An approval, pending or settled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalRow {
    /// Which.
    pub id: ApprovalId,
    /// Of which task.
    pub task: TaskId,
    /// The request.
    pub approval: Approval,
    /// `pending`, or how it was settled.
    pub state: String,
    /// When it was asked.
    pub asked_at: Timestamp,
    /// How it was settled, and when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled: Option<Settled>,
}

/// How an approval was settled, for the audit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settled {
    /// How.
    pub settlement: Settlement,
    /// When.
    pub at: Timestamp,
}

/// An outbound message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliveryRow {
    /// Which.
    pub id: DeliveryId,
    /// To which conversation.
    pub conversation: ConversationId,
    /// About which task.
    pub task: Option<TaskId>,
    /// What it says.
    pub text: String,
    /// The request that it asks about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<ApprovalId>,
    /// The message that it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<InputId>,
    /// Why it is sent. What was written before this was kept does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub push: Option<PushReason>,
    /// `pending`, `sending`, `held`, or how it ended.
    pub state: String,
    /// How often it was handed to the platform.
    #[serde(default)]
    pub tries: u32,
    /// Why it did not arrive, or not yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// The platform's name of the message that it became.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// When it last changed.
    pub at: Timestamp,
}

/// A name by which something is found: a person by an identity or a code, a delivery by its message on a platform.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NameRow {
    /// The name: what it is a name of comes first in it.
    pub name: String,
    /// The id of what it names; none if it names nothing any more.
    pub of: Option<String>,
}

impl NameRow {
    /// The name of a message of a conversation, as its platform calls it.
    #[must_use]
    pub fn of_message(conversation: ConversationId, message: &str) -> String {
        format!("message:{conversation}:{message}")
    }
}

impl InputRow {
    /// The decision's own id, by which it is corrected.
    #[must_use]
    pub fn decision_id(&self) -> DecisionId {
        self.decision.id
    }
}

/// The rows that an event changes, given the state before and after it.
#[must_use]
pub fn rows(stream: StreamId, before: &State, after: &State, event: &Event, at: Timestamp) -> Vec<Row> {
    match (event, after) {
        (Event::Task(event), State::Task(Some(task))) => {
            let mut rows = task_event_rows(task.id, before, event, at);
            let row = TaskRow::of(task, at);
            let known = before.task().map(|task| TaskRow::of(task, at));
            // An item that changed nothing a list shows costs no row.
            if known.as_ref() != Some(&row) || !matches!(event, TaskEvent::ItemRecorded { .. }) {
                rows.push(Row::Task(Box::new(row)));
            }
            rows
        }
        (Event::Project(_), State::Project(Some(project))) => vec![Row::Project(ProjectRow {
            id: project.id,
            name: project.name.clone(),
            root: project.roots.first().cloned().unwrap_or_default(),
            agent: project.default_agent.clone(),
        })],
        (Event::Conversation(event), _) => conversation_rows(stream, before, after, event, at),
        (Event::Person(event), State::Person(Some(person))) => person_names(person.id, event),
        (Event::Person(_) | Event::Workspace(_) | Event::Task(_) | Event::Project(_), _) => vec![],
    }
}

fn person_names(person: PersonId, event: &PersonEvent) -> Vec<Row> {
    let named =
        |name: String, of: Option<PersonId>| vec![Row::Name(NameRow { name, of: of.map(|person| person.to_string()) })];
    match event {
        PersonEvent::IdentityLinked { identity } => named(identity.name(), Some(person)),
        PersonEvent::IdentityUnlinked { identity } => named(identity.name(), None),
        PersonEvent::PairingOffered { offer } => named(Offer::name(&offer.digest), Some(person)),
        PersonEvent::PairingSpent { digest } => named(Offer::name(digest), None),
        PersonEvent::PersonEnrolled { .. }
        | PersonEvent::LocaleChosen { .. }
        | PersonEvent::ChatTurnedTo { .. }
        | PersonEvent::GroupMet { .. }
        | PersonEvent::QuietChosen { .. }
        | PersonEvent::MainChosen { .. }
        | PersonEvent::NewsPassedOn { .. }
        | PersonEvent::ChatMet { .. } => vec![],
    }
}

impl TaskRow {
    fn of(task: &Task, at: Timestamp) -> Self {
        let primary = task.primary();
        let pending = task.approvals.pending.first();
        let live = task.executions.iter().filter(|execution| execution.ended.is_none());
        TaskRow {
            id: task.id,
            key: task.key.clone(),
            project: task.project,
            title: task.title.clone(),
            lifecycle: task.lifecycle,
            activity: task.activity(),
            agent: primary.map(|execution| execution.agent.clone()).unwrap_or_default(),
            last_said: task.last_said().to_owned(),
            waiting_for: pending
                .map(|pending| WaitingFor::Approval(pending.approval.ask.title.chars().take(ASKED_CHARS).collect()))
                .or_else(|| task.spent().map(WaitingFor::Budget)),
            plan: task.plan.progress(),
            executions: live.map(|execution| ExecutionRow::of(task, execution)).collect(),
            unasked_mode: task.unasked_mode(),
            updated_at: at,
        }
    }

    /// The agent that the activity is of.
    pub(crate) fn foremost(&self) -> &str {
        let urgent = self.executions.iter().min_by_key(|known| (known.activity.rank(), !known.primary));
        match &self.waiting_for {
            Some(WaitingFor::Budget(_)) => &self.agent,
            Some(WaitingFor::Approval(_)) | None => urgent.map_or(&self.agent, |known| &known.agent),
        }
    }
}

impl ExecutionRow {
    fn of(task: &Task, execution: &Execution) -> Self {
        let asks = task.approvals.pending.iter().any(|pending| pending.approval.execution == execution.id);
        ExecutionRow {
            id: execution.id,
            agent: execution.agent.clone(),
            role: execution.role,
            activity: if asks { Activity::WaitingApproval } else { execution.activity() },
            primary: execution.primary,
        }
    }
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "a row of its own is the exception; the task's row is written for every event"
)]
fn task_event_rows(task: TaskId, before: &State, event: &TaskEvent, at: Timestamp) -> Vec<Row> {
    match event {
        TaskEvent::TurnRequested { turn, input, .. } => {
            vec![Row::InputMoved(InputMoved { id: *input, turn: Some(*turn) })]
        }
        // A message that answers becomes no turn: it belongs to the one that asked.
        TaskEvent::QuestionSettled {
            turn,
            settlement: QuestionSettlement::Answered { input: Some(input), .. },
            ..
        } => vec![Row::InputMoved(InputMoved { id: *input, turn: Some(*turn) })],
        TaskEvent::InputWithdrawn { input } => vec![Row::InputMoved(InputMoved { id: *input, turn: None })],
        TaskEvent::ApprovalRequested { approval } => vec![Row::Approval(Box::new(ApprovalRow {
            id: approval.id,
            task,
            approval: (**approval).clone(),
            state: "pending".into(),
            asked_at: at,
            settled: None,
        }))],
        TaskEvent::ApprovalSettled { approval, settlement } => before
            .task()
            .and_then(|task| task.approvals.pending(*approval))
            .map(|known| {
                Row::Approval(Box::new(ApprovalRow {
                    id: *approval,
                    task,
                    approval: known.approval.clone(),
                    state: settlement.word().into(),
                    asked_at: known.asked_at,
                    settled: Some(Settled { settlement: settlement.clone(), at }),
                }))
            })
            .into_iter()
            .collect(),
        _ => vec![],
    }
}

fn conversation_rows(
    stream: StreamId,
    before: &State,
    after: &State,
    event: &ConversationEvent,
    at: Timestamp,
) -> Vec<Row> {
    let StreamId::Conversation(conversation) = stream else { return vec![] };
    match event {
        ConversationEvent::InputReceived(received) => {
            let person = received.person;
            let input = InputRow {
                id: received.input,
                conversation,
                person,
                decision: received.decision.clone(),
                task: received.task(),
                turn: None,
                reply: received.reply.clone(),
                at,
            };
            let addressed = received.addressed().map(|task| Row::Addressed(Addressed { person, task, at }));
            let name = received.message.as_ref().map(|message| {
                // Who answers this message means what its answer is about.
                let of = Delivery::answer_id(received.input).to_string();
                Row::Name(NameRow { name: NameRow::of_message(conversation, message), of: Some(of) })
            });
            [Row::Input(Box::new(input))].into_iter().chain(addressed).chain(name).collect()
        }
        ConversationEvent::InputCorrected(correction) => {
            let person = correction.person;
            let input = InputRow {
                id: correction.input,
                conversation,
                person,
                decision: correction.decision.clone(),
                task: correction.task(),
                turn: None,
                reply: None,
                at: correction.said_at,
            };
            let addressed = correction.task().map(|task| Row::Addressed(Addressed { person, task, at }));
            [Row::Input(Box::new(input))].into_iter().chain(addressed).collect()
        }
        ConversationEvent::DeliveryQueued { delivery } => {
            vec![Row::Delivery(delivery_row(conversation, delivery, "pending", at))]
        }
        ConversationEvent::DeliveryPostponed { delivery, .. } => went_on(after, *delivery, "pending", at),
        ConversationEvent::DeliveryHeld { delivery, .. } => went_on(after, *delivery, "held", at),
        ConversationEvent::DeliveryAttempted { delivery } => went_on(after, *delivery, "sending", at),
        ConversationEvent::DeliverySettled { delivery, outcome, message, cause } => {
            let Some(known) = on_its_way(before, *delivery) else { return vec![] };
            let row = delivery_row(conversation, known, outcome.word(), at);
            // What is too old says why it could not leave sooner; what arrived has nothing to explain.
            let cause = cause.clone().or(row.cause).filter(|_| *outcome != DeliveryOutcome::Sent);
            let row = DeliveryRow { message: message.clone(), cause, ..row };
            let name = message.as_ref().map(|message| NameRow {
                name: NameRow::of_message(conversation, message),
                of: Some(known.id.to_string()),
            });
            std::iter::once(Row::Delivery(row)).chain(name.map(Row::Name)).collect()
        }
        ConversationEvent::ConversationOpened { .. }
        | ConversationEvent::ReasonsChosen { .. }
        | ConversationEvent::QuietKept { .. }
        | ConversationEvent::FocusMoved { .. } => vec![],
    }
}

/// The row of a delivery that is still on its way.
fn went_on(after: &State, delivery: DeliveryId, state: &str, at: Timestamp) -> Vec<Row> {
    let known = after.conversation().map(|conversation| conversation.id).zip(on_its_way(after, delivery));
    known.map(|(conversation, known)| Row::Delivery(delivery_row(conversation, known, state, at))).into_iter().collect()
}

/// A delivery that nobody has settled, held ones too.
fn on_its_way(before: &State, delivery: DeliveryId) -> Option<&Delivery> {
    let state = before.conversation()?;
    state.outbound.iter().chain(&state.told.held).find(|known| known.id == delivery)
}

fn delivery_row(conversation: ConversationId, delivery: &Delivery, state: &str, at: Timestamp) -> DeliveryRow {
    DeliveryRow {
        id: delivery.id,
        conversation,
        task: delivery.task,
        text: delivery.text.clone(),
        approval: delivery.approval,
        input: delivery.input,
        push: Some(delivery.push),
        state: state.to_owned(),
        tries: delivery.handed.tries,
        cause: delivery.handed.cause.clone(),
        message: None,
        at,
    }
}

impl DeliveryRow {
    /// The states of what nobody can say has arrived.
    pub const LOST: [&'static str; 3] = ["unknown", "dead", "expired"];

    /// Whether a person may have missed it. How far work is, is of no use later, and so no loss.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        let told = self.push.map_or(!self.text.is_empty(), PushReason::rings);
        told && Self::LOST.contains(&self.state.as_str())
    }
}

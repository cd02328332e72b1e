//! Task: what the person thinks they are doing. The unit of identity, and the aggregate that owns executions,
//! their runtime sessions and turns, approvals and the plan.
//!
//! Invariants:
//! - an execution has at most one active turn; what else was said to it waits in its queue;
//! - a prompt is handed on only in [`TurnStage::Running`](crate::turn::TurnStage), which a turn enters once;
//! - a runtime session is replaced for one of four reasons and for no other (see `runtime`);
//! - who speaks for a process must name the current epoch.

mod approvals;
mod decide;
mod evolve;
mod lifecycle;
mod react;
mod runtime;
mod turns;

use serde::{Deserialize, Serialize};

use crate::approval::{Approval, ApprovalOption, Ask, Settlement, Verdict};
use crate::checkpoint::Checkpoint;
use crate::execution::{Activity, Execution, ExecutionEnd, Role};
use crate::handoff::Handoff;
use crate::ids::{
    ApprovalId, ConversationId, ExecutionId, InputId, PersonId, ProjectId, RuntimeSessionId, TaskId, TurnId,
};
use crate::input::{QueuedInput, Urgency};
use crate::item::Item;
use crate::plan::{Plan, PlanEntry};
use crate::runtime_session::{Failure, ResumeCause, RuntimeDescription, SettingChange, StartReason};
use crate::time::Timestamp;
use crate::turn::{ActiveTurn, StopReason, StopWish, TurnOutcome, Usage};

pub(crate) use decide::decide;
pub(crate) use evolve::evolve;
pub(crate) use react::react;
pub use turns::Prompt;

/// A task's state. Items are not in it, so it stays small however long the task lives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// Which.
    pub id: TaskId,
    /// The handle that a person types; empty until the project has numbered it.
    pub key: String,
    /// Of which project.
    pub project: ProjectId,
    /// What it is called.
    pub title: String,
    /// What the person wanted.
    pub goal: String,
    /// Where its agents work.
    pub root: String,
    /// The person's axis of its state.
    pub lifecycle: Lifecycle,
    /// Conversations that take part, and so are told.
    pub conversations: Vec<ConversationId>,
    /// Attempts, oldest first.
    pub executions: Vec<Execution>,
    /// The plan as it stands.
    pub plan: Plan,
    /// What was pinned.
    pub notes: Vec<String>,
    /// Requests that nobody has decided.
    pub approvals: ApprovalDesk,
}

/// The requests of a task: the pending ones, and the newest settled ones, so that reading an agent's output again
/// after a crash does not ask anything twice.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalDesk {
    /// Nobody has decided them.
    pub pending: Vec<PendingApproval>,
    /// Somebody did, newest last.
    pub settled: Vec<ApprovalId>,
}

impl ApprovalDesk {
    /// How many settled ones are remembered.
    const REMEMBERED: usize = 64;

    /// Whether this request was made before.
    #[must_use]
    pub fn knows(&self, id: ApprovalId) -> bool {
        self.pending(id).is_some() || self.settled.contains(&id)
    }

    /// A pending request.
    #[must_use]
    pub fn pending(&self, id: ApprovalId) -> Option<&PendingApproval> {
        self.pending.iter().find(|known| known.approval.id == id)
    }

    pub(super) fn settle(&mut self, id: ApprovalId) {
        self.pending.retain(|known| known.approval.id != id);
        self.settled.push(id);
        if self.settled.len() > Self::REMEMBERED {
            self.settled.remove(0);
        }
    }
}

/// The person's axis of a task's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lifecycle {
    /// It goes on.
    Open,
    /// The person is done with it; any follow-up reopens it.
    Closed,
    /// It was put away.
    Archived,
}

/// A request that nobody has decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingApproval {
    /// The request.
    pub approval: Approval,
    /// When it was made.
    pub asked_at: Timestamp,
}

/// What a task starts from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskSeed {
    /// Of which project.
    pub project: ProjectId,
    /// What it is called.
    pub title: String,
    /// What the person wants.
    pub goal: String,
    /// Where its agents work.
    pub root: String,
    /// The first execution's id.
    pub execution: ExecutionId,
    /// Its agent.
    pub agent: String,
    /// Its role.
    pub role: Role,
}

/// What can be asked of a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum TaskCommand {
    /// Make it.
    Create {
        /// What it starts from.
        seed: TaskSeed,
        /// Who wants it.
        person: PersonId,
        /// Where they said so.
        conversation: ConversationId,
    },
    /// Give it its key.
    AssignKey {
        /// The handle that a person types.
        key: String,
    },
    /// Give a message to an execution.
    Enqueue {
        /// The message.
        queued: QueuedInput,
        /// Which execution; the primary one if none is named.
        execution: Option<ExecutionId>,
        /// Where it goes in the queue.
        urgency: Urgency,
    },
    /// Take a message back that was not dispatched.
    Withdraw {
        /// Which.
        input: InputId,
    },
    /// Add an agent in a role.
    AddExecution {
        /// Which.
        execution: ExecutionId,
        /// Whose profile.
        agent: String,
        /// As what.
        role: Role,
    },
    /// Go on with another agent or model.
    Switch {
        /// The id of the execution that takes over, if one does.
        execution: ExecutionId,
        /// Which agent; the same if none is named.
        agent: Option<String>,
        /// Which model; the agent's choice if none is named.
        model: Option<String>,
    },
    /// Stop what runs.
    Cancel,
    /// The agent did not stop when it was asked to.
    CancelOverdue {
        /// Which turn.
        turn: TurnId,
    },
    /// Run the last turn again.
    Retry {
        /// Who asks.
        person: PersonId,
    },
    /// Drop the provider's context.
    Fresh,
    /// The person is done with it.
    Close {
        /// Who.
        person: PersonId,
    },
    /// The person goes on with it.
    Reopen,
    /// Pin a note.
    PinNote {
        /// Who.
        person: PersonId,
        /// The words.
        text: String,
    },
    /// A turn got its lease.
    BeginTurn {
        /// Which.
        turn: TurnId,
    },
    /// A turn has to wait for its lease.
    HoldTurn {
        /// Which.
        turn: TurnId,
        /// For whom.
        behind: String,
    },
    /// Say yes or no.
    DecideApproval {
        /// To which request.
        approval: ApprovalId,
        /// Yes or no.
        verdict: Verdict,
        /// Who.
        by: PersonId,
        /// The digest of what they were shown, where they were shown one.
        digest: Option<String>,
        /// Why, in their words.
        reason: Option<String>,
    },
    /// A request's time is over.
    ExpireApproval {
        /// Which.
        approval: ApprovalId,
    },
    /// Stop an idle process; the native session stays bound.
    Park {
        /// Which runtime session.
        session: RuntimeSessionId,
        /// Why, in words.
        cause: String,
    },
    /// Keep a checkpoint.
    KeepCheckpoint {
        /// Which.
        checkpoint: Checkpoint,
    },
    /// What a runtime session's process did.
    Report {
        /// Which runtime session.
        session: RuntimeSessionId,
        /// Which of its processes. An older one is refused.
        epoch: u64,
        /// What it did.
        report: Report,
    },
}

/// What a runtime session's process did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "report", rename_all = "snake_case")]
pub enum Report {
    /// The native session is open.
    Opened {
        /// The agent's own id of it.
        native: String,
        /// What the agent is and can do.
        description: Box<RuntimeDescription>,
    },
    /// It could not be opened.
    OpenFailed {
        /// Why.
        failure: Failure,
        /// Whether the native session is gone, or only this attempt failed.
        native: NativeFate,
    },
    /// Something about the session changed.
    Changed(SettingChange),
    /// An item was seen, or seen changed.
    Recorded(Box<Item>),
    /// The plan changed.
    PlanRevised {
        /// All its entries.
        entries: Vec<PlanEntry>,
    },
    /// The agent gave the work a title.
    Titled {
        /// Its words.
        title: String,
    },
    /// The agent asks to do something.
    Asked {
        /// The approval's id.
        approval: ApprovalId,
        /// The agent's own id of the request, as JSON text.
        request: String,
        /// What it asks.
        ask: Ask,
        /// What can be answered.
        options: Vec<ApprovalOption>,
    },
    /// The agent no longer asks.
    Withdrew {
        /// Which approval.
        approval: ApprovalId,
    },
    /// The agent answered the prompt.
    TurnAnswered {
        /// Which turn.
        turn: TurnId,
        /// How.
        answer: TurnAnswer,
        /// What it used.
        usage: Usage,
    },
    /// The prompt could not be handed on, and the agent has not got it.
    PromptFailed {
        /// Which turn.
        turn: TurnId,
        /// Why.
        failure: Failure,
    },
    /// It cannot be known whether the agent got the prompt.
    PromptUnknown {
        /// Which turn.
        turn: TurnId,
        /// What is known, in words.
        cause: String,
    },
    /// The process ended.
    Exited {
        /// How, in words.
        cause: String,
    },
}

/// What is known of the native session when it could not be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NativeFate {
    /// It is still there, as far as is known.
    Kept,
    /// The agent no longer has it.
    Gone,
}

/// How an agent answered a prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum TurnAnswer {
    /// It stopped.
    Stopped {
        /// Why.
        reason: StopReason,
    },
    /// It failed.
    Failed {
        /// Why.
        failure: Failure,
    },
}

/// What happened to a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum TaskEvent {
    /// It was made.
    TaskCreated {
        /// Which.
        task: TaskId,
        /// Of which project.
        project: ProjectId,
        /// Who wanted it.
        person: PersonId,
        /// Where they said so.
        conversation: ConversationId,
        /// What it is called.
        title: String,
        /// What the person wanted.
        goal: String,
        /// Where its agents work.
        root: String,
    },
    /// It got its key.
    TaskKeyed {
        /// The handle that a person types.
        key: String,
    },
    /// It got another title.
    TaskRetitled {
        /// The new one.
        title: String,
    },
    /// The person is done with it.
    TaskClosed {
        /// Who.
        person: PersonId,
    },
    /// It goes on.
    TaskReopened {},
    /// A conversation takes part.
    ConversationJoined {
        /// Which.
        conversation: ConversationId,
    },
    /// A note was pinned.
    NotePinned {
        /// Who.
        person: PersonId,
        /// The words.
        text: String,
    },
    /// An agent joined.
    ExecutionAdded {
        /// Which.
        execution: ExecutionId,
        /// Whose profile.
        agent: String,
        /// As what.
        role: Role,
        /// Whether unmarked messages go to it.
        primary: bool,
    },
    /// An execution ended.
    ExecutionEnded {
        /// Which.
        execution: ExecutionId,
        /// How.
        end: ExecutionEnd,
    },
    /// Another model was asked for.
    ModelChosen {
        /// For which execution.
        execution: ExecutionId,
        /// Which model.
        model: String,
    },
    /// A brief waits for the next runtime session.
    HandoffPrepared {
        /// The brief.
        handoff: Handoff,
    },
    /// A message waits for an execution.
    InputQueued {
        /// Which execution.
        execution: ExecutionId,
        /// The message.
        queued: QueuedInput,
        /// Where it went in the queue.
        urgency: Urgency,
    },
    /// A message was taken back.
    InputWithdrawn {
        /// Which.
        input: InputId,
    },
    /// A message left the queue and became a turn.
    TurnRequested {
        /// Of which execution.
        execution: ExecutionId,
        /// Which.
        turn: TurnId,
        /// From which message.
        input: InputId,
        /// The turn that it runs again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_of: Option<TurnId>,
    },
    /// A turn waits for the workspace.
    TurnHeld {
        /// Which.
        turn: TurnId,
        /// Whom it waits for, in words.
        behind: String,
    },
    /// A turn got the workspace, and waits for its runtime session.
    TurnCleared {
        /// Which.
        turn: TurnId,
    },
    /// The prompt is handed to the agent.
    TurnStarted {
        /// Which.
        turn: TurnId,
        /// By which runtime session.
        session: RuntimeSessionId,
        /// In which of its processes.
        epoch: u64,
    },
    /// The person wants it to stop.
    TurnStopRequested {
        /// Which.
        turn: TurnId,
        /// Why.
        wish: StopWish,
    },
    /// A turn ended.
    TurnEnded {
        /// Which.
        turn: TurnId,
        /// How.
        outcome: TurnOutcome,
        /// What it used.
        #[serde(default)]
        usage: Usage,
        /// From the moment the prompt was handed on; zero if it never was.
        duration_ms: u64,
    },
    /// A new runtime session was started.
    RuntimeSessionStarted {
        /// For which execution.
        execution: ExecutionId,
        /// Which.
        session: RuntimeSessionId,
        /// Its first process.
        epoch: u64,
        /// Which of the four reasons it was.
        reason: StartReason,
    },
    /// A new process takes a runtime session on.
    RuntimeSessionResumed {
        /// Which.
        session: RuntimeSessionId,
        /// The new process.
        epoch: u64,
        /// Why there was none.
        cause: ResumeCause,
    },
    /// The agent answers.
    RuntimeSessionOpened {
        /// Which.
        session: RuntimeSessionId,
        /// By which process.
        epoch: u64,
        /// The agent's own id of it.
        native: String,
        /// What the agent is and can do.
        description: Box<RuntimeDescription>,
    },
    /// Something about it changed.
    RuntimeSessionChanged {
        /// Which.
        session: RuntimeSessionId,
        /// What.
        change: SettingChange,
    },
    /// Its process is gone, the native session stays bound.
    RuntimeSessionParked {
        /// Which.
        session: RuntimeSessionId,
        /// Why the next process will have to resume it.
        next: ResumeCause,
        /// What happened, in words.
        cause: String,
    },
    /// The native session is gone for good.
    RuntimeSessionLost {
        /// Which.
        session: RuntimeSessionId,
        /// What happened, in words.
        cause: String,
    },
    /// It was ended on purpose.
    RuntimeSessionClosed {
        /// Which.
        session: RuntimeSessionId,
        /// The reason that the next one will have.
        next: StartReason,
    },
    /// An item was seen, or seen changed.
    ItemRecorded {
        /// Of which execution.
        execution: ExecutionId,
        /// As it stands.
        item: Item,
    },
    /// The plan changed.
    PlanRevised {
        /// As it stands.
        plan: Plan,
    },
    /// The agent asks to do something.
    ApprovalRequested {
        /// What.
        approval: Box<Approval>,
    },
    /// A request was decided, or there is nothing left to decide.
    ApprovalSettled {
        /// Which.
        approval: ApprovalId,
        /// How.
        settlement: Settlement,
    },
    /// The workspace's state was kept.
    CheckpointTaken {
        /// What was kept.
        checkpoint: Checkpoint,
    },
}

impl Task {
    /// The execution that unmarked messages go to.
    #[must_use]
    pub fn primary(&self) -> Option<&Execution> {
        let live = || self.executions.iter().filter(|execution| execution.ended.is_none());
        live().find(|execution| execution.primary).or_else(|| live().next()).or(self.executions.last())
    }

    /// An execution by its id.
    #[must_use]
    pub fn execution(&self, id: ExecutionId) -> Option<&Execution> {
        self.executions.iter().find(|execution| execution.id == id)
    }

    pub(crate) fn execution_mut(&mut self, id: ExecutionId) -> Option<&mut Execution> {
        self.executions.iter_mut().find(|execution| execution.id == id)
    }

    /// The execution whose current runtime session this is.
    #[must_use]
    pub fn execution_of(&self, session: RuntimeSessionId) -> Option<&Execution> {
        self.executions.iter().find(|execution| execution.session.as_ref().is_some_and(|known| known.id == session))
    }

    pub(crate) fn execution_of_mut(&mut self, session: RuntimeSessionId) -> Option<&mut Execution> {
        self.executions.iter_mut().find(|execution| execution.session.as_ref().is_some_and(|known| known.id == session))
    }

    /// The execution in which this turn is active.
    #[must_use]
    pub fn execution_in(&self, turn: TurnId) -> Option<&Execution> {
        self.executions.iter().find(|execution| execution.active.as_ref().is_some_and(|active| active.id == turn))
    }

    pub(crate) fn execution_in_mut(&mut self, turn: TurnId) -> Option<&mut Execution> {
        self.executions.iter_mut().find(|execution| execution.active.as_ref().is_some_and(|active| active.id == turn))
    }

    /// A turn that has not ended.
    #[must_use]
    pub fn active_turn(&self, turn: TurnId) -> Option<&ActiveTurn> {
        self.execution_in(turn).and_then(|execution| execution.active.as_ref())
    }

    /// The derived axis of its state: the most urgent of its executions'.
    #[must_use]
    pub fn activity(&self) -> Activity {
        if !self.approvals.pending.is_empty() {
            return Activity::WaitingApproval;
        }
        let live = self.executions.iter().filter(|execution| execution.ended.is_none());
        let most_urgent = live.map(Execution::activity).min_by_key(Activity::rank).unwrap_or(Activity::Resting);
        // A closed task needs nobody, whatever its last turn came to.
        match self.lifecycle {
            Lifecycle::Closed | Lifecycle::Archived if most_urgent.needs_person() => Activity::Resting,
            Lifecycle::Open | Lifecycle::Closed | Lifecycle::Archived => most_urgent,
        }
    }
}

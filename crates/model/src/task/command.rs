//! What can be asked of a task, and what a runtime session's process reports to it.

use serde::{Deserialize, Serialize};

use crate::approval::{Asked, Decision};
use crate::budget::Caps;
use crate::checkpoint::Checkpoint;
use crate::content::Text;
use crate::execution::Role;
use crate::ids::{
    ApprovalId, ChangeId, ConversationId, ExecutionId, InputId, PersonId, ProjectId, QuestionId, RuntimeSessionId,
    TaskId, TurnId,
};
use crate::input::{QueuedInput, Urgency};
use crate::item::Item;
use crate::plan::{Plan, PlanEntry};
use crate::question::{Answer, Question};
use crate::runtime_session::{Failure, Parking, RuntimeDescription, SettingChange};
use crate::site::{ChangeKind, ChangePlan, ChangeResult, Fork, WorktreeSeed};
use crate::time::Timestamp;
use crate::turn::{StopReason, Usage};

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

/// What a fork gets from the task that it is a fork of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ForkSeed {
    /// Where it comes from.
    pub fork: Fork,
    /// The change that prepares its workspace.
    pub change: ChangeId,
    /// Who wants it.
    pub person: PersonId,
    /// The native session to fork, where the agent can; the brief goes along in case that it cannot after all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<String>,
    /// The model that was asked for, where one was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The plan as it stood then.
    #[serde(default)]
    pub plan: Plan,
    /// What was pinned by then.
    #[serde(default)]
    pub notes: Vec<String>,
    /// The last turn that its brief tells of; none if nothing was done by then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<TurnId>,
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
    /// Make it of a native session that was begun elsewhere.
    Import {
        /// What it starts from.
        seed: TaskSeed,
        /// Who wants it.
        person: PersonId,
        /// Where they said so.
        conversation: ConversationId,
        /// The runtime session's id.
        session: RuntimeSessionId,
        /// The agent's own id of it.
        native: String,
    },
    /// Take in turns of an imported session's past.
    ImportTurns {
        /// Which runtime session.
        session: RuntimeSessionId,
        /// How many came before these.
        from: u64,
        /// Oldest first.
        turns: Vec<ImportedTurn>,
    },
    /// There is no more to read of it.
    FinishImport {
        /// Which runtime session.
        session: RuntimeSessionId,
        /// Why something is missing, in words, if something is.
        left_out: Option<String>,
    },
    /// Make it a fork, right after it was made.
    BecomeFork {
        /// What it gets from its source.
        seed: Box<ForkSeed>,
    },
    /// Remember that it was forked.
    NoteFork {
        /// The fork.
        fork: TaskId,
        /// Its key.
        key: String,
        /// The turn after which it was forked; none for the state at that moment.
        turn: Option<TurnId>,
    },
    /// Give it its key.
    AssignKey {
        /// The handle that a person types.
        key: String,
    },
    /// Let a conversation take part, so that it is told; nothing happens if it does.
    Join {
        /// Which.
        conversation: ConversationId,
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
    /// A message was meant for another task.
    MoveOut {
        /// Which.
        input: InputId,
        /// For which task.
        to: TaskId,
        /// Who says so.
        person: PersonId,
        /// Whether this task was started by it.
        started: bool,
        /// Whether the turn that it became may be stopped.
        interrupt: bool,
    },
    /// A message was meant for this task.
    MoveIn {
        /// The message.
        queued: QueuedInput,
        /// The task that had it, if one did.
        from: Option<TaskId>,
    },
    /// Add an agent in a role.
    AddExecution {
        /// Which.
        execution: ExecutionId,
        /// Whose profile.
        agent: String,
        /// As what.
        role: Role,
        /// In a worktree of its own, if it gets one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        worktree: Option<WorktreeSeed>,
    },
    /// Let an execution work in a worktree of its own, right after it was added.
    GiveWorktree {
        /// Which execution.
        execution: ExecutionId,
        /// Which worktree.
        seed: WorktreeSeed,
    },
    /// Be done with one execution; the task goes on with whoever is left.
    Dismiss {
        /// Which.
        execution: ExecutionId,
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
    /// An agent cannot run: another one takes its execution's place, and goes on with what was asked.
    Replace {
        /// The execution whose agent cannot run.
        failed: ExecutionId,
        /// Its last turn, which failed.
        turn: TurnId,
        /// The id of the execution that takes over.
        execution: ExecutionId,
        /// Its agent.
        agent: String,
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
        /// Of which execution; of the one that failed, else of the primary one, if none is named.
        #[serde(default)]
        execution: Option<ExecutionId>,
    },
    /// Drop the provider's context.
    Fresh,
    /// The person is done with it.
    Close {
        /// Who.
        person: PersonId,
    },
    /// The person puts it away.
    Archive {
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
    /// Keep the brief that goes along with a turn's prompt.
    GiveHandoff {
        /// Which turn.
        turn: TurnId,
        /// The brief.
        text: Text,
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
    /// Take a message in that answers a question of the agent.
    Answer {
        /// The message.
        queued: QueuedInput,
        /// Whose question; the one that waits if none is named.
        execution: Option<ExecutionId>,
        /// Where it goes in the queue, if no question waits.
        urgency: Urgency,
    },
    /// Say how much the task may use.
    SetBudget {
        /// How much; nothing means no bound.
        caps: Caps,
        /// Who.
        by: PersonId,
    },
    /// Go on with as much again.
    ExtendBudget {
        /// Who.
        by: PersonId,
    },
    /// The time that running turns may take may be over.
    CheckTime,
    /// Answer a question of the running turn.
    AnswerQuestion {
        /// Which.
        question: QuestionId,
        /// How.
        answer: Answer,
        /// Who.
        by: PersonId,
    },
    /// Say yes or no.
    DecideApproval {
        /// To which request.
        approval: ApprovalId,
        /// The decision.
        decision: Box<Decision>,
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
    /// Do something to the workspace itself, now or not at all.
    ChangeWorkspace {
        /// Which change.
        change: ChangeId,
        /// Who wants it.
        person: PersonId,
        /// What.
        kind: ChangeKind,
        /// To the worktree of which execution; to the task's own workspace if none is named.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        execution: Option<ExecutionId>,
    },
    /// Be done with a fork, or with a worktree: remove its workspace, and close what worked there.
    Discard {
        /// The change that removes it.
        change: ChangeId,
        /// Who.
        person: PersonId,
        /// Whose worktree; the only one, or the fork's own workspace, if nobody is named.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        execution: Option<ExecutionId>,
    },
    /// What exactly will be done to the workspace.
    PlanChange {
        /// Which change.
        change: ChangeId,
        /// What.
        plan: ChangePlan,
    },
    /// A change is over.
    EndChange {
        /// Which.
        change: ChangeId,
        /// What came of it.
        result: ChangeResult,
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

/// A turn of an imported session's past.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ImportedTurn {
    /// The same however often it is read.
    pub turn: TurnId,
    /// What the person said.
    pub said: Text,
    /// When.
    pub said_at: Timestamp,
    /// What followed, in order.
    pub items: Vec<Item>,
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
        /// When its process goes while nothing runs.
        parking: Parking,
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
    /// The agent says what it has used so far, in the midst of a turn.
    Used(Box<Usage>),
    /// The agent asks to do something.
    Asked(Box<Asked>),
    /// The agent asks the person something, and waits.
    Questioned(Box<Question>),
    /// The agent no longer asks.
    Withdrew {
        /// The agent's own id of the request, as JSON text.
        request: String,
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
    /// A new daemon reads on where the last one stopped.
    Reattached,
    /// Nothing was heard of the turn for so long.
    Stalled {
        /// Which turn.
        turn: TurnId,
        /// For how long.
        silent_secs: u64,
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

//! What happened to a task. A shape that was once written is decoded forever: see `tests/golden`.

use serde::{Deserialize, Serialize};

use crate::approval::{Approval, Settlement};
use crate::budget::{Cap, Caps};
use crate::checkpoint::{Checkpoint, CheckpointTree};
use crate::content::Text;
use crate::execution::{ExecutionEnd, Role};
use crate::handoff::Handoff;
use crate::ids::{
    ApprovalId, ChangeId, ConversationId, ExecutionId, HandoffId, InputId, PersonId, ProjectId, QuestionId,
    RuntimeSessionId, TaskId, TurnId,
};
use crate::input::{QueuedInput, Urgency};
use crate::item::Item;
use crate::plan::Plan;
use crate::question::{Question, QuestionSettlement};
use crate::runtime_session::{Parking, ResumeCause, RuntimeDescription, SettingChange, StartReason};
use crate::site::{ChangeKind, ChangePlan, ChangeResult, Fork};
use crate::time::Timestamp;
use crate::turn::{StopWish, TurnOutcome, Usage};

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
    /// It is a fork of another task.
    TaskForked {
        /// Where it comes from.
        #[serde(flatten)]
        fork: Fork,
        /// The agent's own session that is to be forked, where it can; else a brief carries the context.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        native: Option<String>,
    },
    /// It was forked.
    ForkMade {
        /// The fork.
        fork: TaskId,
        /// Its key.
        key: String,
        /// The turn after which it was forked; none for the state at that moment.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn: Option<TurnId>,
    },
    /// The agent could not fork its own session, so that a brief carries the context.
    NativeForkRefused {
        /// For which execution.
        execution: ExecutionId,
        /// What the agent said.
        cause: String,
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
    /// It was put away: retention may take what is large about it.
    TaskArchived {
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
    /// A brief is due with the first prompt of the next runtime session.
    HandoffPrepared {
        /// Of what, and for whom.
        handoff: Handoff,
    },
    /// The brief was written, and goes to the agent with this turn's prompt.
    HandoffGiven {
        /// Which.
        handoff: HandoffId,
        /// With which turn.
        turn: TurnId,
        /// The brief.
        text: Text,
    },
    /// What others found goes to an execution, along with a turn's prompt.
    FindingsPassed {
        /// To which execution.
        execution: ExecutionId,
        /// With which turn.
        turn: TurnId,
        /// The turns whose last words they are.
        findings: Vec<TurnId>,
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
    /// A message was meant for another task, and went there.
    InputMovedOut {
        /// Which.
        input: InputId,
        /// To which task.
        to: TaskId,
    },
    /// A message was meant for this task, and came here.
    InputMovedIn {
        /// Which.
        input: InputId,
        /// From which task, if one had it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<TaskId>,
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
    /// Nothing was heard of a turn for a long time.
    TurnStalled {
        /// Which.
        turn: TurnId,
        /// For how long.
        silent_secs: u64,
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
    /// A native session that was begun elsewhere is bound, and rests until the next message resumes it.
    RuntimeSessionImported {
        /// For which execution.
        execution: ExecutionId,
        /// Which.
        session: RuntimeSessionId,
        /// The agent's own id of it.
        native: String,
    },
    /// A turn of its past was read. Its items follow.
    TurnImported {
        /// For which execution.
        execution: ExecutionId,
        /// Which.
        turn: TurnId,
        /// What the person said then.
        said: Text,
        /// The agent's last words in it, in one line.
        answered: String,
        /// When it was said.
        said_at: Timestamp,
    },
    /// All that can be read of its past was.
    PastImported {
        /// Which runtime session.
        session: RuntimeSessionId,
        /// Why something is missing, in words, if something is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        left_out: Option<String>,
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
    /// A new daemon found the process alive in the middle of a turn, and reads on where the last one stopped.
    RuntimeSessionReattached {
        /// Which.
        session: RuntimeSessionId,
        /// Which of its processes.
        epoch: u64,
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
        /// When its process goes while nothing runs.
        #[serde(default, skip_serializing_if = "Parking::unsaid")]
        parking: Parking,
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
    /// More was asked for than a turn may ask: what follows is answered with nothing chosen.
    ApprovalsRefused {
        /// In which turn.
        turn: TurnId,
    },
    /// The agent asks the person something, and waits for the answer.
    QuestionAsked {
        /// In which turn.
        turn: TurnId,
        /// What.
        question: Box<Question>,
    },
    /// A question was answered, or there is nothing left to answer.
    QuestionSettled {
        /// In which turn.
        turn: TurnId,
        /// Which.
        question: QuestionId,
        /// How.
        settlement: QuestionSettlement,
    },
    /// A person said how much the task may use. It is counted from now on.
    BudgetSet {
        /// How much; nothing means no bound.
        caps: Caps,
        /// Who.
        by: PersonId,
    },
    /// The budget is used up: no turn starts until a person says so.
    BudgetReached {
        /// With which turn.
        turn: TurnId,
        /// Of what.
        cap: Cap,
    },
    /// The workspace's state was kept.
    CheckpointTaken {
        /// What was kept.
        checkpoint: Checkpoint,
    },
    /// An execution works in a worktree of its own. One that another execution had is handed on.
    WorktreeGiven {
        /// Which execution.
        execution: ExecutionId,
        /// The worktree's folder.
        root: String,
        /// The tree of the state that it began from.
        base: String,
    },
    /// Something is being done to the workspace itself.
    WorkspaceChangeBegun {
        /// Which change.
        change: ChangeId,
        /// Who wants it.
        person: PersonId,
        /// What.
        #[serde(flatten)]
        kind: ChangeKind,
        /// To the worktree of which execution; to the task's own workspace if none is named.
        #[serde(default, rename = "worktree_of", skip_serializing_if = "Option::is_none")]
        execution: Option<ExecutionId>,
    },
    /// It is known what exactly will be done to the workspace.
    WorkspaceChangePlanned {
        /// Which change.
        change: ChangeId,
        /// What.
        #[serde(flatten)]
        plan: ChangePlan,
    },
    /// A change is over.
    WorkspaceChangeEnded {
        /// Which.
        change: ChangeId,
        /// What came of it.
        #[serde(flatten)]
        result: ChangeResult,
    },
}

impl TaskEvent {
    /// The checkpoints' trees that it names: they are kept for as long as the record that needs them.
    #[must_use]
    #[expect(clippy::wildcard_enum_match_arm, reason = "few events name a tree")]
    pub fn trees(&self) -> Vec<&str> {
        match self {
            TaskEvent::CheckpointTaken { checkpoint } => match &checkpoint.tree {
                CheckpointTree::Taken { oid } => vec![oid],
                CheckpointTree::LeftOut { .. } => vec![],
            },
            TaskEvent::TaskForked { fork, .. } => vec![&fork.base],
            TaskEvent::WorktreeGiven { base, .. } => vec![base],
            TaskEvent::WorkspaceChangeBegun { kind, .. } => kind.trees(),
            TaskEvent::WorkspaceChangePlanned { plan, .. } => vec![&plan.undo, &plan.target],
            _ => vec![],
        }
    }
}

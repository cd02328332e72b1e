//! Tasks, their executions and what is under them, as they travel.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::approval::Approval;
use crate::card::Card;
use crate::content::ContentBlock;
use crate::project::ProjectRef;
use crate::timeline::{PlanEntry, Usage};
use crate::workspace::ForkedFrom;

/// A short pointer to a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TaskRef {
    /// Which.
    pub id: Uuid,
    /// The handle that a person types.
    pub key: String,
}

/// A task in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TaskSummary {
    /// The handle that a person types.
    pub key: String,
    /// Which.
    pub id: Uuid,
    /// What it is called.
    pub title: String,
    /// Of which project.
    pub project: ProjectRef,
    /// The person's axis of its state.
    pub lifecycle: Lifecycle,
    /// The derived axis of its state.
    pub activity: Activity,
    /// Both axes in a few words, in the caller's language.
    #[serde(default)]
    pub state: String,
    /// One line about it, in the caller's language.
    pub glance: String,
    /// The primary execution's agent.
    pub agent: String,
    /// Who works on it, and as what: the primary execution first.
    #[serde(default)]
    #[schema(required = true)]
    pub workers: Vec<Worker>,
    /// The last words of an agent.
    pub last_said: String,
    /// How far its plan is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<Progress>,
    /// When something happened to it last, RFC 3339.
    pub updated_at: String,
}

/// An agent on a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Worker {
    /// Which.
    pub agent: String,
    /// As what.
    pub role: Role,
}

/// How far a plan is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Progress {
    /// Steps that are done.
    pub done: usize,
    /// Steps in all.
    pub total: usize,
}

/// A task with all that is under it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Task {
    /// What a list shows.
    #[serde(flatten)]
    pub summary: TaskSummary,
    /// What the person wanted.
    pub goal: String,
    /// Where its agents work.
    pub root: String,
    /// The executions that work in a worktree of their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub worktrees: Vec<Worktree>,
    /// Where it comes from, if it is a fork.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<ForkedFrom>,
    /// Attempts, oldest first.
    pub executions: Vec<Execution>,
    /// The plan as it stands.
    pub plan: Vec<PlanEntry>,
    /// Which version of the plan that is; zero if there is none.
    #[serde(default)]
    pub plan_version: u32,
    /// What was pinned.
    pub notes: Vec<String>,
    /// What nobody has decided.
    pub approvals: Vec<Approval>,
    /// What to show of it where there is little room, in the caller's language.
    #[serde(default)]
    pub card: Card,
}

/// A page of tasks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TaskPage {
    /// Most urgent first, then most recent.
    pub tasks: Vec<TaskSummary>,
    /// Where the next page starts: send it as `after`. None on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// What a task or an execution is doing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Activity {
    /// The word for it.
    pub word: ActivityWord,
    /// Why, where there is more to say than the word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Until when it is blocked, where the agent says, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
}

/// One agent's attempt to move a task forward.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Execution {
    /// Which.
    pub id: Uuid,
    /// The agent's profile name.
    pub agent: String,
    /// What it is for.
    pub role: Role,
    /// Whether unmarked messages go to it.
    pub primary: bool,
    /// `superseded`, `replaced`, `cancelled` or `archived`, once it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
    /// What it is doing.
    pub activity: Activity,
    /// Inputs that wait, first in line first.
    pub queue: Vec<QueuedInput>,
    /// Its runtime session, the sticky one or the last one there was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime_session: Option<RuntimeSession>,
    /// The turn that has not ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_turn: Option<ActiveTurn>,
    /// The last turn that ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_turn: Option<EndedTurn>,
    /// How many turns ended.
    pub turns: u64,
    /// The last words of its agent.
    pub last_said: String,
}

/// An input that waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct QueuedInput {
    /// Which: `DELETE /inputs/{id}` takes it back.
    pub input: Uuid,
    /// What was said.
    pub content: Vec<ContentBlock>,
    /// When, RFC 3339.
    pub at: String,
}

/// The provider's session and process under an execution.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RuntimeSession {
    /// Which.
    pub id: Uuid,
    /// The agent's own id of it, once it was opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native_id: Option<String>,
    /// Counts the processes that carried it.
    pub epoch: u64,
    /// Where it is in its life.
    pub phase: RuntimePhase,
    /// Why it was started at all.
    pub reason: StartReason,
    /// What the agent calls itself.
    pub agent: AgentVersion,
    /// The model in use, where the agent says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The mode in use, where the agent says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// Tools that were seen in use, by kind.
    pub tools: Vec<String>,
    /// MCP servers that it was opened with.
    pub mcp_servers: Vec<String>,
    /// The agent's own slash commands.
    pub commands: Vec<Choice>,
    /// Its process is not to change the workspace; left out if it may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only: Option<ReadOnly>,
    /// What the agent runs without a question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unasked: Option<Unasked>,
}

/// That a process is not to change the workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReadOnly {
    /// `landlock` or `agent_mode`; left out if nothing enforces it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enforced_by: Option<String>,
}

/// What an agent runs without a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Unasked {
    /// Whether it is some of it, or everything.
    pub scope: UnaskedScope,
    /// In words: `inside its sandbox`; the mode's name for everything.
    pub what: String,
}

/// An agent's own name and version.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AgentVersion {
    /// Such as `codex-acp`.
    pub name: String,
    /// Such as `2.6.0`.
    pub version: String,
}

/// Something that can be chosen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = SessionChoice)]
pub struct Choice {
    /// The agent's id of it.
    pub id: String,
    /// What a person would call it.
    pub name: String,
}

/// A turn that has not ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ActiveTurn {
    /// Which.
    pub id: Uuid,
    /// From which input.
    pub input: Uuid,
    /// How far it is.
    pub stage: TurnStage,
    /// Whom it waits for, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behind: Option<String>,
    /// When the input left the queue, RFC 3339.
    pub requested_at: String,
    /// When the prompt was handed on, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<String>,
    /// The person asked for it to stop.
    pub stopping: bool,
    /// Nothing was heard of it for so long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silent_secs: Option<u64>,
    /// What the agent asks, and waits for the answer to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<Question>,
}

/// An agent's question in the middle of a turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Question {
    /// Which.
    pub id: Uuid,
    /// What it asks, in its words.
    pub message: String,
    /// What the answer has to be, a line each; empty where any words will do.
    #[serde(default)]
    pub fields: Vec<String>,
    /// The form of the answer: a JSON schema as the agent sent it, as JSON text.
    pub schema: String,
}

/// An answer to the question that waits: one of the three.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AnswerQuestion {
    /// Only to this question; the one that waits if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<Uuid>,
    /// In words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The form, filled in, as JSON text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// No answer: the agent is told that the person did not want to.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub decline: bool,
}

/// A turn that ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct EndedTurn {
    /// Which.
    pub id: Uuid,
    /// From which input.
    pub input: Uuid,
    /// How it ended.
    #[serde(flatten)]
    pub end: TurnEnd,
    /// When, RFC 3339.
    pub at: String,
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TurnEnd {
    /// The word for it.
    pub outcome: TurnOutcome,
    /// Why the agent stopped, as it says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
    /// What happened, in words, where it did not simply complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The stable code of a failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// What the person can do about a failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// When a failure will be over by itself, where the agent says, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// What it used, where that is known here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// From the moment the prompt was handed on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
}

/// What was done to a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TaskChange {
    /// The task as it is now.
    pub task: Task,
    /// Follow the event stream from here to see what comes of it.
    pub cursor: String,
    /// What an agent that was added in a role that only reads is held to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only: Option<ReadOnly>,
}

/// A worktree of its own that an execution works in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Worktree {
    /// Whose.
    pub execution: Uuid,
    /// Its folder.
    pub root: String,
    /// Whether the folder is there; what was in it comes back when the execution goes on.
    pub removed: bool,
}

/// An agent to add to a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AddExecution {
    /// Whose profile.
    pub agent: String,
    /// As what.
    #[serde(default)]
    pub role: Role,
    /// In a worktree of its own, so that it writes while others do.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub worktree: bool,
}

/// What a task goes on with. At least one of the two.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SwitchTo {
    /// Another agent: a new execution takes over, with a brief.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Another model that the session offers; in a new session, with a brief, where the agent takes one only at its start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// A note to pin to a task or a project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PinNote {
    /// The words.
    pub text: String,
}

macro_rules! words {
    ($($(#[$doc:meta])* $name:ident { $($(#[$word_doc:meta])* $word:ident = $text:literal),* $(,)? })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum $name {
            $($(#[$word_doc])* $word,)*
            /// A word of a newer server.
            #[serde(other)]
            Unknown,
        }

        impl $name {
            /// The word as it travels.
            #[must_use]
            pub fn word(self) -> &'static str {
                match self { $($name::$word => $text,)* $name::Unknown => "unknown" }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { f.write_str(self.word()) }
        }
    )*};
}

words! {
    /// The person's axis of a task's state.
    Lifecycle {
        /// It goes on.
        Open = "open",
        /// The person is done with it; any follow-up reopens it.
        Closed = "closed",
        /// It was put away.
        Archived = "archived",
    }
    /// The derived axis of a task's state, most urgent first.
    ActivityWord {
        /// An agent waits for a yes.
        WaitingApproval = "waiting_approval",
        /// An agent waits for an answer.
        WaitingAnswer = "waiting_answer",
        /// It cannot go on by itself.
        Blocked = "blocked",
        /// The last turn did not work out.
        Failed = "failed",
        /// A turn runs.
        Working = "working",
        /// A turn waits.
        Queued = "queued",
        /// Nothing runs.
        Resting = "resting",
    }
    /// Where a runtime session is in its life.
    RuntimePhase {
        /// A process was asked for.
        Starting = "starting",
        /// The agent answers.
        Live = "live",
        /// No process; the next message resumes it.
        Parked = "parked",
        /// The native session is gone for good.
        Lost = "lost",
        /// Ended on purpose.
        Closed = "closed",
    }
    /// Why a new runtime session started.
    StartReason {
        /// The execution had none yet.
        FirstUse = "first_use",
        /// The person asked for a fresh one.
        Requested = "requested",
        /// The agent or model changed in a way that the live session could not take.
        Changed = "changed",
        /// The old one was truly lost.
        Lost = "lost",
    }
    /// Why a process of a runtime session was started again.
    ResumeCause {
        /// It was parked on purpose.
        Parked = "parked",
        /// Its process had died.
        ProcessDied = "process_died",
    }
    /// How much an agent runs without a question.
    UnaskedScope {
        /// Some of it.
        Some = "some",
        /// Everything: the mode it is in asks for nothing.
        Everything = "everything",
    }
    /// How far a turn is.
    TurnStage {
        /// Another turn writes in the same workspace root.
        AwaitingLease = "awaiting_lease",
        /// The runtime session's process is being started.
        AwaitingSession = "awaiting_session",
        /// The agent has the prompt.
        Running = "running",
    }
}

/// How a turn ended. `unknown` is a real outcome: it cannot be known whether the agent got the prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TurnOutcome {
    /// The agent stopped by itself.
    Completed,
    /// It did not work.
    Failed,
    /// The person stopped it.
    Cancelled,
    /// Something else came first.
    Interrupted,
    /// It cannot be known whether the agent got the prompt.
    Unknown,
}

impl TurnOutcome {
    /// The word as it travels.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            TurnOutcome::Completed => "completed",
            TurnOutcome::Failed => "failed",
            TurnOutcome::Cancelled => "cancelled",
            TurnOutcome::Interrupted => "interrupted",
            TurnOutcome::Unknown => "unknown",
        }
    }
}

/// What an execution is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Changes the code.
    #[default]
    Editor,
    /// Reads what was changed.
    Reviewer,
    /// Runs and writes tests.
    Tester,
    /// Finds things out.
    Researcher,
}

impl Role {
    /// The word as it travels.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Role::Editor => "editor",
            Role::Reviewer => "reviewer",
            Role::Tester => "tester",
            Role::Researcher => "researcher",
        }
    }
}

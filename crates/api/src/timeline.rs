//! The timeline: every durable event of a task, as it travels. The event stream carries the same entries.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::approval::{Approval, ApprovalState, Source};
use crate::budget::Caps;
use crate::content::{ContentBlock, Text};
use crate::diff::ChangedFile;
use crate::message::Decision;
use crate::task::{AgentVersion, Question, ReadOnly, ResumeCause, Role, StartReason, TaskRef, TurnEnd};
use crate::workspace::ForkedFrom;

/// One durable event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TimelineEntry {
    /// Its place: opaque. Follow the event stream after it, or ask for the page before it.
    pub cursor: String,
    /// When, RFC 3339.
    pub at: String,
    /// Of which task; none for what belongs to no task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskRef>,
    /// What happened.
    #[serde(flatten)]
    pub body: EntryBody,
}

/// A page of a task's timeline. The newest page comes first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TimelinePage {
    /// Oldest first within the page. An item that changed stands where it began, as it is now.
    pub entries: Vec<TimelineEntry>,
    /// Send it as `before` for the page of what came earlier. None when there is nothing earlier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// Follow the event stream after it and nothing of this task is missed or seen twice.
    /// Only on the newest page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum EntryBody {
    /// The task was made.
    TaskCreated {
        /// What it is called.
        title: String,
        /// What the person wanted.
        goal: String,
        /// Where its agents work.
        root: String,
        /// Of which project.
        project: Uuid,
    },
    /// It is a fork of another task.
    TaskForked {
        /// Where it comes from.
        from: ForkedFrom,
        /// Whether the agent's own session is to be forked; else a brief carries the context.
        native: bool,
    },
    /// It was forked.
    ForkMade {
        /// The fork.
        fork: TaskRef,
        /// The turn after which it was forked; none for the state at that moment.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn: Option<Uuid>,
    },
    /// The agent could not fork its own session, so that a brief carries the context.
    NativeForkRefused {
        /// For which execution.
        execution: Uuid,
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
        person: Uuid,
    },
    /// It was put away.
    TaskArchived {
        /// Who.
        person: Uuid,
    },
    /// It goes on.
    TaskReopened {},
    /// A conversation takes part.
    ConversationJoined {
        /// Which.
        conversation: Uuid,
    },
    /// A note was pinned.
    NotePinned {
        /// Who.
        person: Uuid,
        /// The words.
        text: String,
    },
    /// A person said something, and this was made of it.
    UserMessage(UserMessage),
    /// A message was taken back.
    InputWithdrawn {
        /// Which.
        input: Uuid,
    },
    /// A message was meant for another task, and went there.
    InputMovedOut {
        /// Which.
        input: Uuid,
        /// To which task.
        to: Uuid,
    },
    /// A message was meant for this task, and came here.
    InputMovedIn {
        /// Which.
        input: Uuid,
        /// From which task, if one had it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<Uuid>,
    },
    /// The agent spoke.
    Message(AgentMessage),
    /// The agent thought aloud.
    Thought {
        /// Where it stands.
        #[serde(flatten)]
        item: ItemRef,
        /// The words.
        #[serde(flatten)]
        text: Text,
    },
    /// The agent used a tool.
    ToolCall(Box<ToolCall>),
    /// Something worth keeping that has no shape of its own.
    AgentNote {
        /// Where it stands.
        #[serde(flatten)]
        item: ItemRef,
        /// What sort: `not_json`, `unknown_update`, `stderr`, `refused`.
        about: String,
        /// The words.
        #[serde(flatten)]
        text: Text,
    },
    /// The plan changed.
    Plan {
        /// Counts from one.
        version: u32,
        /// All its entries.
        entries: Vec<PlanEntry>,
    },
    /// The agent asks to do something.
    Approval {
        /// The request as it was made.
        approval: Box<Approval>,
    },
    /// A request was decided, or there is nothing left to decide.
    ApprovalSettled {
        /// Which.
        approval: Uuid,
        /// How.
        state: ApprovalState,
        /// Who decided.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<Uuid>,
        /// From where.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source: Option<Source>,
        /// Why, in words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// The same in the languages that Throughline speaks, by their tags, where the words are its own.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        told: BTreeMap<String, String>,
        /// The number of the project's rule that decided in the place of a person.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rule: Option<u64>,
        /// Whether the agent did it without waiting for an answer.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        not_asked: bool,
    },
    /// The agent asked for more than a turn may ask for: what follows is answered with nothing chosen.
    ApprovalsRefused {
        /// In which turn.
        turn: Uuid,
    },
    /// A person said how much the task may use. It is counted from now on.
    BudgetSet {
        /// How much.
        caps: Caps,
        /// Who.
        by: Uuid,
    },
    /// The budget is used up: no turn starts until a person says so.
    BudgetReached {
        /// With which turn.
        turn: Uuid,
        /// `turns`, `minutes`, `tokens` or `cost`.
        cap: String,
    },
    /// The agent asks the person something, and waits for the answer.
    QuestionAsked {
        /// In which turn.
        turn: Uuid,
        /// What.
        question: Question,
    },
    /// A question was answered, or there is nothing left to answer.
    QuestionSettled {
        /// In which turn.
        turn: Uuid,
        /// Which.
        question: Uuid,
        /// `answered`, `declined` or `void`.
        state: String,
        /// Who answered.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<Uuid>,
        /// The answer, as JSON text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content: Option<String>,
        /// Why there is none, in words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// A message left the queue and became a turn.
    TurnRequested {
        /// Which.
        turn: Uuid,
        /// Of which execution.
        execution: Uuid,
        /// From which message.
        input: Uuid,
        /// The turn that it runs again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_of: Option<Uuid>,
    },
    /// A turn waits for the workspace.
    TurnHeld {
        /// Which.
        turn: Uuid,
        /// Whom it waits for, in words.
        behind: String,
    },
    /// Nothing was heard of a turn for a long time.
    TurnStalled {
        /// Which.
        turn: Uuid,
        /// For how long.
        silent_secs: u64,
    },
    /// A turn got the workspace.
    TurnCleared {
        /// Which.
        turn: Uuid,
    },
    /// The prompt is handed to the agent.
    TurnStarted {
        /// Which.
        turn: Uuid,
        /// By which runtime session.
        runtime_session: Uuid,
        /// In which of its processes.
        epoch: u64,
    },
    /// The person wants it to stop.
    TurnStopping {
        /// Which.
        turn: Uuid,
        /// `cancel`, `dismiss`, `interrupt` or `budget`.
        wish: String,
    },
    /// A turn ended.
    TurnEnded {
        /// Which.
        turn: Uuid,
        /// How.
        #[serde(flatten)]
        end: TurnEnd,
    },
    /// A new runtime session was started.
    RuntimeSessionStarted {
        /// Which.
        runtime_session: Uuid,
        /// For which execution.
        execution: Uuid,
        /// Its first process.
        epoch: u64,
        /// Which of the four reasons it was.
        reason: StartReason,
    },
    /// A native session that was begun elsewhere is bound: the next message resumes it.
    RuntimeSessionImported {
        /// Which.
        runtime_session: Uuid,
        /// For which execution.
        execution: Uuid,
        /// The agent's own id of it.
        native_id: String,
    },
    /// A turn from before the import. Its items follow.
    TurnImported {
        /// Which.
        turn: Uuid,
        /// Of which execution.
        execution: Uuid,
        /// When it was said, RFC 3339.
        said_at: String,
        /// What the person said.
        #[serde(flatten)]
        text: Text,
    },
    /// All that can be read from before the import was.
    PastImported {
        /// Which runtime session.
        runtime_session: Uuid,
        /// Why something is missing, in words, if something is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        left_out: Option<String>,
    },
    /// A new process takes a runtime session on.
    RuntimeSessionResumed {
        /// Which.
        runtime_session: Uuid,
        /// The new process.
        epoch: u64,
        /// Why there was none.
        cause: ResumeCause,
    },
    /// A new daemon found the process alive in the middle of a turn, and reads on where the last one stopped.
    RuntimeSessionReattached {
        /// Which.
        runtime_session: Uuid,
        /// Which of its processes.
        epoch: u64,
    },
    /// The agent answers.
    RuntimeSessionOpened {
        /// Which.
        runtime_session: Uuid,
        /// By which process.
        epoch: u64,
        /// The agent's own id of it.
        native_id: String,
        /// What the agent calls itself.
        agent: AgentVersion,
        /// The model in use, where the agent says.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        /// The mode in use, where the agent says.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mode: Option<String>,
        /// Its process is not to change the workspace; left out if it may.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        read_only: Option<ReadOnly>,
        /// MCP servers that it was opened with.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        mcp_servers: Vec<String>,
        /// Folders besides its own that it was opened with.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        roots: Vec<String>,
        /// What the project asks for and the agent does not offer, in words.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        left_out: Vec<String>,
    },
    /// Something about a runtime session changed.
    RuntimeSessionChanged {
        /// Which.
        runtime_session: Uuid,
        /// `mode`, `mode_set_back`, `model`, `model_refused`, `commands` or `tool`.
        setting: String,
        /// What it is now.
        value: String,
    },
    /// Its process is gone, the native session stays bound.
    RuntimeSessionParked {
        /// Which.
        runtime_session: Uuid,
        /// What happened, in words.
        cause: String,
    },
    /// The native session is gone for good.
    RuntimeSessionLost {
        /// Which.
        runtime_session: Uuid,
        /// What happened, in words.
        cause: String,
    },
    /// It was ended on purpose.
    RuntimeSessionClosed {
        /// Which.
        runtime_session: Uuid,
        /// The reason that the next one will have.
        next: StartReason,
    },
    /// An agent joined.
    ExecutionAdded {
        /// Which.
        execution: Uuid,
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
        execution: Uuid,
        /// `superseded`, `replaced`, `cancelled` (a person dismissed it) or `archived`.
        end: String,
    },
    /// Another model was asked for.
    ModelChosen {
        /// For which execution.
        execution: Uuid,
        /// Which model.
        model: String,
    },
    /// A brief is due with the first prompt of the next runtime session.
    HandoffPrepared {
        /// Which.
        handoff: Uuid,
        /// Who gets it.
        execution: Uuid,
        /// The task whose work it tells, if that is another one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<Uuid>,
        /// The last turn that it tells of; all that happened if left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cut: Option<Uuid>,
    },
    /// What others found went to an execution, along with a turn's prompt.
    FindingsPassed {
        /// To which execution.
        execution: Uuid,
        /// With which turn.
        turn: Uuid,
        /// The turns whose last words they are.
        findings: Vec<Uuid>,
    },
    /// The brief was written, and went to the agent with this turn's prompt.
    HandoffGiven {
        /// Which.
        handoff: Uuid,
        /// With which turn.
        turn: Uuid,
        /// The brief.
        text: Text,
    },
    /// The workspace's state was kept.
    CheckpointTaken {
        /// Which.
        checkpoint: Uuid,
        /// Of which turn.
        turn: Uuid,
        /// `before` or `after` it.
        side: String,
        /// Why it was left out, in words, if it was.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        left_out: Option<String>,
        /// Of the state after a turn: what the turn changed, by name.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        changed: Vec<ChangedFile>,
    },
    /// An execution works in a worktree of its own.
    WorktreeGiven {
        /// Which execution.
        execution: Uuid,
        /// The worktree's folder.
        root: String,
    },
    /// Something is being done to the workspace itself; turns wait for its end.
    WorkspaceChangeBegun {
        /// Which change.
        change: Uuid,
        /// Who wants it.
        person: Uuid,
        /// `prepare`, `restore`, `take`, `yield` or `remove`.
        what: String,
        /// The other task of a `take` or a `yield`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        other: Option<TaskRef>,
        /// The turn that it goes back to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn: Option<Uuid>,
        /// `before` or `after` that turn.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        side: Option<String>,
    },
    /// It is known what exactly will be done to the workspace. The state before is kept.
    WorkspaceChangePlanned {
        /// Which change.
        change: Uuid,
        /// The files, by name.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        changed: Vec<ChangedFile>,
    },
    /// A change of the workspace is over.
    WorkspaceChangeEnded {
        /// Which.
        change: Uuid,
        /// What was left as it is, and why: a line for each path.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        kept: Vec<String>,
        /// What else is worth knowing, a paragraph each.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        notes: Vec<String>,
        /// Why it did not work, in words, if it did not.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failure: Option<String>,
    },
    /// Something that belongs to no task changed: ask for it again if you show it.
    Changed {
        /// `person`, `project`, `conversation` or `workspace`.
        what: String,
        /// Which.
        id: Uuid,
        /// The event's name, such as `project_added`.
        event: String,
    },
    /// An event of a newer server.
    #[serde(other)]
    Unknown,
}

/// A person's message in the timeline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct UserMessage {
    /// Which.
    pub input: Uuid,
    /// The execution that it waits for.
    pub execution: Uuid,
    /// Who said it.
    pub person: Uuid,
    /// Where.
    pub conversation: Uuid,
    /// What.
    pub content: Vec<ContentBlock>,
    /// It stops the running turn.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupt: bool,
    /// What was made of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
}

/// Where an item stands. A later entry with the same item replaces the earlier one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ItemRef {
    /// Which.
    pub item: Uuid,
    /// Of which execution.
    pub execution: Uuid,
    /// Of which turn; none for what an agent sends between turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<Uuid>,
}

/// An agent's words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AgentMessage {
    /// Where it stands.
    #[serde(flatten)]
    pub item: ItemRef,
    /// The words.
    #[serde(flatten)]
    pub text: Text,
    /// Pictures and files that came along.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<ContentBlock>,
    /// The agent waits for an answer to it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub question: bool,
}

/// A tool call and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ToolCall {
    /// Where it stands.
    #[serde(flatten)]
    pub item: ItemRef,
    /// The agent's own id of the call.
    pub call: String,
    /// The agent's description.
    pub title: String,
    /// What sort of tool, as the agent says.
    pub tool: String,
    /// How far it is.
    pub status: ToolStatus,
    /// What the agent sent as the tool's input, as JSON text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Text>,
    /// What came out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Text>,
    /// The exit code of a command, where the agent says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Files that it changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<FileChange>,
    /// Files that it touched, as the agent says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub locations: Vec<String>,
    /// It did something, and nobody was asked.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub not_asked: bool,
}

/// How far a tool call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolStatus {
    /// Announced, not running yet.
    Pending,
    /// Running.
    InProgress,
    /// Done.
    Completed,
    /// Did not work.
    Failed,
    /// A word of a newer server.
    #[serde(other)]
    Unknown,
}

/// One file, before and after.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FileChange {
    /// The path as the agent gave it.
    pub path: String,
    /// The text before; none for a new file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Text>,
    /// The text after.
    pub after: Text,
}

/// One step of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PlanEntry {
    /// What is to be done.
    pub content: String,
    /// `high`, `medium` or `low`.
    pub priority: String,
    /// `pending`, `in_progress` or `completed`.
    pub status: String,
}

/// What a turn used, as far as the agent says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Usage {
    /// Tokens read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Tokens written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// Tokens in all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_tokens: Option<u64>,
    /// Tokens that the context holds now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_tokens: Option<u64>,
    /// Tokens that fit in the context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_limit: Option<u64>,
    /// Cost, with its currency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<String>,
}

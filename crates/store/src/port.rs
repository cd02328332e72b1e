//! The Store port: what the engine needs of durable storage, free of any database's ways.
//!
//! Invariants that every implementation keeps, held to by the suite in `conformance`:
//! - a [`Batch`] is committed whole and durably, or not at all;
//! - an append whose expected version is not the stream's is refused with [`CommitError::Conflict`];
//! - sequence numbers are in commit order, without gaps that a reader could fall into;
//! - a reader never sees a part of a batch.

use async_trait::async_trait;
use std::collections::HashSet;
use std::sync::Arc;
use throughline_model::content::BlobRef;
use throughline_model::effect::Effect;
use throughline_model::event::{Event, Recorded, Seq};
use throughline_model::ids::{
    ApprovalId, ConversationId, DecisionId, DeliveryId, InputId, ItemId, PersonId, ProjectId, RuntimeSessionId, TaskId,
};
use throughline_model::state::State;
use throughline_model::stream::StreamId;
use throughline_model::time::Timestamp;
use throughline_model::view::{Addressed, ApprovalRow, DeliveryRow, InputRow, ProjectRow, Row, TaskRow};

/// Everything that one decision changes. Committed together or not at all (P2).
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// When it was decided.
    pub at: Timestamp,
    /// Events by stream.
    pub appends: Vec<Append>,
    /// Rows of lists and look-ups.
    pub rows: Vec<Row>,
    /// Effects to perform, by their key; one with a known key replaces it.
    pub effects: Vec<Effect>,
    /// Keys of effects that need no performing any more.
    pub settled: Vec<String>,
    /// The message that this batch took in, so that the same one again has no second effect (P7).
    pub inbox: Option<InboxEntry>,
    /// How far a keeper's spool was consumed.
    pub mark: Option<Mark>,
}

/// Events of one stream.
#[derive(Clone, Debug)]
pub struct Append {
    /// Whose.
    pub stream: StreamId,
    /// How many events the stream had when this was decided.
    pub expected: u64,
    /// What happened, in order.
    pub events: Vec<Event>,
    /// The state after the last of them; left out where replaying a few events is cheaper than writing it.
    pub snapshot: Option<Arc<State>>,
}

/// A message that came in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InboxEntry {
    /// The channel's event id or the client's idempotency key, with its scope.
    pub key: String,
    /// SHA-256 of the body in hex: the same key with another body is a conflict.
    pub digest: String,
    /// What it became.
    pub input: InputId,
    /// As the channel told it, for the record.
    pub raw: Option<String>,
}

/// How far the spool of a runtime session's process was consumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Whose.
    pub session: RuntimeSessionId,
    /// Which of its processes.
    pub epoch: u64,
    /// Where to read on from: everything before it is in the record, and may be trimmed.
    pub safe: u64,
    /// Everything before it has been told; reading from `safe` to here only rebuilds what is unfinished.
    pub seen: u64,
    /// How many lines before `seen` were not JSON.
    pub not_json: u32,
}

/// A stream as it stands.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The newest snapshot, with the version it was taken at; the empty state at zero if there is none.
    pub state: State,
    /// The version of that state.
    pub version: u64,
    /// Events after it, in order.
    pub tail: Vec<Recorded>,
}

/// Which tasks to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskQuery {
    /// Only of these projects; empty means all.
    pub projects: Vec<ProjectId>,
    /// Closed and archived ones too.
    pub all: bool,
    /// Only those that wait for a person.
    pub needs_person: bool,
    /// Continue after this row of the last page.
    pub after: Option<TaskPlace>,
    /// How many at most.
    pub limit: usize,
}

/// The place of a task in the list: most urgent first, then most recent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskPlace {
    /// Its activity's rank.
    pub rank: u8,
    /// When something happened to it last.
    pub updated_at: Timestamp,
    /// Which; breaks ties.
    pub id: TaskId,
}

/// How to find one row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// The input of this id.
    Input(InputId),
    /// The input that this decision was about.
    Decision(DecisionId),
}

/// Where to read on, and how far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Feed {
    /// Only of this stream.
    pub stream: Option<StreamId>,
    /// Only what comes after it.
    pub after: Seq,
    /// How many at most.
    pub limit: usize,
}

/// A page of a task's past, newest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageQuery {
    /// Whose.
    pub stream: StreamId,
    /// Only what comes before it; the newest page if none.
    pub before: Option<Seq>,
    /// How many at most.
    pub limit: usize,
}

/// An effect that waits.
#[derive(Clone, Debug, PartialEq)]
pub struct PendingEffect {
    /// Its key.
    pub key: String,
    /// When it is due.
    pub due_at: Timestamp,
    /// What to do.
    pub effect: Effect,
}

/// Storage as the engine sees it.
#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// Commits a batch; the answer is the sequence number of its last event, after fsync.
    async fn commit(&self, batch: Batch) -> Result<Committed, CommitError>;
    /// A stream's state: a snapshot and what came after.
    async fn load(&self, stream: StreamId) -> Result<Loaded, StoreError>;
    /// Events in commit order.
    async fn read(&self, feed: Feed) -> Result<Vec<Recorded>, StoreError>;
    /// Events of a stream, newest first.
    async fn page(&self, query: PageQuery) -> Result<Vec<Recorded>, StoreError>;
    /// The newest record of each of these items of a stream.
    async fn latest_items(&self, stream: StreamId, items: &[ItemId]) -> Result<Vec<Recorded>, StoreError>;
    /// Tasks, most urgent first.
    async fn tasks(&self, query: TaskQuery) -> Result<Vec<TaskRow>, StoreError>;
    /// One row.
    async fn input(&self, lookup: Lookup) -> Result<Option<InputRow>, StoreError>;
    /// Small lists and single values: see [`Ask`] and [`Answer`].
    async fn ask(&self, ask: Ask) -> Result<Answer, StoreError>;
    /// Effects that are due at this time, oldest first, and when the next one after them is.
    async fn due(&self, at: Timestamp, limit: usize) -> Result<Due, StoreError>;
    /// Puts bytes into the blob store; durable when it answers.
    async fn put_blob(&self, bytes: Vec<u8>) -> Result<BlobRef, StoreError>;
    /// Bytes of the blob store.
    async fn blob(&self, sha256: &str) -> Result<Option<Vec<u8>>, StoreError>;
    /// Removes blobs that nobody names, or only says which it would.
    async fn sweep_blobs(&self, sweep: BlobSweep) -> Result<Swept, StoreError>;
}

/// Which blobs go.
#[derive(Clone, Debug)]
pub struct BlobSweep {
    /// These stay, by their digests.
    pub keep: HashSet<String>,
    /// Those that were put, or put again, since then stay too: somebody may be about to name them.
    pub before: Timestamp,
    /// Whether anything is removed.
    pub mode: SweepMode,
}

/// Whether a sweep removes anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SweepMode {
    /// It only counts.
    Look,
    /// It removes.
    Remove,
}

/// What a sweep found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// How many.
    pub count: u64,
    /// How large together.
    pub bytes: u64,
}

/// What was committed.
#[derive(Clone, Debug, PartialEq)]
pub struct Committed {
    /// The events as recorded, in order.
    pub events: Vec<Recorded>,
}

/// A small question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ask {
    /// The task with this key.
    TaskByKey(String),
    /// The task with this id.
    Task(TaskId),
    /// All projects.
    Projects,
    /// Approvals: all that are pending.
    PendingApprovals,
    /// One approval, pending or settled.
    Approval(ApprovalId),
    /// Approvals in the order in which they were asked, pending and settled.
    Approvals(ApprovalQuery),
    /// The tasks that a person addressed at this time or later, newest first, at most so many.
    Addressed(PersonId, Timestamp, usize),
    /// The entry with this key.
    Inbox(String),
    /// How far the spool of this process was consumed.
    Mark(RuntimeSessionId, u64),
    /// The outbox, newest first.
    Deliveries(DeliveryQuery),
    /// Events of tasks that contain this text anywhere, newest first; how far back is looked is bounded. Letters of
    /// the Latin alphabet match in either case.
    Mentions {
        /// What to look for.
        text: String,
        /// How many at most.
        limit: usize,
    },
    /// One delivery, whatever became of it.
    Delivery(DeliveryId),
    /// What this is the name of.
    Name(String),
    /// The newest sequence number.
    Head,
    /// What this store is called: a new one for every new database, so that a cursor of another is refused.
    Incarnation,
}

/// Which approvals to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApprovalQuery {
    /// Only in this state; all if none.
    pub state: Option<String>,
    /// Only those that were asked after this one.
    pub after: Option<ApprovalId>,
    /// How many at most.
    pub limit: usize,
}

/// Which deliveries to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeliveryQuery {
    /// Only about this task.
    pub task: Option<TaskId>,
    /// Only to these conversations; to all if empty.
    pub conversations: Vec<ConversationId>,
    /// Only in these states; in all if empty.
    pub states: Vec<String>,
    /// Only those that were queued before this one.
    pub before: Option<DeliveryId>,
    /// How many at most.
    pub limit: usize,
}

/// The answer to an [`Ask`], in the variant that the question names.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// To `TaskByKey` and `Task`.
    Task(Option<Box<TaskRow>>),
    /// To `Projects`.
    Projects(Vec<ProjectRow>),
    /// To `PendingApprovals`, `Approval` and `Approvals`.
    Approvals(Vec<ApprovalRow>),
    /// To `Addressed`.
    Addressed(Vec<Addressed>),
    /// To `Inbox`.
    Inbox(Option<InboxEntry>),
    /// To `Mark`; none if nothing of that spool was consumed.
    Mark(Option<Mark>),
    /// To `Deliveries` and `Delivery`.
    Deliveries(Vec<DeliveryRow>),
    /// To `Mentions`.
    Events(Vec<Recorded>),
    /// To `Name`; none if it names nothing.
    Name(Option<String>),
    /// To `Head`.
    Head(Seq),
    /// To `Incarnation`.
    Incarnation(String),
}

/// Effects that wait.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Due {
    /// Due now, oldest first.
    pub effects: Vec<PendingEffect>,
    /// When the next one is.
    pub next_at: Option<Timestamp>,
}

/// Why a batch was not committed. Nothing of it was.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    /// Somebody else was faster: load again and decide again.
    #[error("stream {stream:?} is at version {actual}, not {expected}")]
    Conflict {
        /// Which stream.
        stream: StreamId,
        /// What was expected.
        expected: u64,
        /// What it is.
        actual: u64,
    },
    /// This message was taken in before.
    #[error("the message was received before")]
    Duplicate(InboxEntry),
    /// The store itself failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why the store could not do what was asked.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// The disk has no room.
    #[error("the disk is full: {0}")]
    DiskFull(String),
    /// The files cannot be written.
    #[error("the store cannot be written: {0}")]
    ReadOnly(String),
    /// The data was written by a newer version.
    #[error("the database has schema version {found}, this build knows up to {known}")]
    Newer {
        /// What the file says.
        found: i64,
        /// What this build knows.
        known: i64,
    },
    /// The data is damaged, or not what this version can read.
    #[error("the database is damaged: {0}")]
    Corrupt(String),
    /// Another process has it.
    #[error("the database is in use: {0}")]
    Busy(String),
    /// Anything else.
    #[error("the store failed: {0}")]
    Failed(String),
}

impl StoreError {
    /// The stable code, the same in the CLI, the API and the docs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            StoreError::DiskFull(_) => "disk_full",
            StoreError::ReadOnly(_) => "store_read_only",
            StoreError::Newer { .. } => "store_newer",
            StoreError::Corrupt(_) => "store_corrupt",
            StoreError::Busy(_) => "store_busy",
            StoreError::Failed(_) => "store_failed",
        }
    }

    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            StoreError::DiskFull(_) => "free some room; nothing that was acknowledged is lost",
            StoreError::ReadOnly(_) => "make the home writable, or set THROUGHLINE_HOME to one that is",
            StoreError::Newer { .. } => {
                "install the newer tl again, or restore the copy that was made before the upgrade"
            }
            StoreError::Corrupt(_) => "restore a copy from the home's backups folder",
            StoreError::Busy(_) => "stop the other process that uses this home",
            StoreError::Failed(_) => "see the daemon's log",
        }
    }
}

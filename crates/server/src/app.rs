//! What every request needs: the engine, the feed, who may call, and where things are.

use std::sync::Arc;

use throughline_api::daemon::{Keepers, Version};
use throughline_api::task::TaskRef;
use throughline_engine::Engine;
use throughline_model::event::Seq;
use throughline_model::ids::{Id as _, PersonId, ProjectId, TaskId};
use throughline_model::rejection::Rejection;
use throughline_model::stream::StreamId;
use throughline_model::view::{ProjectRow, TaskRow};
use throughline_store::port::{Answer, Ask};
use throughline_store::{Cursor, CursorError, StoreError};
use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;

use crate::auth::Gate;
use crate::feed::Feed;
use crate::login::Logins;
use crate::problem::Refusal;
use crate::push::Pusher;

/// How many blobs may be on their way in at once: each is in memory while it is.
const UPLOADS: usize = 4;
/// How many calls of platforms may be on their way in at once: anybody can begin one.
const CALLS: usize = 64;
/// How many WebSockets may be open at once.
const SOCKETS: usize = 1024;

/// Shared by all requests.
pub(crate) type Shared = Arc<App>;

/// See the file's header.
pub(crate) struct App {
    pub(crate) engine: Engine,
    pub(crate) feed: Feed,
    pub(crate) gate: Gate,
    pub(crate) logins: Arc<Logins>,
    pub(crate) push: Arc<Pusher>,
    /// The store's, for cursors.
    pub(crate) incarnation: Arc<str>,
    /// Who answers.
    pub(crate) version: Version,
    /// The OpenAPI document, rendered once.
    pub(crate) openapi: bytes::Bytes,
    pub(crate) room: Room,
    /// Set when a client asked the daemon to stop.
    pub(crate) stop: watch::Sender<Option<Keepers>>,
    /// Cancelled when the daemon stops, for whatever reason: event streams end then.
    pub(crate) ending: CancellationToken,
}

/// How much there is room for at once.
pub(crate) struct Room {
    pub(crate) uploads: Semaphore,
    pub(crate) calls: Semaphore,
    /// WebSockets no longer count as connections.
    pub(crate) sockets: Arc<Semaphore>,
}

impl Default for Room {
    fn default() -> Self {
        let sockets = Arc::new(Semaphore::new(SOCKETS));
        Self { uploads: Semaphore::new(UPLOADS), calls: Semaphore::new(CALLS), sockets }
    }
}

impl App {
    /// The newest place in the store.
    pub(crate) async fn head(&self) -> Result<Seq, Refusal> {
        match self.ask(Ask::Head).await? {
            Answer::Head(head) => Ok(head),
            other => Err(mismatch(&other)),
        }
    }

    /// A place as clients hold it.
    pub(crate) fn cursor(&self, seq: Seq) -> String {
        Cursor::new(&self.incarnation, seq).encode()
    }

    /// The place that a client gave back.
    pub(crate) async fn place(&self, cursor: &str) -> Result<Seq, Refusal> {
        let head = self.head().await?;
        let expired = |error: CursorError| {
            let hint =
                "start from a snapshot: GET /api/v1/status, or the task's timeline, and follow the cursor given there";
            Refusal::new("cursor_expired", error.to_string(), hint)
        };
        Cursor::decode(cursor, &self.incarnation, head).map(|cursor| cursor.seq()).map_err(expired)
    }

    pub(crate) async fn ask(&self, ask: Ask) -> Result<Answer, StoreError> {
        self.engine.store().ask(ask).await
    }

    /// A task's row, by its key or id.
    pub(crate) async fn row(&self, name: &str) -> Result<TaskRow, Refusal> {
        let ask = match name.parse::<TaskId>() {
            Ok(id) => Ask::Task(id),
            Err(_) => Ask::TaskByKey(name.to_owned()),
        };
        match self.ask(ask).await? {
            Answer::Task(Some(row)) => Ok(*row),
            Answer::Task(None) => Err(Refusal::not_found("task", name)),
            other => Err(mismatch(&other)),
        }
    }

    /// The same, for someone who may see and change it.
    pub(crate) async fn row_for(&self, person: PersonId, name: &str) -> Result<TaskRow, Refusal> {
        let row = self.row(name).await?;
        self.check_member(person, row.project).await?;
        Ok(row)
    }

    /// Refuses whoever is not of the project.
    pub(crate) async fn check_member(&self, person: PersonId, project: ProjectId) -> Result<(), Refusal> {
        let state = self.engine.state(StreamId::Project(project)).await?;
        match state.project() {
            Some(project) if project.members.contains(&person) => Ok(()),
            _ => Err(throughline_engine::EngineError::from(Rejection::Forbidden).into()),
        }
    }

    pub(crate) async fn projects(&self) -> Result<Vec<ProjectRow>, Refusal> {
        match self.ask(Ask::Projects).await? {
            Answer::Projects(projects) => Ok(projects),
            other => Err(mismatch(&other)),
        }
    }

    /// A project, by its id or name.
    pub(crate) async fn project(&self, name: &str) -> Result<ProjectRow, Refusal> {
        let known = self.projects().await?;
        let id = name.parse::<ProjectId>().ok();
        known
            .into_iter()
            .find(|project| Some(project.id) == id || project.name == name)
            .ok_or_else(|| Refusal::not_found("project", name))
    }
}

/// A pointer to the task of a row.
pub(crate) fn task_ref(row: &TaskRow) -> TaskRef {
    TaskRef { id: row.id.uuid(), key: row.key.clone() }
}

/// A store that answers another question than the one it was asked is broken.
pub(crate) fn mismatch(answer: &Answer) -> Refusal {
    tracing::error!(?answer, "the store answered another question");
    Refusal::new("store_failed", "the store answered another question", "see the daemon's log")
}

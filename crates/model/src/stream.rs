//! Streams: every aggregate's events form one stream, with a version that counts them.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::ids::{ConversationId, Id as _, PersonId, ProjectId, TaskId, WorkspaceId};

/// Whose events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "stream", content = "id", rename_all = "snake_case")]
pub enum StreamId {
    /// A person's.
    Person(PersonId),
    /// A project's.
    Project(ProjectId),
    /// A conversation's.
    Conversation(ConversationId),
    /// A task's.
    Task(TaskId),
    /// A workspace's.
    Workspace(WorkspaceId),
}

/// What sort of aggregate a stream belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StreamKind {
    /// A person.
    Person,
    /// A project.
    Project,
    /// A conversation.
    Conversation,
    /// A task.
    Task,
    /// A workspace.
    Workspace,
}

impl StreamKind {
    /// The number that stands for it in a store. Never reused.
    #[must_use]
    pub fn number(self) -> u8 {
        match self {
            StreamKind::Person => 1,
            StreamKind::Project => 2,
            StreamKind::Conversation => 3,
            StreamKind::Task => 4,
            StreamKind::Workspace => 5,
        }
    }

    /// The kind that a number stands for.
    #[must_use]
    pub fn from_number(number: u8) -> Option<Self> {
        [Self::Person, Self::Project, Self::Conversation, Self::Task, Self::Workspace]
            .into_iter()
            .find(|kind| kind.number() == number)
    }

    /// The stream of this kind with this id.
    #[must_use]
    pub fn stream(self, id: Uuid) -> StreamId {
        match self {
            StreamKind::Person => StreamId::Person(PersonId::from_uuid(id)),
            StreamKind::Project => StreamId::Project(ProjectId::from_uuid(id)),
            StreamKind::Conversation => StreamId::Conversation(ConversationId::from_uuid(id)),
            StreamKind::Task => StreamId::Task(TaskId::from_uuid(id)),
            StreamKind::Workspace => StreamId::Workspace(WorkspaceId::from_uuid(id)),
        }
    }
}

impl StreamId {
    /// What sort of aggregate it is.
    #[must_use]
    pub fn kind(self) -> StreamKind {
        match self {
            StreamId::Person(_) => StreamKind::Person,
            StreamId::Project(_) => StreamKind::Project,
            StreamId::Conversation(_) => StreamKind::Conversation,
            StreamId::Task(_) => StreamKind::Task,
            StreamId::Workspace(_) => StreamKind::Workspace,
        }
    }

    /// The id inside.
    #[must_use]
    pub fn uuid(self) -> Uuid {
        match self {
            StreamId::Person(id) => id.uuid(),
            StreamId::Project(id) => id.uuid(),
            StreamId::Conversation(id) => id.uuid(),
            StreamId::Task(id) => id.uuid(),
            StreamId::Workspace(id) => id.uuid(),
        }
    }
}

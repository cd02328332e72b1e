//! Events: persisted facts, in the past tense. Once written, a shape is decoded forever.

use serde::{Deserialize, Serialize};

use crate::conversation::ConversationEvent;
use crate::ids::ItemId;
use crate::person::PersonEvent;
use crate::project::ProjectEvent;
use crate::stream::{StreamId, StreamKind};
use crate::task::TaskEvent;
use crate::time::Timestamp;
use crate::workspace::WorkspaceEvent;

/// A fact of one aggregate. On the wire and in the store it is the inner event alone: the stream says the rest.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Event {
    /// Of a person.
    Person(PersonEvent),
    /// Of a project.
    Project(ProjectEvent),
    /// Of a conversation.
    Conversation(ConversationEvent),
    /// Of a task.
    Task(TaskEvent),
    /// Of a workspace.
    Workspace(WorkspaceEvent),
}

impl Event {
    /// The event as JSON text.
    ///
    /// # Errors
    /// Never for the types of this crate; the error is kept so that nobody has to trust that.
    pub fn encode(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self)
    }

    /// The event of a stream of this kind.
    ///
    /// # Errors
    /// If the text is not an event that this version, or an earlier one, has written.
    pub fn decode(kind: StreamKind, json: &str) -> Result<Self, serde_json::Error> {
        Ok(match kind {
            StreamKind::Person => Event::Person(serde_json::from_str(json)?),
            StreamKind::Project => Event::Project(serde_json::from_str(json)?),
            StreamKind::Conversation => Event::Conversation(serde_json::from_str(json)?),
            StreamKind::Task => Event::Task(serde_json::from_str(json)?),
            StreamKind::Workspace => Event::Workspace(serde_json::from_str(json)?),
        })
    }

    /// The item that this event revises, if it can be revised again: the store finds the newest record by it.
    #[must_use]
    pub fn revisable_item(&self) -> Option<ItemId> {
        match self {
            Event::Task(TaskEvent::ItemRecorded { item, .. }) if item.revisable() => Some(item.id),
            Event::Task(_) | Event::Person(_) | Event::Project(_) | Event::Conversation(_) | Event::Workspace(_) => {
                None
            }
        }
    }
}

/// The place of an event in the order of commits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seq(pub u64);

/// An event as it was committed.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// Its place in the order of commits.
    pub seq: Seq,
    /// Whose it is.
    pub stream: StreamId,
    /// Its place in the stream, from one.
    pub version: u64,
    /// When it was decided.
    pub at: Timestamp,
    /// What happened.
    pub event: Event,
}

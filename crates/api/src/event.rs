//! The event stream's frames as they travel.
//!
//! A frame with an `id:` is a durable event ([`TimelineEntry`]), its id the cursor to resume from. Frames without
//! one are live text: they are never repeated, and a client that missed some gets the item so far.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::task::TaskRef;
use crate::timeline::TimelineEntry;

/// The stream is open. Its `id:` is where it stands, so that a client can resume before anything happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Ready {
    /// Where the stream stands.
    pub cursor: String,
}

/// A piece of an item's text that is still being written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LiveText {
    /// Of which task.
    pub task: TaskRef,
    /// Of which item. The durable entry with the same item has the whole text.
    pub item: Uuid,
    /// Of which turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<Uuid>,
    /// What is being written.
    pub kind: LiveKind,
    /// The byte offset of this piece in the item's text. A piece at 0 starts it over.
    pub at: u64,
    /// The piece.
    pub text: String,
}

/// What is being written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum LiveKind {
    /// A message.
    Message,
    /// A thought.
    Thought,
    /// A tool's output.
    Tool,
    /// A word of a newer server.
    #[serde(other)]
    Unknown,
}

/// The name of a [`Ready`] frame.
pub const READY: &str = "ready";
/// The name of a frame with a [`TimelineEntry`].
pub const ENTRY: &str = "entry";
/// The name of a frame with a [`Problem`](crate::problem::Problem): why there is no stream. Only over WebSocket.
pub const PROBLEM: &str = "problem";
/// The name of a [`LiveText`] frame.
pub const LIVE: &str = "live";

/// A frame as the client hands it on.
#[derive(Clone, Debug, PartialEq)]
pub enum Frame {
    /// The stream is open.
    Ready(Ready),
    /// A durable event.
    Entry(Box<TimelineEntry>),
    /// Live text.
    Live(LiveText),
}

//! What a search found, as it travels.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::task::{TaskRef, TaskSummary};

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SearchResult {
    /// Tasks with the words in their key or title, most urgent first. At most 20.
    pub tasks: Vec<TaskSummary>,
    /// Messages with the words in them, newest first. At most 20.
    pub messages: Vec<Mention>,
}

/// A message with the words in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Mention {
    /// Of which task.
    pub task: TaskRef,
    /// What that task is called.
    pub title: String,
    /// Its place in the timeline.
    pub cursor: String,
    /// When it was said, RFC 3339.
    pub at: String,
    /// Which item, if an agent said it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<Uuid>,
    /// Which input, if a person said it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Uuid>,
    /// The words, with a few around them, on one line.
    pub excerpt: String,
}

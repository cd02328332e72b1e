//! Native sessions of agents that were begun elsewhere, as they travel.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::task::TaskRef;

/// Native sessions, newest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NativeSessionList {
    /// Newest first.
    pub native_sessions: Vec<NativeSession>,
}

/// A native session that was begun elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NativeSession {
    /// The profile of its agent.
    pub agent: String,
    /// The agent's own id of it.
    pub id: String,
    /// What was said first, in one line.
    pub title: String,
    /// Where it worked.
    pub folder: String,
    /// When it was written to last, RFC 3339.
    pub updated_at: String,
    /// The task that has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskRef>,
    /// Why another process may have it, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

/// A native session to import.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportNative {
    /// The profile of its agent; any if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The agent's own id of it.
    pub id: String,
}

/// What became of an import.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ImportedTask {
    /// The task.
    pub task: TaskRef,
    /// What it is called.
    pub title: String,
    /// It was there before, and nothing was changed.
    pub repeated: bool,
    /// Why another process may have the session, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

//! What can be done to a task's workspace outside of turns.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use crate::diff::ChangedFile;

/// What to restore: one side of a turn, or the state before the last change of the workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct RestoreTo {
    /// The turn: its id, or its number counted from one. The newest with a checkpoint if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<String>,
    /// As it was before the turn, instead of after it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub before: bool,
    /// As it was before the last restore.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub undo: bool,
}

/// What a restore did, or would do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Restored {
    /// The turn; none for the state before the last change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<Uuid>,
    /// The turn's number, counted from one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<usize>,
    /// `before` or `after` it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub side: Option<String>,
    /// What changes, by name. At most a hundred files are named.
    pub files: Vec<ChangedFile>,
    /// What stays as it is, and why: a line for each path.
    pub kept: Vec<String>,
    /// Whether it was done, or only looked at.
    pub done: bool,
}

/// The turns of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TurnList {
    /// Oldest first.
    pub turns: Vec<PastTurn>,
}

/// A turn as the record has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PastTurn {
    /// Which.
    pub id: Uuid,
    /// Counted from one.
    pub number: usize,
    /// What the person said, in one line.
    pub said: String,
    /// The agent's last words, in one line.
    pub answered: String,
    /// How it ended; none while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// Whether the state before it is kept.
    pub before: bool,
    /// Whether the state after it is kept.
    pub after: bool,
}

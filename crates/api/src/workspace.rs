//! What can be done to a task's workspace outside of turns, and forks.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use crate::diff::{ChangedFile, FileDiff};
use crate::task::TaskRef;

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

/// A fork that is wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ForkTask {
    /// As it was after this turn: its id, or its number counted from one. As it is now if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<String>,
    /// With this agent; the same if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// What to say to it first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// Where a fork comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ForkedFrom {
    /// The task that it was forked from.
    pub task: TaskRef,
    /// The turn after which it was forked; none for the state at that moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<Uuid>,
}

/// What was taken from a fork.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Taken {
    /// The task whose workspace has the changes now.
    pub into: TaskRef,
    /// What changed there, by name. At most a hundred files are named.
    pub files: Vec<ChangedFile>,
    /// What stayed as it was, and why: a line for each path.
    pub kept: Vec<String>,
}

/// A fork that was discarded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Discarded {
    /// Which.
    pub task: TaskRef,
    /// Whether the task is closed with it.
    #[serde(default)]
    pub closed: bool,
    /// Whether its folder is gone. What was in it is kept, and comes back when the task goes on.
    pub removed: bool,
    /// Why its folder stays, and where, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stays: Option<String>,
    /// What to do about that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// Two tasks side by side.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Comparison {
    /// The one.
    pub left: ComparedTask,
    /// The other.
    pub right: ComparedTask,
    /// What turns the state of the one into that of the other.
    pub between: Vec<FileDiff>,
}

/// One of two tasks that are compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ComparedTask {
    /// Its key.
    pub key: String,
    /// What it changed since the state that it shares with the other.
    pub changed: Vec<ChangedFile>,
}

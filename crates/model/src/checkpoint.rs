//! Checkpoint: the state of a workspace before or after a turn, as a git tree in a private object store.

use serde::{Deserialize, Serialize};

use crate::ids::{CheckpointId, TurnId};

/// One state of a workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Which.
    pub id: CheckpointId,
    /// Of which turn.
    pub turn: TurnId,
    /// Which side of it.
    pub side: CheckpointSide,
    /// The git tree's object id, or why there is none.
    pub tree: CheckpointTree,
    /// Of the state after a turn: what the turn changed, by name. Bounded; the diff has all of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<ChangedFile>,
}

/// A file that a turn changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedFile {
    /// Its path below the root.
    pub path: String,
    /// `added`, `modified`, `deleted`, `renamed` or `type_changed`.
    pub change: String,
    /// Lines that came.
    pub added: usize,
    /// Lines that went.
    pub removed: usize,
}

/// Which side of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckpointSide {
    /// Before the agent got the prompt.
    Before,
    /// After it stopped.
    After,
}

/// What a checkpoint holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "tree", rename_all = "snake_case")]
pub enum CheckpointTree {
    /// The workspace as it was.
    Taken {
        /// The tree's object id.
        oid: String,
    },
    /// It was left out.
    LeftOut {
        /// Why, in words.
        why: String,
    },
}

//! What a turn changed in its workspace.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

/// What a turn changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TurnDiff {
    /// Which turn.
    pub turn: Uuid,
    /// The files, with their patches.
    pub files: Vec<FileDiff>,
    /// Why there is no diff, in words, if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<String>,
    /// Somebody changed the workspace between the turn before and this one; that is not part of this diff.
    pub edited_before: bool,
}

/// What a task, or one execution of it, changed from its first turn to its last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Changes {
    /// The files, with their patches.
    pub files: Vec<FileDiff>,
    /// Why there is no diff, in words, if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<String>,
    /// Somebody else changed the workspace between two of the turns; that is in the diff too.
    pub edited_between: bool,
}

/// A file that a turn changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FileDiff {
    /// What happened to it, by name and lines.
    #[serde(flatten)]
    pub file: ChangedFile,
    /// The name before, of a renamed one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Its content is not text.
    pub binary: bool,
    /// The unified diff; none if the content is not text, or too long to read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patch: Option<String>,
}

/// What happened to a file, by name and lines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
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

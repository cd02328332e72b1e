//! Retention, as it travels.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Whether to free, or only to say what would be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RunGc {
    /// Nothing is removed.
    pub dry_run: bool,
}

/// What was freed, or would be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Freed {
    /// Nothing was removed.
    pub dry_run: bool,
    /// By kind.
    pub freed: Vec<FreedKind>,
}

/// What was freed of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FreedKind {
    /// `keepers`, `checkpoints` or `blobs`.
    pub kind: String,
    /// How many.
    pub count: u64,
    /// How large together.
    pub bytes: u64,
}

//! How long what is no longer needed stays: `[retention]` in config.toml.

use serde::Deserialize;
use std::time::Duration;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// How long what is no longer needed stays. What a task still needs stays in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Retention {
    /// What a keeper that ended left behind: its spool and its agent's last words.
    pub keeper_days: u32,
    /// Checkpoints of closed tasks, from the turn on.
    pub checkpoint_days: u32,
    /// Blobs that no task names, from the moment they were put.
    pub blob_days: u32,
    /// Checkpoints and long texts of archived tasks, from their last change on.
    pub archived_days: u32,
}

impl Default for Retention {
    fn default() -> Self {
        Self { keeper_days: 7, checkpoint_days: 30, blob_days: 1, archived_days: 30 }
    }
}

/// So many days.
pub(crate) fn days(count: u32) -> Duration {
    DAY * count
}

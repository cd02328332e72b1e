//! How a runtime session's process tree ended. Written once, durably, after the tree is gone.

use std::path::Path;
use std::{fs, io};

use serde::{Deserialize, Serialize};

use crate::spec::write_durably;

const FILE: &str = "exit.json";

/// The end of an agent. Fields that a newer keeper adds are ignored by an older daemon.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct Exit {
    pub reason: ExitReason,
    pub status: AgentStatus,
    pub tree: TreeEnd,
    /// The end of the last whole frame in the spool.
    pub spool_end: u64,
    /// Wall clock, for the timeline; nothing is decided by it.
    pub ended_unix_ms: u64,
}

/// Why the tree was ended.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ExitReason {
    /// The agent's own process ended by itself, or was killed by someone else.
    AgentExited,
    /// The daemon asked for it.
    Stopped,
    /// No daemon was attached for this long.
    LeaseExpired { lease_secs: u64 },
    /// The agent wrote a line that is longer than the bound.
    FrameTooLong { limit_bytes: u64 },
    /// The agent closed its stdout and lived on, so that nothing could be heard from it again.
    StdoutClosed,
    /// The agent's output could not be kept.
    SpoolFailed { message: String },
    /// The keeper itself was asked to terminate by a signal.
    KeeperTerminated { signal: i32 },
    /// Written by a newer keeper.
    #[serde(other)]
    Unrecognised,
}

/// What the operating system said about the agent's own process.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum AgentStatus {
    Code(i32),
    Signal(i32),
    /// It could not be reaped.
    Unknown,
}

/// Whether anything is left of the tree.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum TreeEnd {
    /// Every process of the tree is gone.
    Confirmed,
    /// These processes did not die of SIGKILL (stuck in the kernel), or cannot be seen on this system.
    Unconfirmed { survivors: Vec<i32> },
}

impl Exit {
    /// `None` if the keeper was killed before it could say.
    pub(crate) fn load(dir: &Path) -> io::Result<Option<Self>> {
        match fs::read(dir.join(FILE)) {
            Ok(text) => serde_json::from_slice(&text).map(Some).map_err(io::Error::other),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn store(&self, dir: &Path) -> io::Result<()> {
        let text = serde_json::to_vec_pretty(self).map_err(io::Error::other)?;
        write_durably(&dir.join(FILE), &text)
    }
}

#[cfg(test)]
mod tests {
    use super::{Exit, ExitReason};

    #[test]
    fn a_newer_keeper_is_still_understood() {
        let text = r#"{"reason":{"kind":"abducted","by":"aliens"},"status":{"code":3},
            "tree":"confirmed","spool_end":7,"ended_unix_ms":1,"mood":"fine"}"#;
        let exit: Exit = serde_json::from_str(text).unwrap();
        assert_eq!(exit.reason, ExitReason::Unrecognised);
    }
}

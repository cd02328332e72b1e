//! Checkpoints: the state of a workspace before and after a turn, as git trees in a private object store.
//!
//! One [`Checkpoints`] owns one bare repository in the home. Several roots may share it (a workspace and its forks), so
//! that their trees can be compared; each root has an index of its own there, so that unchanged files are not read
//! again.
//!
//! It refuses to guess: a checkpoint that cannot be taken within its [`Bounds`] is left out, with the reason in words.
//!
//! **Invariants.**
//! - Nothing of the person's repository is written, and nothing of the person's git configuration is read.
//! - The bytes of a file are recorded and restored as they are: no filters, no line endings, no encodings.
//! - Nested repositories are recorded by their commit, never entered, never changed. `.git` does not exist here.
//! - A restore overwrites or deletes only what the checkpoint that it took first holds.

mod diff;
mod error;
mod git;
mod merge;
mod place;
mod prune;
mod raw;
mod restore;
mod store;
mod survey;
mod take;
#[cfg(test)]
mod tests;
mod write;

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::{Mutex, RwLock};

pub use diff::{Change, FileDiff};
pub use error::{CheckpointError, GitError};
pub use merge::Merged;
pub use place::surroundings;
pub use prune::{Freed, Spare};
pub use restore::{RestorePlan, Restored};

use git::Git;

/// What a checkpoint may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The time that taking it may need.
    pub time: Duration,
    /// The bytes that are new since the last one of the same root.
    pub new_bytes: u64,
    /// The bytes of one file.
    pub file_bytes: u64,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { time: Duration::from_secs(2), new_bytes: 200 << 20, file_bytes: 50 << 20 }
    }
}

/// What came of taking a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "taken", rename_all = "snake_case")]
pub enum Taken {
    /// The workspace as it was.
    Tree {
        /// The tree's object id.
        oid: String,
        /// Files that could never be read and are therefore not in it.
        passed_over: Vec<PassedOver>,
    },
    /// No checkpoint.
    LeftOut {
        /// Why, in words.
        why: String,
    },
}

/// A path that was left alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PassedOver {
    /// Which, relative to the root.
    pub path: String,
    /// Why, in words.
    pub why: String,
}

/// The checkpoints of one workspace and its forks.
#[derive(Debug)]
pub struct Checkpoints {
    git: Git,
    bounds: Bounds,
    /// Folders of Throughline's own, never recorded even if they are inside a root.
    spared: Vec<PathBuf>,
    /// Taken for reading by everything that uses objects, for writing by `prune`, which removes them.
    objects: RwLock<()>,
    /// One lock per root: an index has one writer.
    roots: std::sync::Mutex<HashMap<PathBuf, Arc<Mutex<()>>>>,
    /// Whether the repository has been looked over by this process.
    ready: Mutex<bool>,
}

impl Checkpoints {
    /// Checkpoints in the bare repository `dir`, which is made when it is first needed.
    pub fn new(dir: PathBuf) -> Self {
        Self {
            spared: vec![dir.clone()],
            git: Git { program: OsString::from("git"), dir },
            bounds: Bounds::default(),
            objects: RwLock::new(()),
            roots: std::sync::Mutex::default(),
            ready: Mutex::new(false),
        }
    }

    /// With other bounds.
    pub fn bounded(mut self, bounds: Bounds) -> Self {
        self.bounds = bounds;
        self
    }

    /// With another git program.
    pub fn with_git(mut self, program: impl Into<OsString>) -> Self {
        self.git.program = program.into();
        self
    }

    /// Never recording `folder` (the home of the daemon), even where a root is around it.
    pub fn sparing(mut self, folder: PathBuf) -> Self {
        self.spared.push(folder);
        self
    }

    fn lock_of(&self, root: &Path) -> Arc<Mutex<()>> {
        let mut roots = self.roots.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        Arc::clone(roots.entry(root.to_owned()).or_default())
    }
}

/// A path for people and for the wire: bytes that are not UTF-8 appear as `\xNN`, so that two files never look alike.
fn shown(path: &[u8]) -> String {
    path.utf8_chunks().fold(String::new(), |mut shown, chunk| {
        shown.push_str(chunk.valid());
        for byte in chunk.invalid() {
            shown.push_str(&format!("\\x{byte:02x}"));
        }
        shown
    })
}

//! What can go wrong with a checkpoint that exists. A checkpoint that was not taken is no error: see [`Taken`].
//!
//! [`Taken`]: super::Taken

use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Why git did not answer.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// There is no git.
    #[error("git is not installed, or not on the PATH")]
    Missing,
    /// It could not be started or spoken to.
    #[error("git could not be run")]
    Io(#[from] io::Error),
    /// It was ended because it took too long.
    #[error("git took longer than {:.1} s", limit.as_secs_f32())]
    TimedOut {
        /// The patience that it had.
        limit: Duration,
    },
    /// It was ended because it said too much.
    #[error("git {command} listed more than {limit_bytes} bytes")]
    TooMuch {
        /// Which command.
        command: String,
        /// The bound.
        limit_bytes: usize,
    },
    /// It said no.
    #[error("git {command} failed: {said}")]
    Failed {
        /// Which command.
        command: String,
        /// Its last words.
        said: String,
    },
    /// It said something that this library does not understand.
    #[error("git {command} answered in an unknown form")]
    Garbled {
        /// Which command.
        command: String,
    },
}

/// Why a checkpoint could not be read, restored, checked out or pruned.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// Git did not answer.
    #[error(transparent)]
    Git(#[from] GitError),
    /// What was given is not an object id.
    #[error("`{oid}` is not the id of a checkpoint")]
    NotAnId {
        /// What was given.
        oid: String,
    },
    /// The tree is not in the store (any more).
    #[error("the checkpoint {oid} is not kept any more")]
    Gone {
        /// Which.
        oid: String,
    },
    /// The present state could not be kept first, so nothing was changed.
    #[error("the present state cannot be kept, so nothing was changed: {why}")]
    NotTaken {
        /// Why not, in words.
        why: String,
    },
    /// The folder to check out into has something in it.
    #[error("{} is not empty", into.display())]
    NotEmpty {
        /// Which folder.
        into: PathBuf,
    },
    /// Writing the workspace failed on the way; the state before it is kept.
    #[error("the restore stopped at {path}: {source}; the state before it is kept as {undo}")]
    HalfRestored {
        /// The checkpoint of the state before: restoring it undoes what was done.
        undo: String,
        /// Where it stopped.
        path: String,
        /// What happened.
        source: io::Error,
    },
    /// A file or folder could not be used.
    #[error("{}: {source}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// What happened.
        source: io::Error,
    },
}

impl CheckpointError {
    pub(super) fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
    }

    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Git(GitError::Missing) => "git_missing",
            Self::Git(GitError::TimedOut { .. } | GitError::TooMuch { .. }) => "checkpoint_too_large",
            Self::Git(GitError::Io(_) | GitError::Failed { .. } | GitError::Garbled { .. }) => "git_failed",
            Self::NotAnId { .. } => "checkpoint_id_invalid",
            Self::Gone { .. } => "checkpoint_gone",
            Self::NotTaken { .. } => "checkpoint_not_taken",
            Self::NotEmpty { .. } => "folder_not_empty",
            Self::HalfRestored { .. } => "restore_incomplete",
            Self::Io { .. } => "checkpoint_io",
        }
    }

    /// What the person can do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Git(GitError::Missing) => Some(GIT_MISSING_HINT),
            Self::Gone { .. } => Some("Checkpoints of archived tasks are removed by `tl gc`."),
            Self::NotTaken { .. } => Some("Add large generated files to .gitignore, then try again."),
            Self::HalfRestored { .. } => Some("Free disk space or fix the permissions, then restore again."),
            _ => None,
        }
    }
}

/// What to do without git.
pub(super) const GIT_MISSING_HINT: &str =
    "Install git (for example `apt install git` or `brew install git`) and start the daemon again.";

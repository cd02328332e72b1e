//! What a keeper's directory says, with or without its keeper.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::cgroup::Cgroup;
use crate::exit::Exit;
use crate::frames::{FrameState, FramesError, frame_state, frame_states};
use crate::lock;
use crate::spool::{SpoolError, SpoolFrames};
use crate::stderr::Stderr;

/// A keeper whose end is written down only has to tell its daemon and exit.
const PATIENCE: Duration = Duration::from_secs(2);
const RETRY: Duration = Duration::from_millis(5);

/// A keeper's directory cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("the keeper's directory {} cannot be read", dir.display())]
pub struct DirError {
    pub dir: PathBuf,
    #[source]
    pub source: io::Error,
}

/// A keeper's directory stays.
#[derive(Debug, thiserror::Error)]
pub enum RemoveError {
    #[error("its keeper still runs")]
    Live,
    #[error("the keeper's directory cannot be removed")]
    Io(#[from] io::Error),
}

/// Whether the agent of this directory was started confined.
#[must_use]
pub fn is_confined(dir: &Path) -> bool {
    crate::spec::LaunchSpec::load(dir).is_ok_and(|spec| spec.confine.is_some())
}

/// One directory under the root.
#[derive(Clone, Debug)]
pub struct Kept {
    pub dir: PathBuf,
    /// The living keeper's pid.
    pub keeper_pid: Option<i32>,
    /// How it ended. Neither this nor a pid: the keeper was killed.
    pub exit: Option<Exit>,
}

/// What a keeper that is gone left behind.
#[derive(Debug)]
pub struct PostMortem {
    dir: PathBuf,
    /// `None`: the keeper was killed, and [`super::sweep_dir`] must end its orphans.
    pub exit: Option<Exit>,
    pub stderr: Stderr,
}

impl PostMortem {
    /// What the agent said from an offset on.
    pub fn frames_from(&self, offset: u64) -> Result<SpoolFrames, SpoolError> {
        SpoolFrames::open(&self.dir, offset)
    }

    pub fn frame_state(&self, id: &str) -> Result<FrameState, FramesError> {
        frame_state(&self.dir, id)
    }

    pub fn frame_states(&self) -> Result<Vec<(String, FrameState)>, FramesError> {
        frame_states(&self.dir)
    }
}

/// Reads what is left after [`super::AttachError::Gone`].
pub fn post_mortem(dir: &Path) -> Result<PostMortem, DirError> {
    let failed = |source| DirError { dir: dir.to_owned(), source };
    Ok(PostMortem {
        dir: dir.to_owned(),
        exit: Exit::load(dir).map_err(failed)?,
        stderr: Stderr::load(dir).map_err(failed)?,
    })
}

/// Whether a keeper process holds this directory.
pub fn is_live(dir: &Path) -> Result<bool, DirError> {
    let holder = lock::holder(dir).map_err(|source| DirError { dir: dir.to_owned(), source })?;
    Ok(holder.is_some())
}

/// How many processes a living keeper's tree has now, the agent's own included. Nothing is known of a dead keeper, nor on
/// systems where processes cannot be listed.
pub fn tree_size(dir: &Path) -> Option<usize> {
    let keeper = lock::holder(dir).ok()??;
    let all = crate::tree::alive().ok()?;
    let below = crate::tree::descendants(&all, &[keeper], None);
    (!below.is_empty()).then_some(below.len())
}

/// Every keeper's directory under the root, by name. An absent root holds none.
pub fn list(keepers_root: &Path) -> Result<Vec<Kept>, DirError> {
    let failed = |dir: &Path, source| DirError { dir: dir.to_owned(), source };
    let entries = match std::fs::read_dir(keepers_root) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(keepers_root, error)),
    };
    let mut found = Vec::new();
    for entry in entries {
        let dir = entry.map_err(|error| failed(keepers_root, error))?.path();
        if dir.is_dir() {
            found.push(Kept {
                keeper_pid: lock::holder(&dir).map_err(|error| failed(&dir, error))?,
                exit: Exit::load(&dir).map_err(|error| failed(&dir, error))?,
                dir,
            });
        }
    }
    found.sort_by(|a, b| a.dir.cmp(&b.dir));
    Ok(found)
}

/// Deletes what a keeper left, if it is gone. Deleting twice is fine.
pub fn remove(dir: &Path) -> Result<(), RemoveError> {
    if lock::holder(dir)?.is_some() {
        return Err(RemoveError::Live);
    }
    if let Some(group) = Cgroup::of(dir) {
        group.remove(dir);
    }
    match std::fs::remove_dir_all(dir) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

/// As [`remove`], right after [`super::Happening::Exited`]: waits a moment for a keeper whose end is
/// written down and which is only on its way out. One that still runs an agent is not waited for.
pub async fn remove_ended(dir: &Path) -> Result<(), RemoveError> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match remove(dir) {
            Err(RemoveError::Live) if Exit::load(dir)?.is_some() && Instant::now() < deadline => {
                sleep(RETRY).await;
            }
            outcome => return outcome,
        }
    }
}

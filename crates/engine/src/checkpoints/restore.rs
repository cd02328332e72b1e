//! Bringing a workspace back to a checkpoint, and checking one out into an empty folder.
//!
//! It refuses nothing about turns: whoever calls holds the workspace's lease, so that no agent writes meanwhile.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::diff::file;
use super::error::{CheckpointError, GitError};
use super::git::{Blobs, Deadline, blocking};
use super::place::Place;
use super::raw::{self, GITLINK, Lines, RawChange};
use super::write::{Step, Writer, obstacle};
use super::{Bounds, Checkpoints, FileDiff, PassedOver, shown};

/// A person waits for this one, and would rather wait than lose the way back.
const RESTORE_TIME: Duration = Duration::from_secs(120);

/// What a restore would do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RestorePlan {
    /// The checkpoint of the present state.
    pub present: String,
    /// What would change, without patches.
    pub changes: Vec<FileDiff>,
    /// What would be left as it is.
    pub kept: Vec<PassedOver>,
}

/// What a restore did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restored {
    /// The checkpoint of the state before: restoring it undoes this restore.
    pub undo: String,
    /// How many files were written.
    pub written: usize,
    /// How many files were deleted.
    pub deleted: usize,
    /// What was left as it is.
    pub kept: Vec<PassedOver>,
}

/// The steps of a restore, and those that will not be taken.
struct Steps {
    steps: Vec<RawChange>,
    kept: Vec<PassedOver>,
}

impl Checkpoints {
    /// Says what [`Self::restore`] would do. It takes a checkpoint and changes nothing in the workspace.
    pub async fn plan_restore(&self, root: &Path, to: &str) -> Result<RestorePlan, CheckpointError> {
        let deadline = Deadline::after(RESTORE_TIME);
        let _objects = self.objects.read().await;
        let place = self.locate(root, deadline).await?;
        let lock = self.lock_of(&place.root);
        let _lock = lock.lock().await;
        let (present, planned) = self.plan(&place, to, deadline).await?;
        let changes = planned.steps.into_iter().map(|step| file(step, Lines::default())).collect();
        Ok(RestorePlan { present, changes, kept: planned.kept })
    }

    /// Makes the recorded part of the workspace equal to a checkpoint. What was never recorded (ignored files, nested
    /// repositories, `.git`) stays as it is.
    pub async fn restore(&self, root: &Path, to: &str) -> Result<Restored, CheckpointError> {
        let deadline = Deadline::after(RESTORE_TIME);
        let _objects = self.objects.read().await;
        let place = self.locate(root, deadline).await?;
        let lock = self.lock_of(&place.root);
        let _lock = lock.lock().await;
        let (undo, planned) = self.plan(&place, to, deadline).await?;
        let writer = Arc::new(Writer::open(&place.root).map_err(CheckpointError::io(&place.root))?);
        let mut blobs = self.git.blobs()?;
        let mut restored = Restored { undo, written: 0, deleted: 0, kept: planned.kept };
        // What goes makes room for what comes: a file where a folder was, a folder where a link was.
        let (going, coming): (Vec<_>, Vec<_>) = planned.steps.into_iter().partition(|step| step.status == b'D');
        for step in going.into_iter().chain(coming) {
            let gone = step.status == b'D';
            let path = shown(&step.path);
            match perform(&writer, &mut blobs, step, deadline).await {
                Ok(Step::Done) if gone => restored.deleted += 1,
                Ok(Step::Done) => restored.written += 1,
                Ok(Step::Kept(why)) => restored.kept.push(PassedOver { path, why: why.to_owned() }),
                Err(error) => {
                    let source = std::io::Error::other(error);
                    return Err(CheckpointError::HalfRestored { undo: restored.undo, path, source });
                }
            }
        }
        Ok(restored)
    }

    async fn plan(&self, place: &Place, to: &str, deadline: Deadline) -> Result<(String, Steps), CheckpointError> {
        Self::checked(to)?;
        let bounds = Bounds { time: RESTORE_TIME, ..self.bounds };
        let taken = self.take_locked(place, bounds, deadline).await;
        let (present, _) = taken.map_err(|error| CheckpointError::NotTaken { why: error.why() })?;
        let steps = self.steps(&present, to, deadline).await?;
        let root = place.root.clone();
        Ok((present, blocking(deadline, move || sort_out(&root, steps)).await?))
    }

    /// Checks a tree out into a folder that is empty or not there.
    pub async fn check_out(&self, tree: &str, into: &Path) -> Result<Vec<PassedOver>, CheckpointError> {
        let deadline = Deadline::after(RESTORE_TIME);
        let _objects = self.objects.read().await;
        let tree = Self::checked(tree)?;
        let listed = match self.git.call(&["ls-tree", "-r", "-z", tree]).whole(deadline).await {
            Ok(listed) => listed,
            Err(error) => return Err(self.or_gone(error, &[tree], deadline).await),
        };
        let folder = into.to_owned();
        let opened = blocking(deadline, move || open_empty(&folder)).await?.map_err(CheckpointError::io(into))?;
        let writer = Arc::new(opened.ok_or_else(|| CheckpointError::NotEmpty { into: into.to_owned() })?);
        let mut blobs = self.git.blobs()?;
        let mut kept = Vec::new();
        for entry in raw::entries(&listed) {
            let (mode, oid, path) = entry.ok_or_else(|| GitError::Garbled { command: "ls-tree".into() })?;
            let step = RawChange {
                old_mode: 0,
                old_oid: String::new(),
                new_mode: mode,
                new_oid: oid.to_owned(),
                status: b'A',
                path: path.to_vec(),
                from: None,
            };
            if let Step::Kept(why) = perform(&writer, &mut blobs, step, deadline).await? {
                kept.push(PassedOver { path: shown(path), why: why.to_owned() });
            }
        }
        Ok(kept)
    }
}

/// Leaves out the steps that would touch what is not the checkpoint's.
fn sort_out(root: &Path, steps: Vec<RawChange>) -> Steps {
    let known: HashSet<Vec<u8>> =
        steps.iter().filter(|step| step.status != b'A').map(|step| step.path.clone()).collect();
    let leaving: HashSet<Vec<u8>> =
        steps.iter().filter(|step| step.status == b'D').map(|step| step.path.clone()).collect();
    let nested_then: Vec<Vec<u8>> = steps
        .iter()
        .filter(|step| step.new_mode == GITLINK)
        .map(|step| [step.path.as_slice(), b"/"].concat())
        .collect();
    let mut sorted = Steps { steps: Vec::new(), kept: Vec::new() };
    for step in steps {
        let why = match step.status {
            _ if step.old_mode == GITLINK || step.new_mode == GITLINK => Some("it is a nested repository"),
            // What the repository held then is not known, so nothing may go on its account.
            b'D' if nested_then.iter().any(|folder| step.path.starts_with(folder)) => {
                Some("it was a nested repository then")
            }
            b'D' => None,
            _ => obstacle(root, &step.path, &|path| leaving.contains(path), &|path| known.contains(path)),
        };
        match why {
            Some(why) => sorted.kept.push(PassedOver { path: shown(&step.path), why: why.to_owned() }),
            None => sorted.steps.push(step),
        }
    }
    sorted
}

async fn perform(
    writer: &Arc<Writer>,
    blobs: &mut Blobs,
    step: RawChange,
    deadline: Deadline,
) -> Result<Step, CheckpointError> {
    let content = match (step.status, step.new_mode) {
        (b'D', _) | (_, GITLINK) => Vec::new(),
        _ => match blobs.get(&step.new_oid, deadline).await? {
            Some(content) => content,
            None => return Err(CheckpointError::Gone { oid: step.new_oid }),
        },
    };
    let writer = Arc::clone(writer);
    let path = step.path.clone();
    let done = blocking(deadline, move || match step.status {
        b'D' => writer.remove(&step.path),
        _ => writer.put(&step.path, step.new_mode, &content),
    });
    done.await?.map_err(CheckpointError::io(shown(&path)))
}

fn open_empty(into: &Path) -> std::io::Result<Option<Writer>> {
    std::fs::create_dir_all(into)?;
    if std::fs::read_dir(into)?.next().is_some() {
        return Ok(None);
    }
    Writer::open(&std::fs::canonicalize(into)?).map(Some)
}

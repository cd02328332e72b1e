//! Taking a checkpoint: survey, weigh, bring the private index up to date, write the tree.
//!
//! **Invariant:** nothing under the root is written, and a checkpoint that is left out leaves no process and no lock.

use std::path::Path;
use std::time::Duration;

use tokio::time::timeout_at;

use super::error::{CheckpointError, GIT_MISSING_HINT, GitError};
use super::git::{Deadline, Sight, blocking, drop_stale_lock};
use super::place::Place;
use super::store::remove_if_there;
use super::survey::{Work, survey, weigh};
use super::{Bounds, Checkpoints, PassedOver, Taken};

/// Files per run of `update-index`. Each run writes the index when it ends, so a checkpoint that was left out for its
/// time has not worked in vain: the next one goes on from there.
const BATCH_FILES: usize = 2_000;

/// From here on files go into one pack per batch instead of one object file each: ten thousand small files take a
/// third of the time and a tenth of the space, and a pack is synced to the disk.
const PACK_FROM_FILES: usize = 200;

/// How long a checkpoint may take for which a person waits.
const PATIENCE: Duration = Duration::from_secs(120);

/// The id that stands for a nested repository without a commit: the empty tree's, which no commit has.
const NO_COMMIT: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

/// How a checkpoint came to nothing.
pub(super) enum NotTaken {
    /// It is too large; in words.
    TooLarge(String),
    /// It failed.
    Failed(CheckpointError),
}

impl<E: Into<CheckpointError>> From<E> for NotTaken {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

impl NotTaken {
    /// The reason in words, as it stands in the timeline after "no checkpoint: ".
    pub(super) fn why(&self) -> String {
        match self {
            Self::TooLarge(why) => why.clone(),
            Self::Failed(CheckpointError::Git(GitError::Missing)) => {
                format!("{}. {GIT_MISSING_HINT}", GitError::Missing)
            }
            Self::Failed(CheckpointError::Git(GitError::TimedOut { limit })) => {
                format!("it would take longer than {:.1} s", limit.as_secs_f32())
            }
            Self::Failed(CheckpointError::Git(GitError::TooMuch { .. })) => "there are too many files".to_owned(),
            Self::Failed(CheckpointError::Io { path, source }) if source.kind() == std::io::ErrorKind::NotFound => {
                format!("{} is not there", path.display())
            }
            Self::Failed(error) => error.to_string(),
        }
    }
}

impl Checkpoints {
    /// Takes a checkpoint of `root`. Takes of the same root wait for each other, within the same bound of time.
    pub async fn take(&self, root: &Path) -> Taken {
        let deadline = Deadline::after(self.bounds.time);
        let Ok(_objects) = timeout_at(deadline.at, self.objects.read()).await else {
            return Taken::LeftOut { why: "old checkpoints are being removed".to_owned() };
        };
        match self.take_within(root, self.bounds, deadline).await {
            Ok((oid, passed_over)) => Taken::Tree { oid, passed_over },
            Err(error) => Taken::LeftOut { why: error.why() },
        }
    }

    /// Takes a checkpoint for which a person waits: with more time, and room for a whole workspace.
    pub async fn take_patiently(&self, root: &Path) -> Result<String, CheckpointError> {
        let bounds = Bounds { time: PATIENCE, new_bytes: 2 << 30, file_bytes: 512 << 20 };
        self.take_for_person(root, bounds, false).await
    }

    /// The same with ignored files too, within the ordinary bounds of size.
    pub async fn take_everything(&self, root: &Path) -> Result<String, CheckpointError> {
        self.take_for_person(root, Bounds { time: PATIENCE, ..self.bounds }, true).await
    }

    async fn take_for_person(&self, root: &Path, bounds: Bounds, everything: bool) -> Result<String, CheckpointError> {
        let deadline = Deadline::after(bounds.time);
        let _objects = self.objects.read().await;
        let place = Place { everything, ..self.locate(root, deadline).await? };
        let lock = self.lock_of(&place.root);
        let _lock = lock.lock().await;
        let taken = self.take_locked(&place, bounds, deadline).await;
        Ok(taken.map_err(|error| CheckpointError::NotTaken { why: error.why() })?.0)
    }

    async fn take_within(
        &self,
        root: &Path,
        bounds: Bounds,
        deadline: Deadline,
    ) -> Result<(String, Vec<PassedOver>), NotTaken> {
        let place = self.locate(root, deadline).await?;
        let lock = self.lock_of(&place.root);
        let _lock = timeout_at(deadline.at, lock.lock()).await.map_err(|_| deadline.passed())?;
        self.take_locked(&place, bounds, deadline).await
    }

    /// The same, for whoever holds the objects and the root's lock already.
    pub(super) async fn take_locked(
        &self,
        place: &Place,
        bounds: Bounds,
        deadline: Deadline,
    ) -> Result<(String, Vec<PassedOver>), NotTaken> {
        let sight = self.sight(place)?;
        drop_stale_lock(&sight.index).await;
        let mut taken = self.record(place, &sight, bounds, deadline).await;
        if matches!(taken, Err(NotTaken::Failed(CheckpointError::Git(GitError::Failed { .. })))) {
            // A damaged index is worth nothing and costs one full reading: begin again without it.
            remove_if_there(&sight.index).map_err(CheckpointError::io(&sight.index))?;
            taken = self.record(place, &sight, bounds, deadline).await;
        }
        drop_stale_lock(&sight.index).await;
        taken
    }

    async fn record(
        &self,
        place: &Place,
        sight: &Sight,
        bounds: Bounds,
        deadline: Deadline,
    ) -> Result<(String, Vec<PassedOver>), NotTaken> {
        let mut found = survey(&self.git, place, sight, &self.spared, deadline).await?;
        if !found.stale.is_empty() {
            self.edit_index(sight, removals(&found.stale), deadline).await?;
            found = survey(&self.git, place, sight, &self.spared, deadline).await?;
        }
        let weighed_place = place.clone();
        let weighed = blocking(deadline, move || weigh(&weighed_place, found, bounds)).await?;
        let work = weighed.map_err(NotTaken::TooLarge)?;
        self.work(sight, &work, deadline).await?;
        Ok((self.write_tree(place, sight, deadline).await?, work.passed_over))
    }

    async fn work(&self, sight: &Sight, work: &Work, deadline: Deadline) -> Result<(), GitError> {
        if !work.remove.is_empty() {
            self.edit_index(sight, removals(&work.remove), deadline).await?;
        }
        let settings: &[&str] = if work.add.len() >= PACK_FROM_FILES { &["core.bigFileThreshold=1"] } else { &[] };
        for batch in work.add.chunks(BATCH_FILES) {
            self.add(sight, settings, batch, deadline).await?;
        }
        for path in &work.nested {
            match self.add(sight, &[], std::slice::from_ref(path), deadline).await {
                Err(GitError::Failed { .. }) => {
                    let mut entry = format!("160000 {NO_COMMIT} 0\t").into_bytes();
                    entry.extend_from_slice(path);
                    entry.push(0);
                    self.edit_index(sight, entry, deadline).await?;
                }
                added => added?,
            }
        }
        Ok(())
    }

    async fn add(&self, sight: &Sight, settings: &[&str], paths: &[Vec<u8>], at: Deadline) -> Result<(), GitError> {
        let sight = Sight { cwd: sight.top.clone(), ..sight.clone() };
        let args = ["update-index", "--add", "--remove", "--replace", "-z", "--stdin"];
        let mut stdin = paths.join(&0);
        stdin.push(0);
        self.git.call_with(&sight, settings, &args).stdin(stdin).whole(at).await.map(drop)
    }

    async fn edit_index(&self, sight: &Sight, entries: Vec<u8>, deadline: Deadline) -> Result<(), GitError> {
        let args = ["update-index", "-z", "--index-info"];
        self.git.call_in(sight, &args).stdin(entries).whole(deadline).await.map(drop)
    }

    async fn write_tree(&self, place: &Place, sight: &Sight, deadline: Deadline) -> Result<String, GitError> {
        let prefix = place.prefix();
        let mut args = vec![b"write-tree".to_vec()];
        if !prefix.is_empty() {
            // An index without an entry below the prefix has no tree for it.
            let any = self.git.call_in(sight, &["ls-files", "-z"]).whole(deadline).await?;
            if any.is_empty() {
                let empty = ["hash-object", "-t", "tree", "-w", "--stdin"];
                return self.git.call(&empty).whole(deadline).await.map(|oid| one_line(&oid));
            }
            args.push([b"--prefix=".as_slice(), &prefix].concat());
        }
        let args: Vec<_> =
            args.into_iter().map(<std::ffi::OsString as std::os::unix::ffi::OsStringExt>::from_vec).collect();
        self.git.call_in(sight, &args).whole(deadline).await.map(|oid| one_line(&oid))
    }
}

/// Lines for `update-index --index-info` that remove paths, whatever stands there in the workspace.
fn removals(paths: &[Vec<u8>]) -> Vec<u8> {
    let zeros = "0".repeat(40);
    paths.iter().fold(Vec::new(), |mut lines, path| {
        lines.extend_from_slice(format!("0 {zeros}\t").as_bytes());
        lines.extend_from_slice(path);
        lines.push(0);
        lines
    })
}

pub(super) fn one_line(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}

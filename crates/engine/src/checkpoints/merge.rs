//! Three-way merge of checkpoints: what one side changed since a common state comes into the other.
//!
//! File by file, byte exact, by git's own `merge-file` where both sides changed the same text. It refuses to guess:
//! whatever is not plain is a conflict, and a merge with a conflict yields no tree at all.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use super::error::{CheckpointError, GitError};
use super::git::{Deadline, Sight, blocking};
use super::raw::{GITLINK, RawChange, SYMLINK};
use super::take::one_line;
use super::{Checkpoints, shown};

const MERGE_TIME: Duration = Duration::from_secs(120);
const ZEROS: &str = "0000000000000000000000000000000000000000";

/// What came of a merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Merged {
    /// The state with both sides' changes.
    Tree {
        /// The tree's object id.
        oid: String,
    },
    /// Both sides changed the same, each in its own way.
    Conflicts {
        /// Where.
        paths: Vec<String>,
    },
}

/// What is to be done with one path of the other side.
#[derive(Debug, PartialEq, Eq)]
enum Step<'a> {
    /// Only the other side changed it, or both did the same.
    Follow(&'a RawChange),
    /// Both changed its text.
    Combine(&'a RawChange, &'a RawChange),
    /// It cannot be told what it should be.
    Conflict(&'a RawChange),
}

impl Checkpoints {
    /// Brings what `theirs` changed since `base` into `ours`.
    pub async fn merge(&self, base: &str, ours: &str, theirs: &str) -> Result<Merged, CheckpointError> {
        let deadline = Deadline::after(MERGE_TIME);
        let _objects = self.objects.read().await;
        let our_changes = self.steps(base, ours, deadline).await?;
        let their_changes = self.steps(base, theirs, deadline).await?;
        let mut entries = Vec::new();
        let mut conflicts = BTreeSet::new();
        for step in sort_out(&our_changes, &their_changes) {
            match step {
                Step::Follow(change) => entries.push(entry(change, &change.new_oid)),
                Step::Conflict(change) => drop(conflicts.insert(shown(&change.path))),
                Step::Combine(our, their) => match self.combine(our, their, deadline).await? {
                    Some(oid) => entries.push(entry(their, &oid)),
                    None => drop(conflicts.insert(shown(&their.path))),
                },
            }
        }
        if !conflicts.is_empty() {
            return Ok(Merged::Conflicts { paths: conflicts.into_iter().collect() });
        }
        // What goes makes room for what comes.
        entries.sort_by_key(|(gone, _)| !gone);
        let entries: Vec<u8> = entries.into_iter().flat_map(|(_, line)| line).collect();
        Ok(Merged::Tree { oid: self.amended(ours, entries, deadline).await? })
    }

    /// The text with both sides' changes, as an object; none if they meet.
    async fn combine(
        &self,
        our: &RawChange,
        their: &RawChange,
        deadline: Deadline,
    ) -> Result<Option<String>, CheckpointError> {
        let scratch = self.scratch()?;
        let mut blobs = self.git.blobs()?;
        let mut names: Vec<PathBuf> = Vec::new();
        for (name, oid) in [("ours", &our.new_oid), ("base", &our.old_oid), ("theirs", &their.new_oid)] {
            let content = blobs.get(oid, deadline).await?;
            let content = content.ok_or_else(|| CheckpointError::Gone { oid: oid.clone() })?;
            let path = scratch.path().join(name);
            std::fs::write(&path, content).map_err(CheckpointError::io(&path))?;
            names.push(path);
        }
        let mut args: Vec<std::ffi::OsString> = ["merge-file", "-p", "-q"].iter().map(Into::into).collect();
        args.extend(names.into_iter().map(Into::into));
        let merged = match self.git.call(&args).whole(deadline).await {
            Ok(merged) => merged,
            // It says how many times they meet, or that it is no text, by its exit status.
            Err(GitError::Failed { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let written = self.git.call(&["hash-object", "-w", "-t", "blob", "--no-filters", "--stdin"]).stdin(merged);
        Ok(Some(one_line(&written.whole(deadline).await?)))
    }

    /// A tree with these entries changed.
    async fn amended(&self, tree: &str, entries: Vec<u8>, deadline: Deadline) -> Result<String, CheckpointError> {
        let scratch = self.scratch()?;
        let top = scratch.path().to_owned();
        let sight = Sight { cwd: top.clone(), index: top.join("index"), top, excludes: "/dev/null".into() };
        self.git.call_in(&sight, &["read-tree", tree]).whole(deadline).await?;
        let edit = self.git.call_in(&sight, &["update-index", "-z", "--index-info"]).stdin(entries);
        edit.whole(deadline).await?;
        let written = self.git.call_in(&sight, &["write-tree"]).whole(deadline).await?;
        let oid = one_line(&written);
        blocking(deadline, move || drop(scratch)).await?;
        Ok(oid)
    }

    fn scratch(&self) -> Result<tempfile::TempDir, CheckpointError> {
        tempfile::Builder::new().prefix("merge-").tempdir_in(&self.git.dir).map_err(CheckpointError::io(&self.git.dir))
    }
}

/// A line for `update-index --index-info`, and whether it removes.
fn entry(change: &RawChange, oid: &str) -> (bool, Vec<u8>) {
    let gone = change.status == b'D';
    let (mode, oid) = if gone { (0, ZEROS) } else { (change.new_mode, oid) };
    let mut line = format!("{mode:o} {oid}\t").into_bytes();
    line.extend_from_slice(&change.path);
    line.push(0);
    (gone, line)
}

fn sort_out<'a>(ours: &'a [RawChange], theirs: &'a [RawChange]) -> Vec<Step<'a>> {
    let known: BTreeMap<&[u8], &RawChange> = ours.iter().map(|change| (change.path.as_slice(), change)).collect();
    let step = |their: &'a RawChange| match known.get(their.path.as_slice()) {
        Some(our) if same(our, their) => None,
        Some(our) if both_text(our, their) => Some(Step::Combine(our, their)),
        Some(_) => Some(Step::Conflict(their)),
        None if in_the_way(&known, their) => Some(Step::Conflict(their)),
        None => Some(Step::Follow(their)),
    };
    theirs.iter().filter_map(step).collect()
}

fn same(our: &RawChange, their: &RawChange) -> bool {
    let gone = our.status == b'D' && their.status == b'D';
    gone || (our.new_mode == their.new_mode
        && our.new_oid == their.new_oid
        && our.status != b'D'
        && their.status != b'D')
}

/// Whether both changed the content of a plain file, with the same mode in the end.
fn both_text(our: &RawChange, their: &RawChange) -> bool {
    let plain = |mode: u32| mode != GITLINK && mode != SYMLINK && mode != 0;
    let all_plain = [our.old_mode, our.new_mode, their.new_mode].into_iter().all(plain);
    all_plain && our.new_mode == their.new_mode
}

/// Whether our side put a folder where theirs puts a file, or a file where theirs needs a folder.
fn in_the_way(ours: &BTreeMap<&[u8], &RawChange>, their: &RawChange) -> bool {
    if their.status == b'D' {
        return false;
    }
    let comes = |change: &&RawChange| change.status != b'D';
    let below = [their.path.as_slice(), b"/"].concat();
    let folder_there = ours.range(below.as_slice()..).take_while(|(path, _)| path.starts_with(&below));
    let slashes = their.path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(end, _)| &their.path[..end]);
    folder_there.map(|(_, change)| change).any(&comes) || slashes.filter_map(|folder| ours.get(folder)).any(comes)
}

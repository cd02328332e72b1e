//! Removing the checkpoints that nothing needs any more.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Checkpoints;
use super::error::{CheckpointError, GitError};
use super::git::{Deadline, Sight, blocking, drop_stale_lock};
use super::store::{folders, remove_if_there};
use super::take::one_line;

/// Packing a large store takes its time; nobody waits for it.
const PRUNE_TIME: Duration = Duration::from_secs(600);
const KEEP_REF: &str = "refs/throughline/keep";

/// What pruning freed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Freed {
    /// On the disk.
    pub bytes: u64,
}

/// What nothing needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spare {
    /// Checkpoints.
    pub trees: u64,
    /// Bytes that only they have.
    pub bytes: u64,
}

impl Checkpoints {
    /// Removes every tree that is not in `keep`, and packs the rest. The last state of each root that still exists is
    /// kept too: its index builds on it. Takes meanwhile are left out, everything else waits.
    pub async fn prune(&self, keep: &[String]) -> Result<Freed, CheckpointError> {
        let deadline = Deadline::after(PRUNE_TIME);
        for oid in keep {
            Self::checked(oid)?;
        }
        let _objects = self.objects.write().await;
        if !self.git.dir.join("HEAD").exists() {
            return Ok(Freed::default());
        }
        self.ready(deadline).await?;
        let before = self.size().await?;
        let mut trees = self.there(keep, deadline).await?;
        trees.extend(self.last_states(deadline).await?);
        trees.sort_unstable();
        trees.dedup();
        // One tree of all kept trees, under one reference: what it does not reach goes.
        let entries: String = trees.iter().map(|oid| format!("040000 tree {oid}\t{oid}\0")).collect();
        let all = self.git.call(&["mktree", "-z"]).stdin(entries.into_bytes()).whole(deadline).await?;
        self.git.call(&["update-ref", "--no-deref", KEEP_REF, &one_line(&all)]).whole(deadline).await?;
        let repack = ["-c", "pack.threads=1", "repack", "-a", "-d", "-l", "-q", "--no-write-bitmap-index"];
        self.git.call(&repack).whole(deadline).await?;
        self.git.call(&["prune", "--expire=now"]).whole(deadline).await?;
        Ok(Freed { bytes: before.saturating_sub(self.size().await?) })
    }

    /// What pruning would remove: how many of `known` are there and not kept, and the bytes that only they have.
    pub async fn spare(&self, keep: &[String], known: &[String]) -> Result<Spare, CheckpointError> {
        let deadline = Deadline::after(PRUNE_TIME);
        for oid in keep.iter().chain(known) {
            Self::checked(oid)?;
        }
        let _objects = self.objects.read().await;
        if !self.git.dir.join("HEAD").exists() {
            return Ok(Spare::default());
        }
        self.ready(deadline).await?;
        let mut kept = self.there(keep, deadline).await?;
        kept.extend(self.present_states(deadline).await?);
        let roots: String = kept.iter().map(|oid| format!("{oid}\n")).collect();
        let reached = match kept.is_empty() {
            true => vec![],
            false => {
                let list = ["rev-list", "--objects", "--no-object-names", "--stdin"];
                self.git.call(&list).stdin(roots.into_bytes()).whole(deadline).await?
            }
        };
        let reached = String::from_utf8_lossy(&reached);
        let reached: HashSet<&str> = reached.lines().collect();
        let all = ["cat-file", "--batch-all-objects", "--unordered", "--batch-check=%(objectname) %(objectsize:disk)"];
        let all = self.git.call(&all).whole(deadline).await?;
        let mut bytes = 0;
        let objects = String::from_utf8_lossy(&all);
        for (oid, size) in objects.lines().filter_map(|object| object.split_once(' ')) {
            if !reached.contains(oid) {
                bytes += size.parse().unwrap_or(0);
            }
        }
        let there = self.there(known, deadline).await?;
        let trees = there.iter().filter(|oid| !reached.contains(oid.as_str())).count() as u64;
        Ok(Spare { trees, bytes })
    }

    /// The states that the indexes of existing roots build on.
    async fn present_states(&self, deadline: Deadline) -> Result<Vec<String>, CheckpointError> {
        let mut trees = Vec::new();
        for folder in folders(&self.git.dir.join("roots")).map_err(CheckpointError::io(&self.git.dir))? {
            let root = fs::read(folder.join("root")).map(|bytes| PathBuf::from(std::ffi::OsString::from_vec(bytes)));
            let Some(root) = root.ok().filter(|root| root.is_dir()) else { continue };
            let sight =
                Sight { cwd: root.clone(), top: root, index: folder.join("index"), excludes: "/dev/null".into() };
            if let Ok(tree) = self.git.call_in(&sight, &["write-tree"]).whole(deadline).await {
                trees.push(one_line(&tree));
            }
        }
        Ok(trees)
    }

    /// The bytes that the store takes on the disk.
    pub async fn size(&self) -> Result<u64, CheckpointError> {
        let dir = self.git.dir.clone();
        let sized = blocking(Deadline::after(PRUNE_TIME), move || size_of(&dir)).await?;
        sized.map_err(CheckpointError::io(&self.git.dir))
    }

    /// Which of these trees the store has: what went earlier is no reason to fail now.
    async fn there(&self, oids: &[String], deadline: Deadline) -> Result<Vec<String>, GitError> {
        let asked: String = oids.iter().map(|oid| format!("{oid}\n")).collect();
        let call = self.git.call(&["cat-file", "--batch-check=%(objecttype) %(objectname)"]).stdin(asked.into_bytes());
        let said = call.whole(deadline).await?;
        let lines = String::from_utf8_lossy(&said);
        Ok(lines.lines().filter_map(|line| line.strip_prefix("tree ")).map(str::to_owned).collect())
    }

    async fn last_states(&self, deadline: Deadline) -> Result<Vec<String>, CheckpointError> {
        let mut trees = Vec::new();
        for folder in folders(&self.git.dir.join("roots")).map_err(CheckpointError::io(&self.git.dir))? {
            let root = fs::read(folder.join("root")).map(|bytes| PathBuf::from(std::ffi::OsString::from_vec(bytes)));
            let Some(root) = root.ok().filter(|root| root.is_dir()) else {
                fs::remove_dir_all(&folder).map_err(CheckpointError::io(&folder))?;
                continue;
            };
            let index = folder.join("index");
            drop_stale_lock(&index).await;
            let sight = Sight { cwd: root.clone(), top: root, index, excludes: "/dev/null".into() };
            match self.git.call_in(&sight, &["write-tree"]).whole(deadline).await {
                Ok(tree) => trees.push(one_line(&tree)),
                // A damaged index: the next take begins again without it.
                Err(GitError::Failed { .. }) => {
                    remove_if_there(&sight.index).map_err(CheckpointError::io(&sight.index))?;
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(trees)
    }
}

/// By blocks, not lengths: a small object takes a whole block.
fn size_of(dir: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    let entries = match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        // A temporary file may go while we look.
        let Ok(about) = entry.metadata() else { continue };
        bytes += about.blocks() * 512;
        if about.is_dir() {
            bytes += size_of(&entry.path())?;
        }
    }
    Ok(bytes)
}

//! What changed between two checkpoints.

use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::error::CheckpointError;
use super::git::{Answer, Deadline};
use super::raw::{self, Lines, RawChange};
use super::{Checkpoints, shown};

const DIFF_TIME: Duration = Duration::from_secs(20);
/// A longer patch is not for reading.
const PATCH_MAX_BYTES: usize = 256 << 10;
/// Of all patches of one diff.
const PATCHES_MAX_BYTES: usize = 16 << 20;

/// One file that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileDiff {
    /// Relative to the root; bytes that are not UTF-8 appear as `\xNN`.
    pub path: String,
    /// What happened to it.
    pub change: Change,
    /// Whether its content is not text.
    pub binary: bool,
    /// Lines that are new.
    pub added: usize,
    /// Lines that are gone.
    pub removed: usize,
    /// The unified diff; none if it was not asked for, if the content is not text, or past the bounds. Bytes that are
    /// not UTF-8 are replaced: it is for reading.
    pub patch: Option<String>,
}

/// What happened to a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum Change {
    /// It is new.
    Added,
    /// Its content or its executable bit differs.
    Modified,
    /// It is gone.
    Deleted,
    /// It has another name.
    Renamed {
        /// The name before.
        from: String,
    },
    /// A file became a link, a link a nested repository, and so on.
    TypeChanged,
}

impl Checkpoints {
    /// The files that differ between two trees, with their patches. Any two trees of the same store compare; `root` is
    /// only there to say whose they are.
    pub async fn diff(&self, _root: &Path, from: &str, to: &str) -> Result<Vec<FileDiff>, CheckpointError> {
        let deadline = Deadline::after(DIFF_TIME);
        let _objects = self.objects.read().await;
        let changes = self.changes(from, to, deadline).await?;
        let args = ["diff-tree", "-r", "-p", "-M", "-l400", "--no-ext-diff", "--no-textconv", "--no-color", from, to];
        let call = self.git.call(&args).limit_bytes(PATCHES_MAX_BYTES);
        let answer = call.run(deadline).await?;
        Ok(with_patches(changes, &answer))
    }

    /// The files that differ between two trees, without patches.
    pub async fn stat(&self, _root: &Path, from: &str, to: &str) -> Result<Vec<FileDiff>, CheckpointError> {
        let deadline = Deadline::after(DIFF_TIME);
        let _objects = self.objects.read().await;
        Ok(self.changes(from, to, deadline).await?.into_iter().map(|(change, lines)| file(change, lines)).collect())
    }

    async fn changes(
        &self,
        from: &str,
        to: &str,
        deadline: Deadline,
    ) -> Result<Vec<(RawChange, Lines)>, CheckpointError> {
        let (from, to) = (Self::checked(from)?, Self::checked(to)?);
        let args =
            ["diff-tree", "-r", "-z", "-M", "-l400", "--raw", "--numstat", "--no-abbrev", "--no-textconv", from, to];
        let listed = match self.git.call(&args).whole(deadline).await {
            Ok(listed) => listed,
            Err(error) => return Err(self.or_gone(error, &[from, to], deadline).await),
        };
        let (changes, rest) = raw::changes(&listed)?;
        let counts = raw::counts(rest)?;
        let count = |change: &RawChange| counts.get(&change.path).copied().unwrap_or_default();
        Ok(changes.into_iter().map(|change| (count(&change), change)).map(|(lines, change)| (change, lines)).collect())
    }

    /// What turns one tree into another, path by path.
    pub(super) async fn steps(
        &self,
        from: &str,
        to: &str,
        deadline: Deadline,
    ) -> Result<Vec<RawChange>, CheckpointError> {
        let (from, to) = (Self::checked(from)?, Self::checked(to)?);
        let args = ["diff-tree", "-r", "-z", "--no-renames", "--raw", "--no-abbrev", from, to];
        match self.git.call(&args).whole(deadline).await {
            Ok(listed) => Ok(raw::changes(&listed)?.0),
            Err(error) => Err(self.or_gone(error, &[from, to], deadline).await),
        }
    }
}

pub(super) fn file(change: RawChange, lines: Lines) -> FileDiff {
    let path = shown(&change.path);
    let change = match (change.status, change.from) {
        (b'A', _) => Change::Added,
        (b'D', _) => Change::Deleted,
        (b'T', _) => Change::TypeChanged,
        (b'R', Some(from)) => Change::Renamed { from: shown(&from) },
        _ => Change::Modified,
    };
    FileDiff { path, change, binary: lines.binary, added: lines.added, removed: lines.removed, patch: None }
}

/// Hands out the patches. They come in the order of the changes, one each; a type change has two (gone and new). No
/// line of content begins with `diff --git`: content is indented by its sign.
fn with_patches(changes: Vec<(RawChange, Lines)>, answer: &Answer) -> Vec<FileDiff> {
    let mut patches = split_patches(&answer.stdout);
    if answer.cut {
        // The last one may not be whole.
        patches.pop();
    }
    let mut patches = patches.into_iter();
    let patch_of = |(change, lines): (RawChange, Lines)| {
        let parts = if change.status == b'T' { 2 } else { 1 };
        let parts: Vec<&[u8]> = patches.by_ref().take(parts).collect();
        let whole = parts.concat();
        let mut file = file(change, lines);
        if !file.binary && !whole.is_empty() && whole.len() <= PATCH_MAX_BYTES {
            file.patch = Some(String::from_utf8_lossy(&whole).into_owned());
        }
        file
    };
    changes.into_iter().map(patch_of).collect()
}

fn split_patches(text: &[u8]) -> Vec<&[u8]> {
    const HEAD: &[u8] = b"diff --git ";
    let line_starts = text.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(end, _)| end + 1);
    let mut starts: Vec<usize> =
        std::iter::once(0).chain(line_starts).filter(|at| text[*at..].starts_with(HEAD)).collect();
    starts.push(text.len());
    starts.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect()
}

//! What changed in a workspace since its index was last written, and what it would cost to record it.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use rustix::fs::{Access, access};

use super::error::GitError;
use super::git::{Deadline, Git, Sight, blocking};
use super::place::{Place, repository};
use super::raw::{self, GITLINK};
use super::{Bounds, PassedOver, shown};

/// What git found. Paths are relative to the top.
#[derive(Debug, Default)]
pub(super) struct Survey {
    /// In the index, but not to be recorded any more: ignored by now, or inside what became a repository.
    pub(super) stale: Vec<Vec<u8>>,
    /// Different from the index, or gone.
    pub(super) dirty: Vec<raw::RawChange>,
    /// Not in the index.
    pub(super) fresh: Vec<Vec<u8>>,
}

/// What is to be done to the index.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Work {
    pub(super) remove: Vec<Vec<u8>>,
    pub(super) add: Vec<Vec<u8>>,
    /// Nested repositories that the index does not have yet.
    pub(super) nested: Vec<Vec<u8>>,
    pub(super) passed_over: Vec<PassedOver>,
}

/// Looks at the whole workspace. The listings only read, so they run side by side.
pub(super) async fn survey(
    git: &Git,
    place: &Place,
    sight: &Sight,
    spared: &[std::path::PathBuf],
    deadline: Deadline,
) -> Result<Survey, GitError> {
    let args = |flags: &[&str]| -> Vec<OsString> {
        let mut args: Vec<OsString> =
            ["ls-files", "-z", "--full-name"].iter().chain(flags).map(OsString::from).collect();
        for pattern in spared.iter().filter_map(|folder| place.pattern_for(folder)) {
            let mut arg = b"--exclude=".to_vec();
            arg.extend(pattern);
            args.push(OsString::from_vec(arg));
        }
        args
    };
    let ignores: &[&str] = if place.everything { &[] } else { &["--exclude-standard"] };
    // Without `dirty`, git would run `git status` inside every nested repository.
    let differ = ["diff-files", "-z", "--raw", "--no-renames", "--ignore-submodules=dirty"];
    let (tracked, ignored, forced, dirty, fresh) = tokio::try_join!(
        git.call_in(sight, &["ls-files", "-z", "--full-name", "--stage"]).whole(deadline),
        ignored(git, place, sight, args(&["--cached", "--ignored", "--exclude-standard"]), deadline),
        forced(git, place, sight, deadline),
        git.call_in(sight, &differ).whole(deadline),
        git.call_in(sight, &args(&[&["--others"], ignores].concat())).whole(deadline),
    )?;
    let dirty = raw::changes(&dirty)?.0;
    let mut fresh: Vec<Vec<u8>> = raw::paths(&fresh).map(<[u8]>::to_vec).collect();
    let top = place.top.clone();
    let sorted = move || {
        let known: HashSet<&[u8]> = raw::entries(&tracked).flatten().map(|(_, _, path)| path).collect();
        let missing = forced.iter().filter(|path| !known.contains(path.as_slice()) && is_file_or_link(&top, path));
        fresh.extend(missing.cloned());
        let mut stale = became_or_ceased_to_be_repositories(&top, &tracked);
        stale.extend(raw::paths(&ignored).filter(|path| !forced.contains(*path)).map(<[u8]>::to_vec));
        Survey { stale, dirty, fresh }
    };
    blocking(deadline, sorted).await
}

/// What is in the index although it is ignored by now.
async fn ignored(
    git: &Git,
    place: &Place,
    sight: &Sight,
    args: Vec<OsString>,
    at: Deadline,
) -> Result<Vec<u8>, GitError> {
    if place.everything { Ok(Vec::new()) } else { git.call_in(sight, &args).whole(at).await }
}

/// What the person's repository records although its ignore files name it: recorded here too. Their index is read as a
/// file; one that this git cannot read on its own (split or sparse) has no say.
async fn forced(git: &Git, place: &Place, sight: &Sight, deadline: Deadline) -> Result<HashSet<Vec<u8>>, GitError> {
    let Some(own_index) = &place.own_index else { return Ok(HashSet::new()) };
    let theirs = Sight { index: own_index.clone(), ..sight.clone() };
    let args = ["ls-files", "-z", "--full-name", "--cached", "--ignored", "--exclude-standard"];
    match git.call_in(&theirs, &args).whole(deadline).await {
        Err(GitError::Failed { .. }) => Ok(HashSet::new()),
        listed => Ok(raw::paths(&listed?).map(<[u8]>::to_vec).collect()),
    }
}

/// By the path itself, not through links: what is beyond a link is not in the workspace.
fn is_file_or_link(top: &Path, path: &[u8]) -> bool {
    let folders = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(end, _)| &path[..end]);
    let real = |folder: &[u8]| fs::symlink_metadata(at(top, folder)).is_ok_and(|about| about.is_dir());
    let inside = { folders }.all(|folder| real(folder) && repository(&at(top, folder)).is_none());
    inside && fs::symlink_metadata(at(top, path)).is_ok_and(|about| about.is_file() || about.is_symlink())
}

/// Git goes by its index: it would enter a folder that became a repository after its files were recorded, and it would
/// never enter one that ceased to be.
fn became_or_ceased_to_be_repositories(top: &Path, tracked: &[u8]) -> Vec<Vec<u8>> {
    let mut plain: HashSet<&[u8]> = HashSet::new();
    let mut nested: HashSet<&[u8]> = HashSet::new();
    let mut stale = Vec::new();
    for (mode, _, path) in raw::entries(tracked).flatten() {
        if mode == GITLINK {
            if repository(&at(top, path)).is_none() {
                stale.push(path.to_vec());
            }
            continue;
        }
        let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        let inside = slashes.map(|(end, _)| &path[..end]).any(|folder| {
            if plain.contains(folder) {
                return false;
            }
            let is_nested =
                nested.contains(folder) || (at(top, folder) != top && repository(&at(top, folder)).is_some());
            if is_nested {
                nested.insert(folder)
            } else {
                plain.insert(folder)
            };
            is_nested
        });
        if inside {
            stale.push(path.to_vec());
        }
    }
    stale
}

/// Sorts what changed into work, and refuses what is too large. `Err` says why in words.
pub(super) fn weigh(place: &Place, survey: Survey, bounds: Bounds) -> Result<Work, String> {
    let mut work = Work::default();
    let mut new_bytes = 0_u64;
    let prefix = place.prefix();
    let name = |path: &[u8]| shown(path.strip_prefix(prefix.as_slice()).unwrap_or(path));
    let dirty = survey.dirty.into_iter().map(|change| (change.path, Some((change.old_mode, change.status))));
    for (path, known) in dirty.chain(survey.fresh.into_iter().map(|path| (path, None))) {
        if let Some((_, b'D')) = known {
            work.remove.push(path);
            continue;
        }
        if known.is_none() && path.last() == Some(&b'/') {
            work.nested.push(path[..path.len() - 1].to_vec());
            continue;
        }
        let file = at(&place.top, &path);
        let Ok(about) = fs::symlink_metadata(&file) else {
            // It went meanwhile.
            work.remove.push(path);
            continue;
        };
        if about.is_file() {
            if about.len() > bounds.file_bytes {
                return Err(format!("{} is larger than {}", name(&path), size_in_words(bounds.file_bytes)));
            }
            if access(&file, Access::READ_OK).is_err() {
                let why = "it cannot be read".to_owned();
                if known.is_some() {
                    // Its last known content would be a guess, and a restore could overwrite what nobody kept.
                    return Err(format!("{} cannot be read any more", name(&path)));
                }
                work.passed_over.push(PassedOver { path: name(&path), why });
                continue;
            }
            new_bytes = new_bytes.saturating_add(about.len());
            if new_bytes > bounds.new_bytes {
                return Err(format!("more than {} are new", size_in_words(bounds.new_bytes)));
            }
        } else if about.is_dir() && known.is_some_and(|(mode, _)| mode != GITLINK) {
            // A file became a nested repository.
            work.remove.push(path.clone());
            work.nested.push(path);
            continue;
        }
        work.add.push(path);
    }
    Ok(work)
}

fn at(top: &Path, path: &[u8]) -> std::path::PathBuf {
    top.join(OsStr::from_bytes(path))
}

fn size_in_words(bytes: u64) -> String {
    match bytes {
        0..=9_999 => format!("{bytes} bytes"),
        10_000..=9_999_999 => format!("{} KB", bytes >> 10),
        _ => format!("{} MB", bytes >> 20),
    }
}

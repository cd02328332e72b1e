//! Git's raw listings, read: `diff-files`, `diff-tree` and `ls-files` with NUL-ended paths.

use std::collections::HashMap;

use super::error::GitError;

/// What kind of entry a mode stands for.
pub(super) const GITLINK: u32 = 0o160_000;
/// A symbolic link.
pub(super) const SYMLINK: u32 = 0o120_000;

/// One change between two trees, or between the index and the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RawChange {
    pub(super) old_mode: u32,
    pub(super) new_mode: u32,
    pub(super) old_oid: String,
    pub(super) new_oid: String,
    pub(super) status: u8,
    pub(super) path: Vec<u8>,
    /// Where it was before, if it was renamed.
    pub(super) from: Option<Vec<u8>>,
}

/// Lines of one file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Lines {
    pub(super) added: usize,
    pub(super) removed: usize,
    pub(super) binary: bool,
}

/// Paths that each end in NUL.
pub(super) fn paths(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(|byte| *byte == 0).filter(|path| !path.is_empty())
}

/// The raw part of a diff (`--raw -z`), and what follows it.
pub(super) fn changes(bytes: &[u8]) -> Result<(Vec<RawChange>, &[u8]), GitError> {
    let mut rest = bytes;
    let mut changes = Vec::new();
    while rest.first() == Some(&b':') {
        let (change, after) = change(rest).ok_or_else(|| GitError::Garbled { command: "diff".into() })?;
        changes.push(change);
        rest = after;
    }
    Ok((changes, rest))
}

fn change(bytes: &[u8]) -> Option<(RawChange, &[u8])> {
    let (meta, rest) = until_nul(bytes)?;
    let mut words = std::str::from_utf8(meta).ok()?.trim_start_matches(':').split(' ');
    let old_mode = u32::from_str_radix(words.next()?, 8).ok()?;
    let new_mode = u32::from_str_radix(words.next()?, 8).ok()?;
    let old_oid = words.next()?.to_owned();
    let new_oid = words.next()?.to_owned();
    let status = *words.next()?.as_bytes().first()?;
    let (first, rest) = until_nul(rest)?;
    let (path, from, rest) = match status {
        b'R' => {
            let (to, rest) = until_nul(rest)?;
            (to, Some(first.to_vec()), rest)
        }
        _ => (first, None, rest),
    };
    Some((RawChange { old_mode, new_mode, old_oid, new_oid, status, path: path.to_vec(), from }, rest))
}

/// The counts of a diff (`--numstat -z`), by path.
pub(super) fn counts(bytes: &[u8]) -> Result<HashMap<Vec<u8>, Lines>, GitError> {
    let mut rest = bytes;
    let mut counts = HashMap::new();
    while !rest.is_empty() {
        let (path, lines, after) = count(rest).ok_or_else(|| GitError::Garbled { command: "diff --numstat".into() })?;
        counts.insert(path.to_vec(), lines);
        rest = after;
    }
    Ok(counts)
}

fn count(bytes: &[u8]) -> Option<(&[u8], Lines, &[u8])> {
    let (record, mut rest) = until_nul(bytes)?;
    let mut words = record.splitn(3, |byte| *byte == b'\t');
    let (added, removed, mut path) = (words.next()?, words.next()?, words.next()?);
    if path.is_empty() {
        // A rename: the old and the new path follow.
        (path, rest) = until_nul(until_nul(rest)?.1)?;
    }
    let number = |word: &[u8]| std::str::from_utf8(word).ok()?.parse().ok();
    let lines = match (number(added), number(removed)) {
        (Some(added), Some(removed)) => Lines { added, removed, binary: false },
        _ => Lines { binary: true, ..Lines::default() },
    };
    Some((path, lines, rest))
}

/// The entries of an index (`ls-files -s -z`) or a tree (`ls-tree -r -z`): mode, id, path.
pub(super) fn entries(bytes: &[u8]) -> impl Iterator<Item = Option<(u32, &str, &[u8])>> {
    paths(bytes).map(|record| {
        let tab = record.iter().position(|byte| *byte == b'\t')?;
        let mut words = std::str::from_utf8(&record[..tab]).ok()?.split(' ');
        let mode = u32::from_str_radix(words.next()?, 8).ok()?;
        let oid = words.find(|word| word.len() >= 40)?;
        Some((mode, oid, &record[tab + 1..]))
    })
}

fn until_nul(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = bytes.iter().position(|byte| *byte == 0)?;
    Some((&bytes[..end], &bytes[end + 1..]))
}

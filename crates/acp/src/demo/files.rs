//! Files of the workspace: found, read and changed for a line of a prompt.
//!
//! *Invariants.* Nothing outside the session's directory is touched; symbolic links are followed before
//! the check, so a link inside the workspace is no way out of it. Only regular files are opened (a FIFO
//! would hold the agent for ever), and no more of one is held in memory than is shown.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};

use agent_client_protocol::v1::schema::Diff;

/// The largest file that is changed: a diff carries all of it, twice.
const MAX_EDIT_BYTES: u64 = 1024 * 1024;

/// Why a file was not touched.
#[derive(Debug, thiserror::Error)]
pub enum FileRefused {
    /// It is outside the workspace.
    #[error("{0} is outside the workspace")]
    Outside(String),
    /// It is a directory, a device or the like.
    #[error("{0} is not a regular file")]
    Irregular(String),
    /// It cannot be shown as a diff.
    #[error("{0} is not a text of at most {MAX_EDIT_BYTES} bytes")]
    Unfit(String),
    /// The system said no.
    #[error("{path}: {source}")]
    Io {
        /// The path as it was written.
        path: String,
        /// What it said.
        source: io::Error,
    },
}

/// The first bytes of a file, and how many it has in all.
pub struct Head {
    pub bytes: Vec<u8>,
    pub total: u64,
}

/// Reads up to `most` bytes of a file.
pub fn read_head(cwd: &Path, path: &str, most: u64) -> Result<Head, FileRefused> {
    let file = resolve(cwd, path)?;
    head_of(&file, most, path)
}

/// Changes a text file, creating it and its directories if need be.
pub fn edit(cwd: &Path, path: &str, change: impl FnOnce(Option<&str>) -> String) -> Result<Diff, FileRefused> {
    let file = resolve(cwd, path)?;
    let unfit = || FileRefused::Unfit(path.to_owned());
    let old = match head_of(&file, MAX_EDIT_BYTES, path) {
        Ok(head) if head.total > MAX_EDIT_BYTES => return Err(unfit()),
        Ok(head) => Some(String::from_utf8(head.bytes).map_err(|_| unfit())?),
        Err(FileRefused::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => None,
        Err(refused) => return Err(refused),
    };
    let new = change(old.as_deref());
    let write = || {
        file.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::write(&file, &new)
    };
    write().map_err(refused_io(path))?;
    Ok(Diff::new(file, new).old_text(old))
}

fn head_of(file: &Path, most: u64, path: &str) -> Result<Head, FileRefused> {
    // Looked at before it is opened, since opening a FIFO waits.
    let metadata = fs::metadata(file).map_err(refused_io(path))?;
    if !metadata.is_file() {
        return Err(FileRefused::Irregular(path.to_owned()));
    }
    let mut bytes = Vec::new();
    let opened = File::open(file).map_err(refused_io(path))?;
    opened.take(most).read_to_end(&mut bytes).map_err(refused_io(path))?;
    let total = metadata.len().max(bytes.len() as u64);
    Ok(Head { bytes, total })
}

fn refused_io(path: &str) -> impl Fn(io::Error) -> FileRefused {
    move |source| FileRefused::Io { path: path.to_owned(), source }
}

/// Resolves `path` against `cwd`; the file itself need not exist.
fn resolve(cwd: &Path, path: &str) -> Result<PathBuf, FileRefused> {
    let lookup = refused_io(path);
    let root = cwd.canonicalize().map_err(&lookup)?;
    let joined = root.join(path);
    // Below a directory that does not exist yet, `..` cannot be looked up, so it is refused.
    let mut existing = joined.as_path();
    let mut missing = Vec::new();
    while existing.symlink_metadata().is_err() {
        match (existing.components().next_back(), existing.parent()) {
            (Some(Component::Normal(name)), Some(parent)) => {
                missing.push(name);
                existing = parent;
            }
            _ => return Err(FileRefused::Outside(path.to_owned())),
        }
    }
    let mut resolved = existing.canonicalize().map_err(&lookup)?;
    resolved.extend(missing.into_iter().rev());
    if resolved.starts_with(&root) { Ok(resolved) } else { Err(FileRefused::Outside(path.to_owned())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_inside_resolve_and_paths_outside_are_refused() {
        let home = tempfile::tempdir().unwrap();
        let cwd = home.path().join("work");
        std::fs::create_dir_all(cwd.join("sub")).unwrap();
        std::os::unix::fs::symlink(home.path(), cwd.join("out")).unwrap();
        std::os::unix::fs::symlink("/nowhere/at/all", cwd.join("dangling")).unwrap();
        let root = cwd.canonicalize().unwrap();

        let inside = |path: &str| resolve(&cwd, path).unwrap();
        assert_eq!(inside("a.txt"), root.join("a.txt"));
        assert_eq!(inside("new/dir/ä.txt"), root.join("new/dir/ä.txt"));
        assert_eq!(inside("sub/../a.txt"), root.join("a.txt"));
        assert_eq!(inside(root.join("b").to_str().unwrap()), root.join("b"));
        for path in ["../a", "/etc/passwd", "out/a", "missing/../../a", "dangling"] {
            assert!(resolve(&cwd, path).is_err(), "{path}");
        }
    }
}

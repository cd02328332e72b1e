//! Where a workspace stands: its real folder, the repository around it (if any), and what that says to ignore.
//!
//! Repositories are recognised by looking, not by asking git: git would read the person's configuration on the way.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::error::CheckpointError;

/// A workspace root and its surroundings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The root, without symbolic links.
    pub(super) root: PathBuf,
    /// The folder whose `.gitignore` counts: the top of the repository around the root, or the root.
    pub(super) top: PathBuf,
    /// The `info/exclude` of that repository, or `/dev/null`.
    pub(super) excludes: PathBuf,
    /// The index of that repository, to be read and never written.
    pub(super) own_index: Option<PathBuf>,
    /// Whether ignored files count too.
    pub(super) everything: bool,
}

/// Where a root is below the top of the repository around it; empty if it is the top, or in no repository.
///
/// # Errors
/// If it is not there.
pub async fn surroundings(root: &Path) -> Result<PathBuf, CheckpointError> {
    let looked = root.to_owned();
    let place = tokio::task::spawn_blocking(move || Place::of(&looked)).await.map_err(io::Error::other);
    let place = place.and_then(|place| place).map_err(CheckpointError::io(root))?;
    Ok(place.root.strip_prefix(&place.top).map(Path::to_owned).unwrap_or_default())
}

impl Place {
    /// Looks.
    pub(super) fn of(root: &Path) -> io::Result<Self> {
        let root = fs::canonicalize(root)?;
        if !fs::metadata(&root)?.is_dir() {
            return Err(io::Error::from(io::ErrorKind::NotADirectory));
        }
        let around = root.ancestors().find_map(|folder| Some((folder.to_owned(), repository(folder)?)));
        Ok(match around {
            Some((top, repository)) => {
                let excludes = repository.shared.join("info/exclude");
                let excludes = if excludes.is_file() { excludes } else { "/dev/null".into() };
                let own_index = Some(repository.own.join("index")).filter(|index| index.is_file());
                Self { root, top, excludes, own_index, everything: false }
            }
            None => Self::alone(root),
        })
    }

    /// The root as if nothing were around it.
    pub(super) fn alone(root: PathBuf) -> Self {
        Self { top: root.clone(), root, excludes: "/dev/null".into(), own_index: None, everything: false }
    }

    /// The root as seen from the top, with a slash at the end; empty if they are the same.
    pub(super) fn prefix(&self) -> Vec<u8> {
        let mut prefix =
            self.root.strip_prefix(&self.top).map(|p| p.as_os_str().as_bytes().to_vec()).unwrap_or_default();
        if !prefix.is_empty() {
            prefix.push(b'/');
        }
        prefix
    }

    /// A stable name for this pair of root and top: FNV-1a, because the name must be the same after every upgrade.
    /// A collision is harmless: the root is written beside the index and compared.
    pub(super) fn key(&self) -> String {
        let bytes = self.root.as_os_str().as_bytes().iter().chain(&[0]).chain(self.top.as_os_str().as_bytes());
        let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        format!("{hash:016x}")
    }

    /// An ignore pattern for exactly this path, if it is below the top.
    pub(super) fn pattern_for(&self, path: &Path) -> Option<Vec<u8>> {
        let below = path.strip_prefix(&self.top).ok().filter(|below| !below.as_os_str().is_empty())?;
        let mut pattern = vec![b'/'];
        for byte in below.as_os_str().as_bytes() {
            if b"\\*?[ ".contains(byte) {
                pattern.push(b'\\');
            }
            pattern.push(*byte);
        }
        Some(pattern)
    }
}

/// The folders of a repository. They differ in a linked worktree.
pub(super) struct Repository {
    own: PathBuf,
    shared: PathBuf,
}

/// The repository whose top is `folder`, if it is one: the test that git applies before it refuses to enter a folder.
pub(super) fn repository(folder: &Path) -> Option<Repository> {
    let dot_git = folder.join(".git");
    let kind = fs::symlink_metadata(&dot_git).ok()?;
    let own = if kind.is_file() {
        let pointer = fs::read(&dot_git).ok()?;
        folder.join(OsStr::from_bytes(pointer.strip_prefix(b"gitdir: ")?.trim_ascii_end()))
    } else {
        dot_git
    };
    let shared = match fs::read(own.join("commondir")) {
        Ok(named) => own.join(OsStr::from_bytes(named.trim_ascii())),
        Err(_) => own.clone(),
    };
    let complete = own.join("HEAD").symlink_metadata().is_ok() && shared.join("objects").is_dir();
    complete.then_some(Repository { own, shared })
}

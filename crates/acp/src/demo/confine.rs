//! Where a line's path leads, if it stays inside the session's directory.
//!
//! Symbolic links are followed before the check, so a link inside the workspace is no way out of it.

use std::io;
use std::path::{Component, Path, PathBuf};

/// Why a path is not touched.
#[derive(Debug, thiserror::Error)]
pub enum PathRefused {
    /// It leads out of the workspace.
    #[error("{0} is outside the workspace")]
    Outside(String),
    /// It could not be looked up.
    #[error("{path}: {source}")]
    Lookup {
        /// The path as it was written.
        path: String,
        /// What the system said.
        source: io::Error,
    },
}

/// Resolves `path` against `cwd`; the file itself need not exist.
pub fn resolve(cwd: &Path, path: &str) -> Result<PathBuf, PathRefused> {
    let lookup = |source| PathRefused::Lookup {
        path: path.to_owned(),
        source,
    };
    let root = cwd.canonicalize().map_err(lookup)?;
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
            _ => return Err(PathRefused::Outside(path.to_owned())),
        }
    }
    let mut resolved = existing.canonicalize().map_err(lookup)?;
    resolved.extend(missing.into_iter().rev());
    if resolved.starts_with(&root) {
        Ok(resolved)
    } else {
        Err(PathRefused::Outside(path.to_owned()))
    }
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
        for path in [
            "../a",
            "/etc/passwd",
            "out/a",
            "missing/../../a",
            "dangling",
        ] {
            assert!(resolve(&cwd, path).is_err(), "{path}");
        }
    }
}

//! The private repository: made on first use, looked over once per process, one index folder per root.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use tokio::time::timeout_at;

use super::Checkpoints;
use super::error::{CheckpointError, GitError};
use super::git::{Deadline, Sight, blocking};
use super::place::Place;

/// Overrides every `.gitattributes` in the workspace: `info/attributes` has the highest precedence. A minus where the
/// attribute is a switch; `!` where git refuses "false" as a value.
const ATTRIBUTES: &str = "* -text -crlf -ident -filter !eol !working-tree-encoding !diff\n";

impl Checkpoints {
    /// Makes the repository if it is not there; heals it if the machine went down while it was written.
    pub(super) async fn ready(&self, deadline: Deadline) -> Result<(), CheckpointError> {
        let mut ready = self.ready.lock().await;
        let attributes = self.git.dir.join("info/attributes");
        if *ready && attributes.exists() {
            return Ok(());
        }
        // The attributes are written last: without them the repository is not finished.
        if fs::read_to_string(&attributes).ok().as_deref() != Some(ATTRIBUTES) {
            let io = |error| CheckpointError::Io { path: self.git.dir.clone(), source: error };
            make_private(&self.git.dir).map_err(io)?;
            let init = ["init", "--bare", "--quiet", "--template=", "--object-format=sha1"];
            self.git.call(&init).whole(deadline).await?;
            write_attributes(&self.git.dir, &attributes).map_err(io)?;
        }
        let dir = self.git.dir.clone();
        blocking(deadline, move || heal(&dir)).await?.map_err(CheckpointError::io(&self.git.dir))?;
        *ready = true;
        Ok(())
    }

    /// Finds the root, and makes the repository ready for it.
    pub(super) async fn locate(&self, root: &Path, deadline: Deadline) -> Result<Place, CheckpointError> {
        let looked = root.to_owned();
        let place = blocking(deadline, move || Place::of(&looked)).await?.map_err(CheckpointError::io(root))?;
        timeout_at(deadline.at, self.ready(deadline)).await.map_err(|_| deadline.passed())??;
        // A fork's folder is in the home, which is spared where a repository is around it.
        let inside = |folder: &std::path::PathBuf| place.root.starts_with(folder) && !place.top.starts_with(folder);
        if self.spared.iter().any(inside) {
            return Ok(Place::alone(place.root));
        }
        self.unless_ignored(place, deadline).await
    }

    /// A root that the repository around it ignores stands alone: its files are not ignored for whoever works in it.
    async fn unless_ignored(&self, place: Place, deadline: Deadline) -> Result<Place, CheckpointError> {
        let mut name = place.prefix();
        if name.pop().is_none() {
            return Ok(place);
        }
        let sight = Sight {
            cwd: place.top.clone(),
            top: place.top.clone(),
            index: self.git.dir.join("no-index"),
            excludes: place.excludes.clone(),
        };
        name.push(0);
        let call = self.git.call_in(&sight, &["check-ignore", "-z", "--no-index", "--stdin"]).stdin(name);
        let ignored = call.ok_codes(&[0, 1]).whole(deadline).await?;
        Ok(if ignored.is_empty() { place } else { Place::alone(place.root) })
    }

    /// What git sees of a place. The index folder names its root, so that `prune` knows when the root has gone and two
    /// roots never share an index.
    pub(super) fn sight(&self, place: &Place) -> Result<Sight, CheckpointError> {
        let folder = self.git.dir.join("roots").join(place.key());
        let index = if place.everything { "index-of-everything" } else { "index" };
        let (name, index) = (folder.join("root"), folder.join(index));
        let keep = || -> io::Result<()> {
            fs::create_dir_all(&folder)?;
            if fs::read(&name).ok().as_deref() != Some(place.root.as_os_str().as_bytes()) {
                remove_if_there(&index)?;
                fs::write(&name, place.root.as_os_str().as_bytes())?;
            }
            Ok(())
        };
        keep().map_err(CheckpointError::io(&folder))?;
        Ok(Sight { cwd: place.root.clone(), top: place.top.clone(), index, excludes: place.excludes.clone() })
    }

    /// A tree's id, checked for its form: what is not hexadecimal could be an option.
    pub(super) fn checked(oid: &str) -> Result<&str, CheckpointError> {
        let fits = matches!(oid.len(), 40 | 64) && oid.bytes().all(|byte| byte.is_ascii_hexdigit());
        fits.then_some(oid).ok_or_else(|| CheckpointError::NotAnId { oid: oid.to_owned() })
    }

    /// Whether git failed because one of these trees has gone: asked only after a failure.
    pub(super) async fn or_gone(&self, error: GitError, oids: &[&str], deadline: Deadline) -> CheckpointError {
        if matches!(error, GitError::Failed { .. }) {
            for oid in oids {
                let there = self.git.call(&["cat-file", "-e", &format!("{oid}^{{tree}}")]).whole(deadline).await;
                if matches!(there, Err(GitError::Failed { .. })) {
                    return CheckpointError::Gone { oid: (*oid).to_owned() };
                }
            }
        }
        error.into()
    }
}

/// The store holds whatever the workspace holds: nobody else may read it.
fn make_private(dir: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::create_dir_all(dir)?;
    fs::set_permissions(dir, fs::Permissions::from_mode(0o700))
}

fn write_attributes(dir: &Path, attributes: &Path) -> io::Result<()> {
    fs::create_dir_all(dir.join("info"))?;
    let fresh = dir.join("info/attributes.new");
    fs::write(&fresh, ATTRIBUTES)?;
    fs::rename(fresh, attributes)
}

/// After a power cut, objects that git wrote last may be empty files, which git takes for written. They go, and the
/// indexes that trust them too: the next checkpoint writes them again.
fn heal(dir: &Path) -> io::Result<()> {
    let mut broken = false;
    for shard in folders(&dir.join("objects"))? {
        if shard.file_name().is_none_or(|name| name.len() != 2) {
            continue;
        }
        for object in fs::read_dir(shard)? {
            let object = object?;
            if object.metadata()?.len() == 0 {
                fs::remove_file(object.path())?;
                broken = true;
            }
        }
    }
    if broken {
        for root in folders(&dir.join("roots"))? {
            remove_if_there(&root.join("index"))?;
        }
    }
    Ok(())
}

/// The folders in a folder; none if it is not there.
pub(super) fn folders(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut folders = Vec::new();
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            folders.push(entry.path());
        }
    }
    Ok(folders)
}

pub(super) fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

//! A control group of the agent's own, where the machine lets us make one (cgroup v2, and a place that is ours).
//!
//! Neither a session of its own, nor a lost parent, nor a cleared environment gets a process out of it, so whatever is
//! left of a tree is found here even when the keeper was killed. Where there is none, parents and the
//! [`crate::MARKER`] have to do.
//!
//! *Invariant:* the keeper itself is outside. *Invariant:* the file `cgroup` in the keeper's directory names the group
//! before anything runs in it, and only a group that this crate named is ever touched.

use std::path::{Path, PathBuf};
use std::{fs, io};

use rustix::fs::{Access, access};

use crate::crc::crc32;

const FILE: &str = "cgroup";
const PROCESSES: &str = "cgroup.procs";

/// A group that holds one agent's tree.
pub(crate) struct Cgroup {
    path: PathBuf,
}

/// Starts something as part of a new group, if there can be one.
pub(crate) fn around<T>(dir: &Path, start: impl FnOnce() -> T) -> (T, Option<Cgroup>) {
    let Some(group) = Cgroup::create(dir) else { return (start(), None) };
    // A child is born into its parent's group, so there is no moment in which its own children could slip away.
    if enter(&group.path).is_err() {
        group.remove(dir);
        return (start(), None);
    }
    let started = start();
    match group.path.parent().map(enter) {
        Some(Ok(())) => (started, Some(group)),
        // The keeper is inside, so the group is no longer a list of what it may kill.
        Some(Err(_)) | None => (started, None),
    }
}

/// Moves this process.
fn enter(group: &Path) -> io::Result<()> {
    fs::write(group.join(PROCESSES), "0")
}

impl Cgroup {
    fn create(dir: &Path) -> Option<Self> {
        let own = own_group()?;
        // To come out again, both ends have to be ours.
        access(own.join(PROCESSES), Access::WRITE_OK).ok()?;
        let path = own.join(name(dir)?);
        fs::write(dir.join(FILE), path.to_str()?).ok()?;
        match fs::create_dir(&path) {
            Ok(()) => Some(Self { path }),
            Err(_) => {
                let _ = fs::remove_file(dir.join(FILE));
                None
            }
        }
    }

    /// The group that a keeper made, if it is still there.
    pub(crate) fn of(dir: &Path) -> Option<Self> {
        let path = PathBuf::from(fs::read_to_string(dir.join(FILE)).ok()?);
        let ours = path.file_name()?.to_str()? == name(dir)?;
        (ours && path.join(PROCESSES).exists()).then_some(Self { path })
    }

    /// Whoever is in it.
    pub(crate) fn pids(&self) -> Vec<i32> {
        let text = fs::read_to_string(self.path.join(PROCESSES)).unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).filter(|pid| *pid > 0).collect()
    }

    /// Takes it away. It has to be empty; one that is not stays for the next sweep.
    pub(crate) fn remove(&self, dir: &Path) {
        if fs::remove_dir(&self.path).is_ok() {
            let _ = fs::remove_file(dir.join(FILE));
        }
    }
}

/// Unique on the machine: a launch has a directory of its own.
fn name(dir: &Path) -> Option<String> {
    let launch = dir.file_name()?.to_str()?;
    Some(format!("throughline-{launch}-{:08x}", crc32(&[dir.as_os_str().as_encoded_bytes()])))
}

/// The folder of the group that this process is in.
fn own_group() -> Option<PathBuf> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let own = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let (root, point) = mounts.lines().find_map(unified)?;
    Some(Path::new(point).join(Path::new(own).strip_prefix(root).ok()?))
}

/// Which part of the unified hierarchy a line of `mountinfo` shows, and where.
fn unified(line: &str) -> Option<(&str, &str)> {
    let (mount, kind) = line.split_once(" - ")?;
    let mut fields = mount.split(' ').skip(3);
    let shown = (fields.next()?, fields.next()?);
    kind.starts_with("cgroup2 ").then_some(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unified_hierarchy_is_found_among_the_mounts() {
        let line = "35 24 0:30 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate";
        assert_eq!(unified(line), Some(("/", "/sys/fs/cgroup")));
        assert_eq!(unified("36 24 0:31 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu"), None);
        assert_eq!(unified(""), None);
    }

    #[test]
    fn a_group_that_we_did_not_name_is_left_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let group = folder.path().join("somebody-elses");
        fs::create_dir(&group).expect("a folder");
        fs::write(group.join(PROCESSES), "1\n").expect("a file");
        fs::write(folder.path().join(FILE), group.to_str().expect("text")).expect("a file");
        assert!(Cgroup::of(folder.path()).is_none());
    }
}

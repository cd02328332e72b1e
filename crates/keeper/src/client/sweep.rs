//! Ending what a killed keeper left behind.
//!
//! A keeper that is killed cannot end its tree. The tree's processes carry the [`crate::MARKER`] with
//! the keeper's directory, and are in its control group if it could make one; where nobody holds that
//! directory's lock, they and all below them are orphans. *Invariant:* a sweep touches no process of a living keeper, of another home, nor itself.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::cgroup::Cgroup;
use crate::lock;
use crate::tree::{self, Process};

const ROUND: Duration = Duration::from_millis(10);
const GIVE_UP: Duration = Duration::from_secs(5);

/// What one dead keeper had left running.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SweptOrphans {
    /// The keeper's directory, which may be gone.
    pub dir: PathBuf,
    /// All that were killed.
    pub pids: Vec<i32>,
    /// Those that did not die of it.
    pub survivors: Vec<i32>,
}

/// The sweep could not look.
#[derive(Debug, thiserror::Error)]
#[error("the running processes cannot be listed")]
pub struct SweepError(#[from] io::Error);

/// Ends the orphans of every dead keeper under the root. Gives those that had any.
pub async fn sweep(keepers_root: &Path) -> Result<Vec<SweptOrphans>, SweepError> {
    let root = canonical(keepers_root);
    let entries = std::fs::read_dir(&root).into_iter().flatten().flatten();
    let there = entries.map(|entry| entry.path()).collect();
    run(there, move |dir| dir.parent() == Some(&root)).await
}

/// Ends the orphans of one keeper, if it is dead. Gives `None` if it had none.
pub async fn sweep_dir(dir: &Path) -> Result<Option<SweptOrphans>, SweepError> {
    let wanted = canonical(dir);
    Ok(run(vec![wanted.clone()], move |dir| dir == wanted).await?.pop())
}

async fn run(
    there: Vec<PathBuf>,
    ours: impl Fn(&Path) -> bool + Send + 'static,
) -> Result<Vec<SweptOrphans>, SweepError> {
    let swept = tokio::task::spawn_blocking(move || end_orphans(&there, ours)).await;
    Ok(swept.map_err(io::Error::other)??)
}

/// Markers hold canonical paths. What is not there any more is taken as it is written.
fn canonical(path: &Path) -> PathBuf {
    let missing = || {
        let parent = path.parent()?.canonicalize().ok()?;
        Some(parent.join(path.file_name()?))
    };
    let found = path.canonicalize().ok().or_else(missing);
    found.unwrap_or_else(|| path.to_owned())
}

fn end_orphans(there: &[PathBuf], ours: impl Fn(&Path) -> bool) -> io::Result<Vec<SweptOrphans>> {
    let deadline = Instant::now() + GIVE_UP;
    let mut killed: BTreeMap<PathBuf, Vec<i32>> = BTreeMap::new();
    loop {
        let left = orphans(there, &ours)?;
        let finished = left.is_empty() || Instant::now() >= deadline;
        for (dir, processes) in &left {
            let pids = killed.entry(dir.clone()).or_default();
            for process in processes {
                tree::kill(process);
                if !pids.contains(&process.pid) {
                    pids.push(process.pid);
                }
            }
        }
        if finished {
            forget_groups(there)?;
            return Ok(report(killed, &left));
        }
        std::thread::sleep(ROUND);
    }
}

fn report(killed: BTreeMap<PathBuf, Vec<i32>>, left: &BTreeMap<PathBuf, Vec<Process>>) -> Vec<SweptOrphans> {
    let survivors = |dir: &PathBuf| {
        let processes = left.get(dir).map_or(&[][..], Vec::as_slice);
        let alive = processes.iter().filter(|process| tree::is_alive(process));
        alive.map(|process| process.pid).collect()
    };
    killed.into_iter().map(|(dir, pids)| SweptOrphans { survivors: survivors(&dir), dir, pids }).collect()
}

/// The groups of dead keepers go, if nothing is left in them.
fn forget_groups(there: &[PathBuf]) -> io::Result<()> {
    for dir in there {
        if let Some(group) = Cgroup::of(dir)
            && lock::holder(dir)?.is_none()
        {
            group.remove(dir);
        }
    }
    Ok(())
}

fn orphans(there: &[PathBuf], ours: &impl Fn(&Path) -> bool) -> io::Result<BTreeMap<PathBuf, Vec<Process>>> {
    let all = tree::alive()?;
    let own = std::process::id().cast_signed();
    let mut found: BTreeMap<PathBuf, Vec<Process>> = BTreeMap::new();
    for (process, marker) in tree::marked(&all) {
        let dir = PathBuf::from(marker);
        if process.pid != own && ours(&dir) && lock::holder(&dir)?.is_none() {
            found.entry(dir).or_default().push(process);
        }
    }
    for dir in there {
        if let Some(group) = Cgroup::of(dir)
            && lock::holder(dir)?.is_none()
        {
            let mut inside = Vec::new();
            tree::add(&mut inside, &all, &group.pids());
            if !inside.is_empty() {
                let known = found.entry(dir.clone()).or_default();
                inside.retain(|process| !known.contains(process));
                known.extend(inside);
            }
        }
    }
    for processes in found.values_mut() {
        let roots: Vec<i32> = processes.iter().map(|process| process.pid).collect();
        processes.extend(tree::descendants(&all, &roots, Some(own)));
    }
    Ok(found)
}

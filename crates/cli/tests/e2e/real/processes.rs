//! Processes of a world, found by the home in their environment: agents and their tools hand it on.

use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

/// How long a tree may take to end.
const PATIENCE: Duration = Duration::from_secs(5);

/// Waits for the end of every process that has this home, and of those that are known already.
pub fn none_left(home: &Path, known: &[i32]) {
    let deadline = Instant::now() + PATIENCE;
    let mut left = vec![];
    for pid in with_home(home).into_iter().chain(known.iter().copied()) {
        let Some(handle) = Pid::from_raw(pid).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok()) else {
            continue;
        };
        let patience = deadline.saturating_duration_since(Instant::now());
        let patience = Timespec::try_from(patience).expect("a time");
        if poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&patience)) != Ok(1) {
            left.push(format!("{pid} {}", command_line(pid)));
        }
    }
    assert!(left.is_empty(), "processes are left:\n{}", left.join("\n"));
}

/// The processes under a process, direct children only.
pub fn children(pid: i32) -> Vec<i32> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    text.split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

/// What a process was started with.
pub fn command_line(pid: i32) -> String {
    let bytes = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&bytes).replace('\0', " ")
}

/// The processes that have this home, the test's own left out.
pub fn with_home(home: &Path) -> Vec<i32> {
    let wanted = format!("HOME={}", home.display());
    let own = i32::try_from(std::process::id()).expect("a process id");
    let entries = std::fs::read_dir("/proc").expect("processes");
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let has_home = |pid: &i32| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes())
    };
    pids.filter(|pid| *pid != own).filter(has_home).collect()
}

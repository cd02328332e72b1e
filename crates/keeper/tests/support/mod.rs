//! A home for keepers, shell one-liners as agents, and waits that are bounded and wait for events.
#![allow(dead_code, reason = "each test file uses its part")]

use std::future::Future;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open};
use throughline_keeper::client::{self, Happening, Reader, Writer};
use throughline_keeper::{Bounds, Exit, LaunchSpec};

pub const PATIENCE: Duration = Duration::from_secs(30);

pub struct Home {
    folder: tempfile::TempDir,
}

impl Home {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub fn root(&self) -> PathBuf {
        self.folder.path().join("keepers")
    }

    pub fn dir(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    pub async fn launch(&self, name: &str, script: &str) -> PathBuf {
        self.launch_within(name, script, Bounds::default()).await
    }

    pub async fn launch_within(&self, name: &str, script: &str, bounds: Bounds) -> PathBuf {
        let dir = self.dir(name);
        let spec = LaunchSpec { bounds, ..sh(script) };
        client::launch(&exe(), &dir, &spec).await.unwrap();
        dir
    }
}

/// A test that failed half-way must not leave anything running.
impl Drop for Home {
    fn drop(&mut self) {
        for kept in client::list(&self.root()).unwrap_or_default() {
            if let Some(pid) = kept.keeper_pid.and_then(Pid::from_raw) {
                let _ = rustix::process::kill_process(pid, Signal::TERM);
                wait_gone(pid.as_raw_nonzero().get());
            }
            let _ = client::remove(&kept.dir);
        }
    }
}

pub fn exe() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let exe = test.ancestors().nth(2).unwrap().join("examples/keep");
    assert!(exe.exists(), "cargo builds {} with the tests", exe.display());
    exe
}

pub fn sh(script: &str) -> LaunchSpec {
    LaunchSpec {
        program: "/bin/sh".into(),
        args: vec!["-c".into(), script.into()],
        cwd: "/".into(),
        env: vec![("PATH".into(), "/usr/bin:/bin".into())],
        bounds: Bounds { grace_ms: 100, ..Bounds::default() },
        confine: None,
    }
}

pub async fn bounded<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, what).await.expect("in time")
}

pub async fn attach(dir: &Path, fence: u64, from: u64) -> (Writer, Reader) {
    bounded(client::attach(dir, fence, from)).await.unwrap()
}

/// The next line and where it ends.
pub async fn line(reader: &mut Reader) -> (String, u64) {
    match bounded(reader.next()).await {
        Some(Ok(Happening::Frame(frame))) => {
            let text = String::from_utf8(frame.bytes.to_vec()).unwrap();
            assert_eq!(frame.offset_end - frame.offset_start, text.len() as u64 + 1);
            (text, frame.offset_end)
        }
        other => panic!("a line, not {other:?}"),
    }
}

pub async fn pid(reader: &mut Reader) -> i32 {
    line(reader).await.0.parse().unwrap()
}

/// The end, and the lines before it.
pub async fn end(reader: &mut Reader) -> (Exit, Vec<String>) {
    let mut lines = Vec::new();
    loop {
        match bounded(reader.next()).await {
            Some(Ok(Happening::Frame(frame))) => {
                lines.push(String::from_utf8(frame.bytes.to_vec()).unwrap());
            }
            Some(Ok(Happening::Exited(exit))) => {
                assert_eq!(bounded(reader.next()).await, None);
                return (exit, lines);
            }
            other => panic!("an end, not {other:?}"),
        }
    }
}

/// Blocks until the process is gone, or fails.
pub fn wait_gone(pid: i32) {
    let pid = Pid::from_raw(pid).unwrap();
    let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else {
        return;
    };
    let patience = Timespec { tv_sec: 5, tv_nsec: 0 };
    let gone = poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&patience));
    assert_eq!(gone, Ok(1), "process {pid:?} is still there after 5 s");
}

pub fn is_running(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

pub fn keeper_pid(dir: &Path) -> i32 {
    try_keeper_pid(dir).expect("a living keeper")
}

pub fn try_keeper_pid(dir: &Path) -> Option<i32> {
    let kept = client::list(dir.parent().unwrap()).unwrap();
    kept.into_iter().find(|kept| kept.dir == dir)?.keeper_pid
}

pub fn kill_9(pid: i32) {
    rustix::process::kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
}

/// What a process holds in memory, in KiB.
#[derive(Debug)]
pub struct Memory {
    /// Its own: heap, stack, and what it changed of its program.
    pub anonymous: u64,
    /// The same and the pages of its program's file that no other process has mapped right now. They
    /// belong to the page cache, and count as dirty for as long as a fresh build is not written back,
    /// so nothing is asserted about them.
    pub private: u64,
}

pub fn memory_kib(pid: i32) -> Memory {
    let rollup = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap();
    let sum = |name: &str| {
        let lines = rollup.lines().filter(|line| line.starts_with(name));
        let sizes = lines.map(|line| line.split_whitespace().nth(1).unwrap());
        sizes.map(|size| size.parse::<u64>().unwrap()).sum()
    };
    Memory { anonymous: sum("Anonymous:"), private: sum("Private_") }
}

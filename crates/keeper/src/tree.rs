//! Finding and killing every process of an agent's tree.
//!
//! Killing the process group is not enough: agents run their tools in sessions of their own. On
//! Linux a tree is found twice over: by parent (the keeper is a child subreaper, so what loses its
//! parent becomes the keeper's child) and by the [`crate::MARKER`] that the whole tree inherits. Elsewhere
//! only the process group is reached.
//!
//! *Invariant:* a process is signalled only while it is still the one that was found (pidfd and
//! start time), so that a reused pid is never hit.

use rustix::process::{Pid, Signal};

/// A process as it was when it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "none is ever found"))]
pub(crate) struct Process {
    pub(crate) pid: i32,
    parent: i32,
    started: u64,
}

/// SIGTERM or SIGKILL to the agent's process group. The group's leader must not have been reaped.
pub(crate) fn signal_group(leader: i32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(leader) {
        // Gone already is what we want; nothing else can be done about any other error.
        let _ = rustix::process::kill_process_group(pid, signal);
    }
}

/// Adds those of these that live and are not there yet.
pub(crate) fn add(found: &mut Vec<Process>, all: &[Process], pids: &[i32]) {
    for process in all.iter().filter(|process| pids.contains(&process.pid)) {
        if !found.contains(process) {
            found.push(process.clone());
        }
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) use elsewhere::{alive, descendants, is_alive, kill, marked};
#[cfg(target_os = "linux")]
pub(crate) use linux::{alive, descendants, is_alive, kill, marked};

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::HashSet;
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt as _;
    use std::{fs, io};

    use rustix::process::{Pid, PidfdFlags, Signal};

    use super::Process;
    use crate::spec::MARKER;

    /// Everything that runs, zombies left out.
    pub(crate) fn alive() -> io::Result<Vec<Process>> {
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc")? {
            let name = entry?.file_name();
            let pid = name.to_str().and_then(|name| name.parse().ok());
            found.extend(pid.and_then(look_up));
        }
        Ok(found)
    }

    fn look_up(pid: i32) -> Option<Process> {
        let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
        // The name is in parentheses and may hold anything, so the fields are counted from its end.
        let after_name = stat.iter().rposition(|byte| *byte == b')')? + 2;
        let text = std::str::from_utf8(stat.get(after_name..)?).ok()?;
        let fields: Vec<&str> = text.split(' ').collect();
        let (state, parent, started) = (fields.first()?, fields.get(1)?, fields.get(19)?);
        if matches!(*state, "Z" | "X") {
            return None;
        }
        Some(Process { pid, parent: parent.parse().ok()?, started: started.parse().ok()? })
    }

    pub(crate) fn is_alive(process: &Process) -> bool {
        look_up(process.pid).is_some_and(|now| now.started == process.started)
    }

    /// All below `roots`, roots left out, `except` and all below it left out too.
    pub(crate) fn descendants(all: &[Process], roots: &[i32], except: Option<i32>) -> Vec<Process> {
        let mut inside: HashSet<i32> = roots.iter().copied().collect();
        let mut found = Vec::new();
        loop {
            let before = found.len();
            for process in all {
                let below = inside.contains(&process.parent) && !inside.contains(&process.pid);
                if below && Some(process.pid) != except {
                    inside.insert(process.pid);
                    found.push(process.clone());
                }
            }
            if found.len() == before {
                return found;
            }
        }
    }

    /// Those that carry a marker, with its value. The environment is that of the last exec.
    pub(crate) fn marked(all: &[Process]) -> Vec<(Process, OsString)> {
        all.iter().filter_map(|process| Some((process.clone(), marker_of(process.pid)?))).collect()
    }

    fn marker_of(pid: i32) -> Option<OsString> {
        let environ = fs::read(format!("/proc/{pid}/environ")).ok()?;
        environ.split(|byte| *byte == 0).find_map(|variable| {
            let value = variable.strip_prefix(MARKER.as_bytes())?.strip_prefix(b"=")?;
            Some(OsString::from_vec(value.to_vec()))
        })
    }

    pub(crate) fn kill(process: &Process) {
        let Some(pid) = Pid::from_raw(process.pid) else {
            return;
        };
        // The handle is taken first and the identity checked after: from then on it cannot change.
        if let Ok(handle) = rustix::process::pidfd_open(pid, PidfdFlags::empty())
            && is_alive(process)
        {
            let _ = rustix::process::pidfd_send_signal(&handle, Signal::KILL);
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod elsewhere {
    use std::ffi::OsString;
    use std::io;

    use super::Process;

    pub(crate) fn alive() -> io::Result<Vec<Process>> {
        Ok(Vec::new())
    }

    pub(crate) fn is_alive(_: &Process) -> bool {
        false
    }

    pub(crate) fn descendants(_: &[Process], _: &[i32], _: Option<i32>) -> Vec<Process> {
        Vec::new()
    }

    pub(crate) fn marked(_: &[Process]) -> Vec<(Process, OsString)> {
        Vec::new()
    }

    pub(crate) fn kill(_: &Process) {}
}

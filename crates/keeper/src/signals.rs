//! Signals as something to poll: a child ended, or someone asks the keeper itself to end.
//!
//! A hang-up of a terminal means nothing to a keeper, and SIGPIPE is ignored by Rust's own start-up.

use std::io::{self, Read as _};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rustix::process::{WaitOptions, WaitStatus};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};
use signal_hook::{flag, low_level};

use crate::exit::AgentStatus;

pub(crate) struct Signals {
    pub(crate) wake: UnixStream,
    terminate: Arc<AtomicUsize>,
}

impl Signals {
    pub(crate) fn listen() -> io::Result<Self> {
        let terminate = Arc::new(AtomicUsize::new(0));
        flag::register(SIGHUP, Arc::new(AtomicBool::new(false)))?;
        let (wake, ring) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        for signal in [SIGTERM, SIGINT] {
            // Registered before the pipe, so that whoever is woken finds the number set.
            flag::register_usize(signal, terminate.clone(), signal.unsigned_abs() as usize)?;
            low_level::pipe::register(signal, ring.try_clone()?)?;
        }
        low_level::pipe::register(SIGCHLD, ring)?;
        Ok(Self { wake, terminate })
    }

    /// Empties the pipe; gives the signal by which the keeper was asked to end.
    pub(crate) fn take(&mut self) -> Option<i32> {
        let mut bytes = [0; 64];
        while matches!(self.wake.read(&mut bytes), Ok(count) if count > 0) {}
        match self.terminate.swap(0, Ordering::Relaxed) {
            0 => None,
            signal => i32::try_from(signal).ok(),
        }
    }
}

/// Whether the keeper still has children, adopted ones included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Children {
    Some,
    /// As a subreaper's answer on Linux this means: nothing of the tree is left.
    None,
}

/// Reaps everything that has ended.
pub(crate) fn reap(mut ended: impl FnMut(i32, AgentStatus)) -> Children {
    loop {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) => ended(pid.as_raw_nonzero().get(), translate(status)),
            Ok(None) => return Children::Some,
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return Children::None,
        }
    }
}

fn translate(status: WaitStatus) -> AgentStatus {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => AgentStatus::Code(code),
        (_, Some(signal)) => AgentStatus::Signal(signal),
        _ => AgentStatus::Unknown,
    }
}

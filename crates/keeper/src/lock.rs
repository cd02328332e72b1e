//! Who keeps this directory: a POSIX record lock on `DIR/lock`.
//!
//! A record lock rather than `flock`, because it can be *asked about* without being taken: a probe
//! never makes a starting keeper fail, and it names the holder's pid. The kernel drops it with the
//! process. *Invariant:* the keeper opens the lock file exactly once, since closing any other handle
//! to it would drop the lock.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::FlockOperation;
use rustix::process::{Flock, FlockType, fcntl_getlk};

const FILE: &str = "lock";

/// Held until the process ends.
pub(crate) struct Lock(#[expect(dead_code, reason = "held, not read")] File);

/// `None` if another keeper holds it.
pub(crate) fn acquire(dir: &Path) -> io::Result<Option<Lock>> {
    let file =
        OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(dir.join(FILE))?;
    match rustix::fs::fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(Lock(file))),
        Err(rustix::io::Errno::AGAIN | rustix::io::Errno::ACCESS) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The pid of the living keeper of a directory.
pub(crate) fn holder(dir: &Path) -> io::Result<Option<i32>> {
    let file = match OpenOptions::new().read(true).write(true).open(dir.join(FILE)) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let held = fcntl_getlk(&file, &Flock::from(FlockType::WriteLock))?;
    Ok(held.and_then(|lock| lock.pid).map(|pid| pid.as_raw_nonzero().get()))
}

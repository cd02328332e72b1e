//! The socket in a keeper's directory, at any path length.
//!
//! `sun_path` holds 108 bytes, homes can be longer. The keeper sits in its directory and binds a
//! relative name. The client is many-threaded and cannot change directory, so on Linux it goes
//! through `/proc/self/fd`; elsewhere a path that is too long is refused by the system.

use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

const NAME: &str = "sock";

/// Binds in the current directory, which must be the keeper's own (0700, so that there is no moment
/// in which a stranger could connect before the mode is set).
pub(crate) fn bind_here() -> io::Result<UnixListener> {
    remove_here()?;
    let listener = UnixListener::bind(NAME)?;
    std::fs::set_permissions(NAME, std::fs::Permissions::from_mode(0o600))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

pub(crate) fn remove_here() -> io::Result<()> {
    match std::fs::remove_file(NAME) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Connects to the keeper of a directory.
pub(crate) async fn connect(dir: &Path) -> io::Result<tokio::net::UnixStream> {
    let door = Door::open(dir)?;
    tokio::net::UnixStream::connect(&door.path).await
}

/// A name for the socket that fits, and whatever keeps that name valid.
struct Door {
    path: PathBuf,
    #[cfg(target_os = "linux")]
    _dir: std::os::fd::OwnedFd,
}

impl Door {
    #[cfg(target_os = "linux")]
    fn open(dir: &Path) -> io::Result<Self> {
        use rustix::fs::{Mode, OFlags};
        use std::os::fd::AsRawFd as _;

        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = rustix::fs::open(dir, flags, Mode::empty())?;
        let path = format!("/proc/self/fd/{}/{NAME}", handle.as_raw_fd()).into();
        Ok(Self { path, _dir: handle })
    }

    #[cfg(not(target_os = "linux"))]
    fn open(dir: &Path) -> io::Result<Self> {
        Ok(Self { path: dir.join(NAME) })
    }
}

/// Only the same user may speak to a keeper. The modes of directory and socket say so already; this
/// also holds where someone loosened them.
pub(crate) fn same_user(stream: &std::os::unix::net::UnixStream) -> bool {
    #[cfg(target_os = "linux")]
    {
        rustix::net::sockopt::socket_peercred(stream).is_ok_and(|peer| peer.uid == rustix::process::geteuid())
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = stream;
        true
    }
}

//! Unix sockets with paths of any length.
//!
//! A socket's address holds 107 bytes of path, and homes can be deeper than that. On Linux the folder is opened
//! and named through `/proc/self/fd`, which is always short; elsewhere a path that is too long is refused.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// What fits in a socket's address, with the closing zero, on every platform that is supported.
const FITS_BYTES: usize = 103;

/// A path that fits in a socket's address, for as long as it lives.
#[derive(Debug)]
pub struct ShortPath {
    path: PathBuf,
    _folder: Option<OwnedFd>,
}

impl ShortPath {
    /// Finds a short name for a socket's path. Its folder has to be there.
    ///
    /// # Errors
    /// If the folder cannot be opened, or the path is too long and this platform has no way around that.
    pub fn of(path: &Path) -> io::Result<Self> {
        if path.as_os_str().len() <= FITS_BYTES {
            return Ok(ShortPath { path: path.to_owned(), _folder: None });
        }
        Self::through_folder(path)
    }

    /// The short name. It stops working when this value is dropped.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    #[cfg(target_os = "linux")]
    fn through_folder(path: &Path) -> io::Result<Self> {
        use std::os::fd::AsRawFd as _;

        use rustix::fs::{Mode, OFlags};

        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the socket's path has no folder"));
        };
        let folder = rustix::fs::open(folder, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let path = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd())).join(name);
        Ok(ShortPath { path, _folder: Some(folder) })
    }

    #[cfg(not(target_os = "linux"))]
    fn through_folder(path: &Path) -> io::Result<Self> {
        let message = format!("the socket's path is longer than {FITS_BYTES} bytes: {}", path.display());
        Err(io::Error::new(io::ErrorKind::InvalidInput, message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_socket_in_a_deep_folder_can_be_bound_and_reached() {
        let home = tempfile::tempdir().unwrap();
        let deep = home.path().join("d".repeat(120)).join("e".repeat(120));
        std::fs::create_dir_all(&deep).unwrap();
        let path = deep.join("tl.sock");
        let bound = ShortPath::of(&path).unwrap();
        let listener = tokio::net::UnixListener::bind(bound.path()).unwrap();
        drop(bound);
        assert!(path.exists());
        let reached = ShortPath::of(&path).unwrap();
        let (joined, accepted) = tokio::join!(tokio::net::UnixStream::connect(reached.path()), listener.accept());
        joined.unwrap();
        accepted.unwrap();
    }

    #[test]
    fn a_short_path_stays_as_it_is() {
        let path = Path::new("/tmp/tl.sock");
        assert_eq!(ShortPath::of(path).unwrap().path(), path);
    }
}

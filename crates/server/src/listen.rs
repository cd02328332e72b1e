//! Where the daemon listens: a Unix socket for its own user, loopback TCP for whoever has the token, and, where the
//! settings name a certificate, TLS for other machines.
//!
//! Refuses addresses that other machines reach without TLS, and a socket that another daemon answers on. The socket appears under
//! its name only once it is complete and private.

use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use throughline_api::socket::ShortPath;
use throughline_engine::TlsSettings;
use tokio::net::{TcpListener, UnixListener, UnixStream};

use crate::tls::Tls;

/// Why the daemon cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// Other machines could reach it.
    #[error("{address} is not a loopback address")]
    NotLoopback {
        /// Which address.
        address: SocketAddr,
    },
    /// The address cannot be had.
    #[error("cannot listen on {address}: {source}")]
    Tcp {
        /// Which address.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// The certificate or its key cannot be used.
    #[error("{} cannot be used for TLS: {message}", path.display())]
    Tls {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        message: String,
    },
    /// The socket cannot be made.
    #[error("cannot listen on {}: {source}", path.display())]
    Unix {
        /// Which path.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Another daemon answers there.
    #[error("another daemon listens on {}", path.display())]
    InUse {
        /// Which path.
        path: PathBuf,
    },
    /// Something else has that name.
    #[error("{} is there and is not a socket", path.display())]
    NotASocket {
        /// Which path.
        path: PathBuf,
    },
}

impl ListenError {
    /// The stable code, the same in the CLI and the docs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            ListenError::NotLoopback { .. } => "listen_not_loopback",
            ListenError::Tcp { source, .. } if source.kind() == io::ErrorKind::AddrInUse => "address_in_use",
            ListenError::Tcp { .. } | ListenError::Unix { .. } => "listen_failed",
            ListenError::Tls { .. } => "tls_unusable",
            ListenError::InUse { .. } => "socket_in_use",
            ListenError::NotASocket { .. } => "not_a_socket",
        }
    }

    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            ListenError::NotLoopback { .. } => {
                "listen on 127.0.0.1 or [::1]; docs/phone.md has the ways to reach it from elsewhere"
            }
            ListenError::Tcp { source, .. } if source.kind() == io::ErrorKind::AddrInUse => {
                "choose another port; port 0 takes any that is free"
            }
            ListenError::Tcp { .. } => "choose another address with --listen",
            ListenError::Unix { .. } => "choose another path with --socket",
            ListenError::Tls { .. } => {
                "`tls_cert` and `tls_key` under `[web]` in config.toml name PEM files that belong together"
            }
            ListenError::InUse { .. } => "use that daemon, or stop it with `tl down`",
            ListenError::NotASocket { .. } => "move it away, or choose another path with --socket",
        }
    }
}

/// A Unix socket that goes when the daemon goes.
#[derive(Debug)]
pub(crate) struct Socket {
    pub(crate) listener: UnixListener,
    pub(crate) path: PathBuf,
    /// Which file it was: another daemon may have taken the name since.
    file: (u64, u64),
}

pub(crate) async fn unix(path: &Path) -> Result<Socket, ListenError> {
    let failed = |source| ListenError::Unix { path: path.to_owned(), source };
    check_free(path).await?;
    let name = path.file_name().ok_or_else(|| failed(io::Error::from(io::ErrorKind::InvalidInput)))?.to_string_lossy();
    let unfinished = path.with_file_name(format!(".{name}.{}", std::process::id()));
    let _ = std::fs::remove_file(&unfinished);
    let short = ShortPath::of(&unfinished).map_err(failed)?;
    let listener = UnixListener::bind(short.path()).map_err(failed)?;
    let finish = || {
        std::fs::set_permissions(&unfinished, std::fs::Permissions::from_mode(0o600))?;
        std::fs::rename(&unfinished, path)?;
        std::fs::symlink_metadata(path)
    };
    let file = finish().map_err(|error| {
        let _ = std::fs::remove_file(&unfinished);
        failed(error)
    })?;
    Ok(Socket { listener, path: path.to_owned(), file: (file.dev(), file.ino()) })
}

/// A name is free if nothing is there, or the socket of a daemon that is dead.
async fn check_free(path: &Path) -> Result<(), ListenError> {
    let failed = |source| ListenError::Unix { path: path.to_owned(), source };
    match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed(error)),
        Ok(file) if !file.file_type().is_socket() => return Err(ListenError::NotASocket { path: path.to_owned() }),
        Ok(_) => {}
    }
    let short = ShortPath::of(path).map_err(failed)?;
    match UnixStream::connect(short.path()).await {
        Ok(_) => Err(ListenError::InUse { path: path.to_owned() }),
        Err(error) if matches!(error.kind(), io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound) => Ok(()),
        Err(error) => Err(failed(error)),
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let ours = std::fs::symlink_metadata(&self.path).is_ok_and(|file| (file.dev(), file.ino()) == self.file);
        if ours {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Listens there. Any free port means the last one of this home if it is still free: bookmarks and open pages find
/// the next daemon where the last one was.
pub(crate) async fn tcp(address: SocketAddr, home: &Path) -> Result<(TcpListener, SocketAddr), ListenError> {
    if !address.ip().is_loopback() {
        return Err(ListenError::NotLoopback { address });
    }
    let failed = |source| ListenError::Tcp { address, source };
    let memory = home.join("port");
    let listener = match remembered(address, &memory).await {
        Some(listener) => listener,
        None => TcpListener::bind(address).await.map_err(failed)?,
    };
    let bound = listener.local_addr().map_err(failed)?;
    if let Err(error) = std::fs::write(&memory, format!("{}\n", bound.port())) {
        // The next daemon takes another port, and nothing else is lost.
        tracing::warn!(%error, "the port cannot be remembered");
    }
    Ok((listener, bound))
}

/// Listens for other machines. Only ever with TLS.
pub(crate) async fn tls(settings: &TlsSettings) -> Result<(TcpListener, Tls), ListenError> {
    let address = settings.listen;
    let tls = Tls::load(settings)?;
    let listener = TcpListener::bind(address).await.map_err(|source| ListenError::Tcp { address, source })?;
    Ok((listener, tls))
}

async fn remembered(address: SocketAddr, memory: &Path) -> Option<TcpListener> {
    let port = std::fs::read_to_string(memory).ok().filter(|_| address.port() == 0)?.trim().parse().ok()?;
    TcpListener::bind((address.ip(), port)).await.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn other_machines_are_kept_out() {
        for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
            let error = tcp(address.parse().unwrap(), Path::new("/nowhere")).await.unwrap_err();
            assert_eq!(error.code(), "listen_not_loopback", "{address}");
        }
    }

    #[tokio::test]
    async fn the_next_daemon_of_a_home_has_the_port_of_the_last() {
        let home = tempfile::tempdir().unwrap();
        let any = "127.0.0.1:0".parse().unwrap();
        let (first, address) = tcp(any, home.path()).await.unwrap();
        drop(first);
        let (second, again) = tcp(any, home.path()).await.unwrap();
        assert_eq!(again, address);
        let (_third, other) = tcp(any, home.path()).await.unwrap();
        assert_ne!(other, address, "taken by {second:?}");
    }

    #[tokio::test]
    async fn the_socket_is_private_and_goes_with_its_daemon() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("tl.sock");
        let socket = unix(&path).await.unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(unix(&path).await.unwrap_err().code(), "socket_in_use");
        drop(socket);
        assert!(!path.exists());
    }

    #[tokio::test]
    async fn the_socket_of_a_dead_daemon_is_replaced_and_other_files_are_not() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("tl.sock");
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        assert!(path.exists());
        let socket = unix(&path).await.unwrap();
        UnixStream::connect(&path).await.unwrap();
        drop(socket);
        std::fs::write(&path, "mine").unwrap();
        assert_eq!(unix(&path).await.unwrap_err().code(), "not_a_socket");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
    }

    #[tokio::test]
    async fn a_successors_socket_is_left_alone() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("tl.sock");
        let old = unix(&path).await.unwrap();
        std::fs::remove_file(&path).unwrap();
        let new = unix(&path).await.unwrap();
        drop(old);
        assert!(path.exists());
        drop(new);
    }
}

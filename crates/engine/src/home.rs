//! The home: the one folder in which all state lives, for one daemon at a time.

use rustix::fs::{FlockOperation, flock};
use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// Where all state lives.
#[derive(Clone, Debug)]
pub struct Home {
    path: PathBuf,
}

/// Held by the one daemon of a home, for as long as it lives.
#[derive(Debug)]
pub struct HomeLock {
    _file: File,
    generation: u64,
}

/// Why a home cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum HomeError {
    /// Neither variable says where it is.
    #[error("there is no home folder to keep state in")]
    Nowhere,
    /// It cannot be made or written.
    #[error("{} cannot be used: {source}", path.display())]
    Unwritable {
        /// Which folder or file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Another daemon has it.
    #[error("a daemon with process id {pid} already uses {}", path.display())]
    InUse {
        /// Which home.
        path: PathBuf,
        /// Whose.
        pid: String,
    },
}

impl HomeError {
    /// The stable code, the same in the CLI, the API and the docs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            HomeError::Nowhere => "home_missing",
            HomeError::Unwritable { .. } => "home_unwritable",
            HomeError::InUse { .. } => "home_in_use",
        }
    }

    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            HomeError::Nowhere => "set THROUGHLINE_HOME to a folder",
            HomeError::Unwritable { .. } => "make it writable, or set THROUGHLINE_HOME to a folder that is",
            HomeError::InUse { .. } => "use that daemon, or stop it with `tl down`",
        }
    }
}

impl Home {
    /// `$THROUGHLINE_HOME`, else the platform's data folder. It is made, readable by its owner alone.
    ///
    /// # Errors
    /// If there is no such place, or it cannot be made.
    pub fn resolve() -> Result<Self, HomeError> {
        let named = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let path = named("THROUGHLINE_HOME")
            .or_else(|| named("XDG_DATA_HOME").map(|data| data.join("throughline")))
            .or_else(|| named("HOME").map(|home| home.join(PLATFORM_DATA).join("throughline")))
            .ok_or(HomeError::Nowhere)?;
        Self::at(&path)
    }

    /// This folder. It is made if it is not there.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn at(path: &Path) -> Result<Self, HomeError> {
        let unwritable = |source| HomeError::Unwritable { path: path.to_owned(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(unwritable)?;
        let path = path.canonicalize().map_err(unwritable)?;
        let mode = path.metadata().map_err(unwritable)?.permissions().mode();
        if mode & 0o077 != 0 {
            std::fs::set_permissions(&path, Permissions::from_mode(0o700)).map_err(unwritable)?;
        }
        Ok(Self { path })
    }

    /// The folder itself.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The daemon's Unix socket.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.path.join("tl.sock")
    }

    /// Where keepers have their folders.
    #[must_use]
    pub fn keepers(&self) -> PathBuf {
        self.path.join("keepers")
    }

    /// The bearer token of the loopback address.
    #[must_use]
    pub fn token_file(&self) -> PathBuf {
        self.path.join("token")
    }

    /// The browsers that are let in.
    #[must_use]
    pub fn logins_file(&self) -> PathBuf {
        self.path.join("logins.json")
    }

    /// The settings.
    #[must_use]
    pub fn config_file(&self) -> PathBuf {
        self.path.join("config.toml")
    }

    /// Takes the home for this process. Each taking counts one generation up, durably: keepers refuse an older one.
    ///
    /// # Errors
    /// If another daemon has it, or it cannot be written.
    pub fn lock(&self) -> Result<HomeLock, HomeError> {
        let path = self.path.join("daemon.lock");
        let unwritable = |source: io::Error| HomeError::Unwritable { path: path.clone(), source };
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .map_err(unwritable)?;
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            let mut text = String::new();
            let _ = file.read_to_string(&mut text);
            let pid = text.trim().to_owned();
            return Err(HomeError::InUse {
                path: self.path.clone(),
                pid: if pid.is_empty() { "unknown".into() } else { pid },
            });
        }
        file.set_len(0).map_err(unwritable)?;
        writeln!(file, "{}", std::process::id()).map_err(unwritable)?;
        let generation = self.next_generation()?;
        Ok(HomeLock { _file: file, generation })
    }

    fn next_generation(&self) -> Result<u64, HomeError> {
        let path = self.path.join("generation");
        let unwritable = |source: io::Error| HomeError::Unwritable { path: path.clone(), source };
        let last: u64 =
            std::fs::read_to_string(&path).ok().and_then(|text| text.trim().parse().ok()).unwrap_or_default();
        let fresh = path.with_extension("new");
        let mut file = File::create(&fresh).map_err(unwritable)?;
        writeln!(file, "{}", last + 1).map_err(unwritable)?;
        file.sync_all().map_err(unwritable)?;
        std::fs::rename(&fresh, &path).map_err(unwritable)?;
        File::open(&self.path).and_then(|dir| dir.sync_all()).map_err(unwritable)?;
        Ok(last + 1)
    }
}

impl HomeLock {
    /// Counts the daemons that this home has had.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.generation
    }
}

#[cfg(target_os = "macos")]
const PLATFORM_DATA: &str = "Library/Application Support";
#[cfg(not(target_os = "macos"))]
const PLATFORM_DATA: &str = ".local/share";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_daemon_at_a_time_and_each_is_a_generation_younger() {
        let dir = tempfile::tempdir().expect("a folder");
        let home = Home::at(&dir.path().join("home")).expect("a home");
        let first = home.lock().expect("it is free");
        let refused = home.lock().expect_err("it is taken");
        assert_eq!(refused.code(), "home_in_use");
        assert!(refused.to_string().contains(&std::process::id().to_string()), "{refused}");
        let before = first.generation();
        drop(first);
        assert_eq!(home.lock().expect("it is free again").generation(), before + 1);
    }

    #[test]
    fn the_home_is_its_owners_alone() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("open");
        std::fs::create_dir(&path).expect("made");
        std::fs::set_permissions(&path, Permissions::from_mode(0o755)).expect("opened");
        let home = Home::at(&path).expect("a home");
        assert_eq!(home.path().metadata().expect("there").permissions().mode() & 0o777, 0o700);
    }
}

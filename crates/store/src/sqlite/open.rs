//! Opening: who may have the file, what it must be, and how its connections are set up.
//!
//! Invariants:
//! - one process has the database at a time, because the writer keeps versions in memory;
//! - a file of a newer version, or of another application, is refused before a byte of it changes;
//! - nothing here scans: opening takes as long with a million events as with none.

use std::fs::{self, DirBuilder, File, TryLockError};
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::error::at_path;
use super::schema::{self, Found, MIGRATIONS, Migration};
use crate::port::StoreError;

/// Small, for two reasons. Rows do not share a page if each takes more than half of it, so that messages of 2 KiB
/// would cost twice their size in the usual pages of 4 KiB; in small ones they spill over and pack. And what a
/// commit writes is whole pages, most of them for a few bytes of an index.
pub(super) const PAGE_BYTES: u32 = 1024;
const WRITER_CACHE_KIB: i64 = 4096;
/// There are several, and behind each of them the system's own cache: what does not fit here is a copy away.
const READER_CACHE_KIB: i64 = 1024;
/// A log that had to grow longer is cut back to this.
const LOG_BYTES_KEPT: i64 = 16 << 20;
/// Only a person's own tool can hold the file; that is not worth waiting for long.
const BUSY: Duration = Duration::from_millis(500);

/// How to open a store.
#[derive(Clone, Debug)]
pub struct OpenOptions {
    /// The home: the database, its blobs and its backups are in it.
    pub dir: PathBuf,
    /// The database never grows beyond this; a commit that would is refused as [`StoreError::DiskFull`].
    pub max_bytes: Option<u64>,
    /// The steps to the newest schema; the shipped ones, but for tests of the way there.
    pub migrations: &'static [Migration],
}

impl OpenOptions {
    /// The store of this home.
    #[must_use]
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into(), max_bytes: None, migrations: MIGRATIONS }
    }

    /// The database's file.
    #[must_use]
    pub fn database(&self) -> PathBuf {
        self.dir.join("throughline.db")
    }
}

/// The home is ours while this lives.
#[derive(Debug)]
pub(super) struct Claim {
    _lock: File,
}

impl Claim {
    pub(super) fn take(options: &OpenOptions) -> Result<Self, StoreError> {
        let home = &options.dir;
        DirBuilder::new().recursive(true).mode(0o700).create(home).map_err(at_path(home))?;
        let path = home.join("throughline.db.lock");
        let lock =
            File::options().write(true).create(true).truncate(false).mode(0o600).open(&path).map_err(at_path(&path))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { _lock: lock }),
            Err(TryLockError::WouldBlock) => {
                Err(StoreError::Busy(format!("{} is held by another process", path.display())))
            }
            Err(TryLockError::Error(error)) => Err(at_path(&path)(error)),
        }
    }
}

/// Opens the connection that writes, with the newest schema under it.
pub(super) fn writer(options: &OpenOptions) -> Result<Connection, StoreError> {
    let path = options.database();
    let found = peek(&path, options.migrations.len())?;
    if found == Found::Nothing {
        // Made by hand for its mode: SQLite gives the log and its index the mode of the database.
        File::options().write(true).create(true).truncate(false).mode(0o600).open(&path).map_err(at_path(&path))?;
    }
    let mut connection =
        Connection::open_with_flags(&path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(BUSY)?;
    connection.pragma_update(None, "page_size", PAGE_BYTES)?;
    let mode: String = connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))?;
    if mode != "wal" {
        return Err(StoreError::Failed(format!("the file system does not bear a write-ahead log (mode {mode})")));
    }
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.pragma_update(None, "cache_size", -WRITER_CACHE_KIB)?;
    connection.pragma_update_and_check(None, "journal_size_limit", LOG_BYTES_KEPT, |_| Ok(()))?;
    if let Some(bytes) = options.max_bytes {
        let page_bytes: u64 = connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
        let pages = i64::try_from(bytes / page_bytes.max(1)).unwrap_or(i64::MAX).max(1);
        connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))?;
    }
    schema::migrate(&mut connection, &options.dir, options.migrations)?;
    schema::sync_folder(&options.dir)?;
    Ok(connection)
}

/// Opens the connection that copies the log into the database. It holds no pages, so it needs no cache.
pub(super) fn checkpointer(options: &OpenOptions) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(options.database(), flags)?;
    connection.busy_timeout(Duration::ZERO)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    Ok(connection)
}

/// Opens a connection that only reads. The writer's must be open.
pub(super) fn reader(options: &OpenOptions) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(options.database(), flags)?;
    connection.busy_timeout(BUSY)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.pragma_update(None, "cache_size", -READER_CACHE_KIB)?;
    connection.set_prepared_statement_cache_capacity(32);
    Ok(connection)
}

/// Looks at the file without changing it.
fn peek(path: &Path, known: usize) -> Result<Found, StoreError> {
    let mut head = Vec::with_capacity(100);
    match File::open(path) {
        Ok(file) => file.take(100).read_to_end(&mut head).map_err(at_path(path))?,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Found::Nothing),
        Err(error) => return Err(at_path(path)(error)),
    };
    if head.is_empty() {
        return Ok(Found::Nothing);
    }
    if head.len() < 100 || !head.starts_with(b"SQLite format 3\0") {
        return Err(StoreError::Corrupt(format!("{} is not an SQLite database", path.display())));
    }
    let number = |at: usize| i32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let found = schema::judge(number(68), number(60), known)?;
    let log = path.with_extension("db-wal");
    if found == Found::Nothing || fs::metadata(&log).is_ok_and(|log| log.len() > 0) {
        // SQLite alone can tell whether there are tables of somebody else, and whether the log has a newer header.
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        return schema::inspect(&Connection::open_with_flags(path, flags)?, known);
    }
    Ok(found)
}

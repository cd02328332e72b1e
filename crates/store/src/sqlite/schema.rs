//! The schema, as a list of migrations, and the one way to bring a file up to it.
//!
//! Invariants:
//! - a migration that was released is never edited, only followed by another;
//! - each runs in one transaction together with the version that it leads to;
//! - an existing database is copied aside, durably, before the first of them runs.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, TransactionBehavior, backup};

use super::error::at_path;
use crate::port::StoreError;

/// What says in the file that it is ours: `tlne`.
pub(super) const APPLICATION_ID: i32 = 0x746c_6e65;

/// One step from a schema to the next.
#[derive(Clone, Copy, Debug)]
pub struct Migration {
    /// The statements that lead to it.
    pub sql: &'static str,
}

/// All steps so far. The schema's version is how many were taken.
pub const MIGRATIONS: &[Migration] = &[
    Migration { sql: include_str!("v1.sql") },
    Migration { sql: include_str!("v2.sql") },
    Migration { sql: include_str!("v3.sql") },
    Migration { sql: include_str!("v4.sql") },
];

/// What a file is, before anything is done to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// There is nothing yet.
    Nothing,
    /// One of ours, at this version.
    Version(usize),
}

/// Judges what the file says of itself.
pub(super) fn judge(application_id: i32, version: i32, known: usize) -> Result<Found, StoreError> {
    let newer = || StoreError::Newer { found: version.into(), known: i64::try_from(known).unwrap_or(i64::MAX) };
    match (application_id, usize::try_from(version)) {
        (0, Ok(0)) => Ok(Found::Nothing),
        (APPLICATION_ID, Ok(version)) if version > known => Err(newer()),
        (APPLICATION_ID, Ok(version)) if version > 0 => Ok(Found::Version(version)),
        _ => Err(StoreError::Corrupt(format!(
            "not a Throughline database (application id {application_id:#x}, version {version})"
        ))),
    }
}

/// What an open connection says the file is.
pub(super) fn inspect(connection: &Connection, known: usize) -> Result<Found, StoreError> {
    let number = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    let found = judge(number("application_id")?, number("user_version")?, known)?;
    let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    match found {
        Found::Nothing if tables > 0 => Err(StoreError::Corrupt("a database of another application".into())),
        found => Ok(found),
    }
}

/// Brings the database up to the newest schema.
pub(super) fn migrate(connection: &mut Connection, home: &Path, migrations: &[Migration]) -> Result<(), StoreError> {
    let from = match inspect(connection, migrations.len())? {
        Found::Nothing => 0,
        Found::Version(version) => version,
    };
    if from > 0 && from < migrations.len() {
        let copy = copy_aside(connection, home, from)?;
        tracing::info!(from, to = migrations.len(), copy = %copy.display(), "migrating the database");
    }
    for (index, migration) in migrations.iter().enumerate().skip(from) {
        let version = index + 1;
        let step = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        step.execute_batch(migration.sql)?;
        step.pragma_update(None, "application_id", APPLICATION_ID)?;
        step.pragma_update(None, "user_version", i64::try_from(version).unwrap_or(i64::MAX))?;
        step.commit()?;
    }
    Ok(())
}

/// Copies the database into the backups folder. The copy has its final name only once it is whole and durable.
fn copy_aside(connection: &Connection, home: &Path, version: usize) -> Result<PathBuf, StoreError> {
    let folder = home.join("backups");
    fs::create_dir_all(&folder).map_err(at_path(&folder))?;
    let now: String = connection.query_row("SELECT strftime('%Y%m%dT%H%M%fZ', 'now')", [], |row| row.get(0))?;
    let name = format!("throughline-v{version}-{}.db", now.replace('.', ""));
    let (partial, whole) = (folder.join(format!("{name}.partial")), folder.join(name));
    let copied = copy_pages(connection, &partial).and_then(|()| {
        File::open(&partial).and_then(|file| file.sync_all()).map_err(at_path(&partial))?;
        fs::rename(&partial, &whole).map_err(at_path(&whole))?;
        sync_folder(&folder)?;
        sync_folder(home)
    });
    if copied.is_err() {
        // The cause is what matters; a leftover is named as one.
        let _ = fs::remove_file(&partial);
    }
    copied.map(|()| whole)
}

fn copy_pages(connection: &Connection, to: &Path) -> Result<(), StoreError> {
    let mut copy = Connection::open(to)?;
    backup::Backup::new(connection, &mut copy)?.run_to_completion(1024, Duration::ZERO, None)?;
    copy.close().map_err(|(_, error)| error.into())
}

/// Makes the names in a folder durable.
pub(super) fn sync_folder(folder: &Path) -> Result<(), StoreError> {
    File::open(folder).and_then(|file| file.sync_all()).map_err(at_path(folder))
}

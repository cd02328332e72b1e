//! What SQLite and the file system say, in the port's words.
//!
//! Each cause that a person can do something about keeps its own variant, because the hint hangs on it.

use std::io::ErrorKind;
use std::path::Path;

use rusqlite::ErrorCode;
use rusqlite::ffi;

use crate::port::StoreError;

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        let words = error.to_string();
        match error {
            rusqlite::Error::SqliteFailure(failure, _) => of_code(failure, words),
            rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::Utf8Error(..) => StoreError::Corrupt(words),
            _ => StoreError::Failed(words),
        }
    }
}

fn of_code(failure: ffi::Error, words: String) -> StoreError {
    match (failure.code, failure.extended_code) {
        // The log's index grows by a write of one byte, which fails for want of room and for little else.
        (ErrorCode::DiskFull, _) | (_, ffi::SQLITE_IOERR_SHMSIZE) => StoreError::DiskFull(words),
        (ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied, _)
        | (_, ffi::SQLITE_IOERR_ACCESS | ffi::SQLITE_IOERR_SHMOPEN) => StoreError::ReadOnly(words),
        (ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase, _) | (_, ffi::SQLITE_IOERR_CORRUPTFS) => {
            StoreError::Corrupt(words)
        }
        (ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::FileLockingProtocolFailed, _) => {
            StoreError::Busy(words)
        }
        _ => StoreError::Failed(words),
    }
}

/// What the file system said about a path.
pub(super) fn at_path(path: &Path) -> impl Fn(std::io::Error) -> StoreError {
    move |error| {
        let words = format!("{}: {error}", path.display());
        match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => StoreError::DiskFull(words),
            ErrorKind::ReadOnlyFilesystem | ErrorKind::PermissionDenied => StoreError::ReadOnly(words),
            _ => StoreError::Failed(words),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code_of(extended: i32) -> &'static str {
        StoreError::from(rusqlite::Error::SqliteFailure(ffi::Error::new(extended), None)).code()
    }

    #[test]
    fn every_cause_that_a_person_can_lift_has_its_own_code() {
        assert_eq!(code_of(ffi::SQLITE_FULL), "disk_full");
        assert_eq!(code_of(ffi::SQLITE_IOERR_SHMSIZE), "disk_full");
        assert_eq!(code_of(ffi::SQLITE_READONLY), "store_read_only");
        assert_eq!(code_of(ffi::SQLITE_READONLY_DIRECTORY), "store_read_only");
        assert_eq!(code_of(ffi::SQLITE_CANTOPEN), "store_read_only");
        assert_eq!(code_of(ffi::SQLITE_IOERR_ACCESS), "store_read_only");
        assert_eq!(code_of(ffi::SQLITE_CORRUPT), "store_corrupt");
        assert_eq!(code_of(ffi::SQLITE_NOTADB), "store_corrupt");
        assert_eq!(code_of(ffi::SQLITE_BUSY), "store_busy");
        assert_eq!(code_of(ffi::SQLITE_LOCKED), "store_busy");
        assert_eq!(code_of(ffi::SQLITE_IOERR_FSYNC), "store_failed");
        assert_eq!(code_of(ffi::SQLITE_CONSTRAINT), "store_failed");
    }

    #[test]
    fn the_file_system_speaks_the_same_words() {
        let code = |kind: ErrorKind| at_path(Path::new("/x"))(kind.into()).code();
        assert_eq!(code(ErrorKind::StorageFull), "disk_full");
        assert_eq!(code(ErrorKind::ReadOnlyFilesystem), "store_read_only");
        assert_eq!(code(ErrorKind::PermissionDenied), "store_read_only");
        assert_eq!(code(ErrorKind::NotFound), "store_failed");
    }
}

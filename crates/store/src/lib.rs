//! Durable storage: the [`port`] that the engine sees, and the embedded implementation in [`sqlite`].
//!
//! Invariants:
//! - the port knows nothing of SQLite, and whoever uses the store sees the port;
//! - what was acknowledged survives a power cut (P1), and what changes together is committed together (P2);
//! - data that cannot be read is an error that names the place, never skipped and never overwritten (P12);
//! - no clock and no randomness here but SQLite's own.

#![warn(missing_docs)]

#[cfg(feature = "conformance")]
pub mod conformance;
pub mod cursor;
pub mod port;
pub mod sqlite;

pub use cursor::{Cursor, CursorError};
pub use port::{CommitError, Store, StoreError};
pub use sqlite::{OpenOptions, SqliteStore};

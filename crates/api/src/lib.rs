//! The versioned wire types of the HTTP API, and the typed client that the CLI uses.
//!
//! **Invariant:** no logic and no model type in here. What a client sees changes only by a decision about this
//! crate, never because the record's shape did. The server converts; clients only read and write these types.
//! New fields are optional, new words of an enum are read as `unknown`: an older client keeps working.

#![warn(missing_docs)]

pub mod approval;
pub mod budget;
pub mod card;
pub mod client;
pub mod content;
pub mod daemon;
pub mod delivery;
pub mod diff;
pub mod event;
pub mod export;
pub mod gc;
pub mod identity;
pub mod import;
pub mod login;
pub mod message;
pub mod notice;
pub mod person;
pub mod policy;
pub mod problem;
pub mod project;
pub mod push;
pub mod search;
pub mod socket;
pub mod task;
pub mod timeline;
pub mod workspace;

/// Every route but the health checks and the metrics starts with it.
pub const PREFIX: &str = "/api/v1";

/// The number of this wire protocol: raised when an older client could no longer be served.
pub const PROTOCOL: u32 = 1;

/// The header that makes sending a message repeatable.
pub const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// The answer's header that says: this was received before, and this is the answer that it got then.
pub const IDEMPOTENCY_REPLAYED: &str = "idempotency-replayed";

/// The header of an answer that says where the event stream stood just before.
pub const CURSOR: &str = "throughline-cursor";

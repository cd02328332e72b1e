//! The built-in agent, driven as any client drives it: raw JSON-RPC lines with string ids.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod client;
mod process;
mod sessions;
mod turns;

//! The keeper: the small process that owns one agent's stdio and process tree, and its client.
//!
//! A keeper (`tl keep --dir DIR`) is started by the daemon and outlives it. It spools what the agent
//! says to disk, remembers every frame that was sent to the agent, answers one daemon at a time over
//! a Unix socket in its directory, and ends the whole process tree when it is told to, when the
//! agent dies, or when no daemon has come for too long.
//!
//! One directory belongs to exactly one launch:
//!
//! | file | holds |
//! | --- | --- |
//! | `spec.json` | the [`LaunchSpec`]; its environment is blanked once the agent runs |
//! | `lock` | a POSIX lock that the keeper holds while it lives |
//! | `sock` | the 0600 socket |
//! | `spool/` | the agent's stdout, in checksummed segments |
//! | `frames` | what was recorded and written to the agent's stdin |
//! | `stderr.*` | the first and the last of the agent's stderr |
//! | `cgroup` | the agent's control group, where the machine lets us make one |
//! | `tmp/` | temporary files of a confined agent that may not write to the system's folder for them |
//! | `keeper.log` | the keeper's own stderr, empty unless it panicked |
//! | `exit.json` | the [`Exit`], written once the whole tree is gone |
//!
//! *Invariant:* the keeper has one thread (a second one lives only while a confined agent is being
//! started), no async runtime, and no buffer that grows with the agent's output. *Invariant:* no byte of the agent's stdout is dropped before it was acknowledged.
//! *Invariant:* a frame id reaches the agent's stdin at most once. *Invariant:* an `exit.json` says
//! whether anything of the tree is left. The keeper does not know ACP: a frame is a line.
#![allow(clippy::disallowed_methods, reason = "this crate owns spawning, and the keeper's leases are its own clock")]

mod agent;
mod calls;
mod cgroup;
pub mod client;
mod confine;
mod conn;
mod crc;
mod ending;
mod exit;
mod frames;
mod lock;
mod output;
mod payload;
pub mod protocol;
mod run;
mod serve;
mod signals;
mod socket;
mod spec;
mod spool;
mod stderr;
mod tree;

pub use confine::{Confine, can_confine};
pub use exit::{AgentStatus, Exit, ExitReason, TreeEnd};
pub use frames::{FrameState, FramesError, frame_state, frame_states};
pub use protocol::Activity;
pub use run::{RunError, StartFailure, run};
pub use spec::{Bounds, LaunchSpec, MARKER};
pub use spool::{Frame, SpoolError, SpoolFrames};
pub use stderr::Stderr;

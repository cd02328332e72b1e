//! The only code that knows the Agent Client Protocol.
//!
//! Towards agents, as a client, it is sans-IO: [`outgoing`] builds frames, [`incoming`] reads lines, and
//! [`assembler`] turns an agent's output into [`happening`]s in the model's words. Whoever owns the connection
//! writes the frames and feeds the lines. [`demo`] is an agent on the same protocol.
//!
//! **Invariant:** the client side does no IO, reads no clock, and holds nothing that a restart would lose: an
//! answer finds its meaning in its id ([`request_id`]), and a fresh [`assembler::Assembler`] that is fed from
//! the safe mark goes on where the last one stopped.

pub mod assembler;
pub mod demo;
pub mod happening;
pub mod incoming;
pub mod lifted;
pub mod outgoing;
pub mod quirks;
pub mod request_id;

pub use assembler::{Assembler, Limits, Mark, Memory, Phase, Replay, Start};
pub use happening::Happening;
pub use outgoing::OutgoingFrame;
pub use quirks::Quirks;
pub use request_id::{AgentRequestId, Opening, RequestId};

//! Channels: how people reach Throughline from places that it does not serve itself, and how it reaches them there.
//!
//! **Invariant:** a channel knows neither the engine nor the store. What comes in goes to an [`Inbox`] and is
//! acknowledged to the platform only after the inbox has taken it; what goes out ends in one of the ways that
//! [`SendError`] names, and a failure that leaves the outcome open is never retried by the channel itself.
//!
//! Each channel is a folder. Adding one means writing its folder and naming it in the settings: CONTRIBUTING says how.

mod channel;
pub mod feishu;
pub mod http;
pub mod mask;
pub mod rich;
pub mod telegram;
mod update;

pub use channel::{
    Abilities, Button, Channel, Channels, Formatting, MessageRef, Outbound, Place, Receipt, SendError, Unit, Upload,
};
pub use update::{Inbox, NotTaken, Press, RemoteFile, Setting, Update, What};

/// Whether two secrets are the same, without telling by its time how much of one was right.
fn same(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && one.iter().zip(other).fold(0, |seen, (a, b)| seen | (a ^ b)) == 0
}

//! Channels: how people reach Throughline from places that it does not serve itself, and how it reaches them there.
//!
//! **Invariant:** a channel knows neither the engine nor the store. What comes in goes to an [`Inbox`] and is
//! acknowledged to the platform only after the inbox has taken it; what goes out ends in one of the ways that
//! [`SendError`] names, and a failure that leaves the outcome open is never retried by the channel itself.
//!
//! # Adding a channel
//!
//! A channel is a folder in `platforms` with one type that implements [`Channel`]; `telegram/` is the smaller example. The
//! folder is all there is to write: settings, pairing, the gateway, the outbox, commands, routes and the page work
//! with what it tells, and `cargo xtask tidy` sees to it that no other code knows the platform. In it:
//!
//! - **[`Manifest`]**: the name, for ever, and how `[channels.NAME]` is read. Its [`Settings`] lead to an [`Account`].
//! - **[`Abilities`] as data**: buttons, edits, threads, lengths and what they are counted in. Whoever writes for the
//!   channel asks there.
//! - **In**: [`Channel::listen`] turns what the platform tells into an [`Update`] and hands it to the [`Inbox`]. The
//!   [`Update::key`] is the same however often the platform tells of it; the sender is what the platform vouches for,
//!   never what a message says; a [`Place`] is a conversation, so a thread is one of its own. What means nothing to us
//!   means nothing (`None`), and what cannot be read is passed over, so that one odd update never holds up the next.
//!   Lost connections are the channel's own affair: it backs off and keeps the pause that the platform wants. Where
//!   the platform calls instead of being asked, [`Channel::called`] checks that it is the platform, then does the same.
//!   A platform that tells nothing twice has to be asked, after each connection, for what came since its own mark of
//!   what was read; the mark is set after the inbox has taken it. There is no other place to keep one.
//! - **Out**: [`Channel::send`] renders [`rich::Rich`] so that nothing in it can become markup, and says how it ended:
//!   [`SendError::Later`] only if the platform has not taken it, [`SendError::Dead`] if it never will,
//!   [`SendError::Unknown`] if nobody can know. It retries nothing by itself: whether what may have been done can be done
//!   again follows from [`Abilities::remembers`].
//! - **Tests**: an honest stub of the platform in `throughline-testkit`, with the platform's own rules and words, that
//!   software which we did not write is content with (`channels-check/`); then the faults against it (`tests/platforms`):
//!   too fast, server errors, an answer lost after it was done, disconnects, duplicates, wrong order, a revoked secret,
//!   clocks apart, noise.

mod call;
mod channel;
pub mod http;
pub mod mask;
pub mod platforms;
pub mod rich;
mod setup;
mod update;

pub use call::{Call, CallError};
pub use channel::{
    Abilities, Button, Channel, Formatting, MessageRef, Outbound, Place, Receipt, SendError, Unit, Upload,
};
pub use setup::{Account, Channels, Manifest, Secret, Settings};
pub use update::{Beyond, Inbox, NotTaken, Press, RemoteFile, Setting, Update, What, file_name};

/// Whether two secrets are the same, without telling by its time how much of one was right.
fn same(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && one.iter().zip(other).fold(0, |seen, (a, b)| seen | (a ^ b)) == 0
}

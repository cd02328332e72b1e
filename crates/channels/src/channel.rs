//! The trait of a channel, and what goes out through it.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;
use throughline_model::ids::DeliveryId;
use tokio_util::sync::CancellationToken;

use crate::call::{Call, CallError};
use crate::rich::Rich;
use crate::setup::Manifest;
use crate::update::{Inbox, Press, RemoteFile};

/// One platform, with one account of ours on it.
#[async_trait]
pub trait Channel: Send + Sync + 'static {
    /// Which platform it is, as its folder tells.
    fn manifest(&self) -> &'static Manifest;

    /// What can be done there.
    fn abilities(&self) -> &'static Abilities;

    /// Sends a message, or changes one that was sent.
    async fn send(&self, message: &Outbound) -> Result<Receipt, SendError>;

    /// Sends a file. A platform that takes none says so.
    async fn upload(&self, _: &Upload) -> Result<Receipt, SendError> {
        Err(SendError::Dead("files cannot be sent there".into()))
    }

    /// Tells the one who pressed a button what came of it. Platforms show it for a moment, or not at all.
    async fn acknowledge(&self, _: &Press, _words: &str) -> Result<(), SendError> {
        Ok(())
    }

    /// Shows that something is being done, where the platform can. Nothing depends on it.
    async fn typing(&self, _: &Place) {}

    /// An address that brings somebody to us with a code in hand, where the platform has one.
    async fn invitation(&self, _code: &str) -> Option<String> {
        None
    }

    /// The bytes of a file that somebody sent, at most so many.
    async fn fetch(&self, _: &RemoteFile, _max_bytes: u64) -> Result<Vec<u8>, SendError> {
        Err(SendError::Dead("files cannot be had from there".into()))
    }

    /// Hands what comes in to the inbox until it is told to stop. Bears lost connections by itself.
    async fn listen(&self, inbox: Arc<dyn Inbox>, stop: CancellationToken);

    /// Takes a call of the platform to our address, while [`Channel::listen`] goes on; gives what the platform wants to
    /// hear. A platform that is asked, or connected to, does not call.
    async fn called(&self, _: &Call) -> Result<Value, CallError> {
        Err(CallError::Unexpected)
    }
}

/// What can be done on a channel, as data: whoever writes for it asks here and nowhere else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abilities {
    /// Whether a message can have buttons.
    pub buttons: bool,
    /// Whether a message that was sent can be changed.
    pub edits: bool,
    /// Whether a place has threads of its own.
    pub threads: bool,
    /// What a message may look like.
    pub formatting: Formatting,
    /// The longest message, in letters before [`Channel::send`] renders them. Where the platform counts the marks too,
    /// leave room for them.
    pub max_length: usize,
    /// What its length is counted in.
    pub unit: Unit,
    /// Whether who presses a button sees what [`Channel::acknowledge`] says.
    pub toasts: bool,
    /// Whether [`Channel::typing`] shows anything.
    pub typing: bool,
    /// For how long the platform knows a delivery again by its id, so that sending it twice is the same as once; none if
    /// it never does.
    pub remembers: Option<Duration>,
    /// The largest file that can be fetched.
    pub max_file_bytes: u64,
    /// The largest file that can be sent.
    pub max_upload_bytes: u64,
}

/// What a message may look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Formatting {
    /// Letters only.
    Plain,
    /// Bold, code and links.
    Rich,
}

/// What the length of a message is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Pieces of UTF-16.
    Utf16,
    /// Bytes of UTF-8.
    Bytes,
}

impl Unit {
    /// How long a text is.
    #[must_use]
    pub fn len(self, text: &str) -> usize {
        match self {
            Unit::Utf16 => text.encode_utf16().count(),
            Unit::Bytes => text.len(),
        }
    }
}

/// A place on a platform: a chat, or a thread of one. Only its channel can read it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Place(pub String);

/// A message on a platform, by the platform's own name for it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MessageRef(pub String);

/// A message for one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outbound {
    /// Which delivery: with the page, the idempotency key for platforms that take one.
    pub delivery: DeliveryId,
    /// Which page of it.
    pub page: usize,
    /// Where to.
    pub place: Place,
    /// The words. Whoever writes them keeps to the channel's longest message.
    pub text: Rich,
    /// Rows of buttons under it.
    pub buttons: Vec<Vec<Button>>,
    /// The message that it takes the place of; none where [`Abilities::edits`] says that there are no changes.
    pub replaces: Option<MessageRef>,
    /// The message that it answers.
    pub answers: Option<MessageRef>,
    /// Whether it may ring.
    pub quiet: bool,
}

/// A file for one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upload {
    /// Which delivery.
    pub delivery: DeliveryId,
    /// Where to.
    pub place: Place,
    /// The message that it answers.
    pub answers: Option<MessageRef>,
    /// What it is called.
    pub name: String,
    /// What it is.
    pub mime: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// A button under a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Button {
    /// What is on it.
    pub label: String,
    /// What comes back when it is pressed: at most 64 bytes, and never a secret.
    pub token: String,
}

/// What the platform made of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// Its name there.
    pub message: MessageRef,
}

/// Why a message was not sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The platform may or may not have taken it.
    #[error("the outcome is unknown: {0}")]
    Unknown(String),
    /// The platform will never take it.
    #[error("it cannot be sent: {0}")]
    Dead(String),
    /// The platform wants it later, and has not taken it.
    #[error("it can be sent in {after_secs} s")]
    Later {
        /// In how many seconds.
        after_secs: u64,
    },
}

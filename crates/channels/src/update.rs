//! What comes in through a channel, in words that no platform owns.

use async_trait::async_trait;
use throughline_model::person::Identity;

use crate::channel::{MessageRef, Place};

/// Something that somebody did on a platform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Update {
    /// The same for every time that the platform tells of it.
    pub key: String,
    /// As the platform told it, for the record.
    pub raw: String,
    /// Where.
    pub place: Place,
    /// Among whom.
    pub setting: Setting,
    /// Who, by what the platform vouches for.
    pub sender: Identity,
    /// What they did.
    pub what: What,
}

/// Among whom something was said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// Between one person and us.
    Private,
    /// Where others read along.
    Group,
}

/// What somebody did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// They said something.
    Said {
        /// The message itself.
        message: MessageRef,
        /// Their words; those under a file count too.
        text: String,
        /// The message that they answered.
        answers: Option<MessageRef>,
        /// Files that came along.
        files: Vec<RemoteFile>,
    },
    /// They pressed a button.
    Pressed(Press),
}

/// A button that was pressed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Press {
    /// What the button carried.
    pub token: String,
    /// Under which message.
    pub under: MessageRef,
    /// By which the platform knows this press.
    pub id: String,
}

/// A file on the platform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteFile {
    /// What it is called.
    pub name: String,
    /// What it is.
    pub mime: String,
    /// Its size, where the platform says.
    pub bytes: Option<u64>,
    /// By which it is fetched.
    pub handle: String,
}

/// Where updates go.
#[async_trait]
pub trait Inbox: Send + Sync + 'static {
    /// Takes an update. When this answers `Ok`, the update and what follows from it are durable, or it was known, or
    /// it is of nobody that we know; only then may the channel acknowledge it to its platform.
    async fn take(&self, update: Update) -> Result<(), NotTaken>;
}

/// The update could not be kept; the platform must tell it again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it could not be kept: {0}")]
pub struct NotTaken(pub String);

//! Channels: how a message leaves for a place that Throughline does not serve itself.
//!
//! **Invariant:** a channel knows neither the engine nor the store. It gets an address and words, and says exactly
//! what became of them: a failure that leaves the outcome open is [`SendError::Unknown`], never a retry by itself.

use async_trait::async_trait;
use std::sync::Arc;
use throughline_model::conversation::Channel as Kind;
use throughline_model::ids::{ConversationId, DeliveryId};

/// One place to send messages to.
#[async_trait]
pub trait Channel: Send + Sync + 'static {
    /// Which channel it is.
    fn kind(&self) -> Kind;
    /// Sends one message. The delivery's id is the idempotency key, for platforms that take one.
    async fn send(&self, message: Outbound) -> Result<(), SendError>;
}

/// A message for one conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outbound {
    /// Which delivery.
    pub delivery: DeliveryId,
    /// To which conversation.
    pub conversation: ConversationId,
    /// The words.
    pub text: String,
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
    /// The platform wants it later.
    #[error("it can be sent in {after_secs} s")]
    Later {
        /// In how many seconds.
        after_secs: u64,
    },
}

/// The channels of this daemon.
#[derive(Clone, Default)]
pub struct Channels(Vec<Arc<dyn Channel>>);

impl Channels {
    /// These channels.
    #[must_use]
    pub fn new(channels: Vec<Arc<dyn Channel>>) -> Self {
        Self(channels)
    }

    /// The one for this kind, if it is set up.
    #[must_use]
    pub fn of(&self, kind: Kind) -> Option<&Arc<dyn Channel>> {
        self.0.iter().find(|channel| channel.kind() == kind)
    }
}

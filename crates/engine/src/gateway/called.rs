//! Calls: updates that a platform brings to our own address. Whether it is the platform, its channel says.

use std::sync::Arc;

use http::HeaderMap;
use serde_json::Value;
use throughline_channels::{Call, CallError, NotTaken};
use throughline_model::time::Timestamp;

use crate::engine::Engine;

impl Engine {
    /// Takes a call for the channel of this name, and gives what is to be answered.
    ///
    /// # Errors
    /// If the channel is not called, the call is not the platform's, or what it brought could not be kept.
    pub async fn called(&self, channel: &str, headers: HeaderMap, body: String) -> Result<Value, CallError> {
        let account = self.inner.channels.named(channel).ok_or(CallError::Unexpected)?;
        let platform = Arc::clone(&account.channel);
        let call = Call { headers, body, at_secs: self.now().millis_since(Timestamp::default()) / 1_000 };
        // On its own, so that a caller that hangs up does not end it half way.
        let taking = tokio::spawn(async move { platform.called(&call).await });
        taking.await.unwrap_or_else(|error| Err(NotTaken(error.to_string()).into()))
    }
}

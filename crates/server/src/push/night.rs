//! Quiet hours on devices: what was held, and the one message that sums it up when they end.
//!
//! What is held is not kept: the record has it. A daemon that starts in quiet hours takes it that every device waits, and
//! at their end says something only if something happened.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use throughline_engine::{Engine, EngineError};
use throughline_model::present::Locale;
use throughline_model::time::Timestamp;
use tokio_util::sync::CancellationToken;

use super::{Pusher, Word};
use crate::login::LoginId;

/// How often there is a look at the clock: a machine may have slept meanwhile.
const LOOK: Duration = Duration::from_secs(30);

/// Quiet hours in which something was held.
pub(super) struct Night {
    /// They began.
    pub(super) since: Timestamp,
    /// They end.
    pub(super) until: Timestamp,
    /// Which browsers would have been told.
    pub(super) waiting: HashSet<LoginId>,
}

/// Comes back when they are over; never, if there are none.
pub(super) async fn over(engine: &Engine, night: Option<&Night>) {
    let Some(night) = night else { return std::future::pending().await };
    loop {
        match night.until.millis_since(engine.now()) {
            0 => return,
            left => tokio::time::sleep(Duration::from_millis(left).min(LOOK)).await,
        }
    }
}

impl Pusher {
    /// The quiet hours that the daemon starts in.
    pub(super) async fn begun(&self) -> Option<Night> {
        let quiet = async {
            let person = self.engine.owner(self.owner).await?;
            self.engine.quiet_for(person, None).await
        };
        let (since, until) = quiet.await.unwrap_or_default()?;
        let told = self.logins.subscribers().into_iter().filter(|subscriber| !subscriber.reasons.is_none());
        Some(Night { since, until, waiting: told.map(|subscriber| subscriber.login).collect() })
    }

    /// Tells everybody who waits what happened, in one message.
    pub(super) async fn tell_of(self: &Arc<Self>, night: Option<Night>, ending: &CancellationToken) {
        let Some(night) = night else { return };
        for subscriber in self.logins.subscribers().into_iter().filter(|known| night.waiting.contains(&known.login)) {
            match self.summed_up(Locale::of(&subscriber.to.locale), night.since).await {
                Ok(Some(word)) => self.send_off(subscriber, word, ending),
                Ok(None) => {}
                Err(error) => tracing::warn!(%error, "what was held cannot be summed up"),
            }
        }
    }

    async fn summed_up(&self, locale: Locale, since: Timestamp) -> Result<Option<Word>, EngineError> {
        let person = self.engine.owner(self.owner).await?;
        let body = self.engine.summary(person, locale, since).await?;
        Ok(body.map(|body| Word {
            text: json!({ "reason": "digest", "title": locale.quiet_over(), "body": body }).to_string(),
            topic: "digest".into(),
            urgency: "normal",
        }))
    }
}

//! Webhook mode: updates are brought one at a time, in order, and again until they are taken.

use std::sync::Arc;
use std::time::Duration;

use super::state::Platform;
use crate::post::post;
use crate::watched::Watched;

/// How long until an update is brought again that was not taken.
const AGAIN: Duration = Duration::from_millis(100);

pub(super) async fn deliver(platform: Arc<Watched<Platform>>) {
    loop {
        let next = platform.until(|known| known.feed.hook.clone().zip(known.feed.pending.first().cloned()));
        let (hook, update) = next.await;
        let tunnel = platform.look().feed.tunnel.clone();
        let secret = hook.secret.unwrap_or_default();
        let headers = [("x-telegram-bot-api-secret-token", secret.as_str())];
        let taken = post(&hook.url, tunnel.as_deref(), &headers, &update.body).await;
        if taken.is_ok_and(|answer| (200..300).contains(&answer.status)) {
            platform.change(|known| known.feed.pending.retain(|pending| pending.id != update.id));
        } else {
            tokio::time::sleep(AGAIN).await;
        }
    }
}

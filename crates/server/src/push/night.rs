//! Quiet hours on devices: what was held, and the one message that sums it up when they end.
//!
//! Of what is held only the hours are kept, with the browser's login: the record has the rest. So it does not matter whether
//! the daemon was there all night. One that comes back within hours of their end sums up then; nobody is told yesterday's
//! news.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use throughline_engine::Engine;
use throughline_model::notice::Reason;
use throughline_model::present::Locale;
use throughline_model::time::Timestamp;
use tokio_util::sync::CancellationToken;

use super::{KEPT, NotTold, Pusher, Word};
use crate::login::{Night, Told};

/// How often there is a look at the clock: a machine may have slept meanwhile.
const LOOK: Duration = Duration::from_secs(30);

/// Comes back when it is morning; never, if nobody waits for it.
pub(super) async fn over(engine: &Engine, morning: Option<Timestamp>) {
    let Some(morning) = morning else { return std::future::pending().await };
    loop {
        match morning.millis_since(engine.now()) {
            0 => return,
            left => tokio::time::sleep(Duration::from_millis(left).min(LOOK)).await,
        }
    }
}

impl Pusher {
    /// The quiet hours that hold what happened then: those of that moment, else those of now.
    pub(super) async fn night(&self, reason: Reason, at: Timestamp) -> Result<Option<Night>, NotTold> {
        let person = self.engine.owner(self.owner).await?;
        for moment in [at, self.engine.now()] {
            if let Some((since, until)) = self.engine.quiet_for(person, reason, moment).await? {
                return Ok(Some(Night { since: since.min(at), until }));
            }
        }
        Ok(None)
    }

    /// Tells everybody whose quiet hours are over what happened, in one message each.
    pub(super) async fn end_nights(self: &Arc<Self>, ending: &CancellationToken) -> Result<(), NotTold> {
        let now = self.engine.now();
        self.tell_of_nights(|told| told.held.is_some_and(|night| night.until <= now), ending).await
    }

    /// The same for those who are awake, whatever the clock says.
    pub(super) async fn tell_of_nights(
        self: &Arc<Self>,
        awake: impl Fn(&Told) -> bool,
        ending: &CancellationToken,
    ) -> Result<(), NotTold> {
        let mut browsers = self.logins.subscribers();
        browsers.retain(|browser| browser.told.held.is_some() && awake(&browser.told));
        if browsers.is_empty() {
            return Ok(());
        }
        let (mut marks, mut words) = (vec![], vec![]);
        // A sum is written from the record: what is not heard yet is in it, too.
        let head = self.head().await?;
        for browser in browsers {
            let fresh = browser.told.held.filter(|night| self.engine.now() < night.until.after(KEPT));
            let word = match fresh.filter(|_| !browser.reasons.is_none()) {
                Some(night) => self.summed_up(Locale::of(&browser.to.locale), night.since).await?,
                None => None,
            };
            let upto = if word.is_some() { head } else { browser.told.upto };
            marks.push((browser.login, Told { upto, held: None }));
            words.extend(word.map(|word| (browser, word)));
        }
        self.mark(marks).await?;
        words.into_iter().for_each(|(browser, word)| self.send_off(browser, word, ending));
        Ok(())
    }

    async fn summed_up(&self, locale: Locale, since: Timestamp) -> Result<Option<Word>, NotTold> {
        let person = self.engine.owner(self.owner).await?;
        let body = self.engine.summary(person, locale, since).await?;
        Ok(body.map(|body| Word {
            text: json!({ "reason": "digest", "title": locale.quiet_over(), "body": body }).to_string(),
            topic: "digest".into(),
            urgency: "normal",
        }))
    }
}

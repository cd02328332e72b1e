//! Web push: what a person is told on a device that does not show the page. For four reasons and no other: an agent waits
//! for a yes, it asks something, its work is done, or it failed.
//!
//! A message says which task and how it stands, sealed for one browser ([`seal`]): the push service in between reads
//! nothing of it. *Invariants:* a browser that was logged out is told nothing more; a push service is called with `https`
//! only; what cannot be delivered after a few tries is let go, because the page itself shows everything.

pub(crate) mod seal;

use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use reqwest::StatusCode;
use serde_json::json;
use throughline_engine::{Clock as _, Engine, Published, SystemClock};
use throughline_model::event::{Event, Recorded};
use throughline_model::execution::Activity;
use throughline_model::present::{self, Locale};
use throughline_model::stream::StreamId;
use throughline_model::task::TaskEvent;
use throughline_model::turn::TurnOutcome;
use throughline_model::view::TaskRow;
use throughline_store::port::{Answer, Ask};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio_util::sync::CancellationToken;

use crate::login::{LoginId, Logins, Subscription};
use seal::{MAX_BYTES, Reader, Sender};

/// How long a push service keeps a message for a device that is off.
const KEPT_SECS: &str = "14400";
const PATIENCE: Duration = Duration::from_secs(20);
/// What is waited before each further try.
const PAUSES: [Duration; 3] = [Duration::from_secs(2), Duration::from_secs(15), Duration::from_secs(60)];
/// Who is written to if there is no address of ours: services ask for something that looks like one.
const NO_CONTACT: &str = "mailto:nobody@example.com";
const TITLE_CHARS: usize = 120;
const BODY_CHARS: usize = 240;

/// Where what pushing needs is kept.
#[derive(Clone, Debug)]
pub struct PushOptions {
    /// The file of the sender's key; made if it is not there.
    pub key_file: PathBuf,
    /// Certificates that a push service of one's own is trusted by, PEM.
    pub ca: Option<PathBuf>,
}

/// Why somebody is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    Approval,
    Question,
    Completed,
    Failed,
}

impl Reason {
    /// Why, if this is one of the reasons, given how the task stands after it.
    fn of(event: &TaskEvent, activity: &Activity) -> Option<Self> {
        let ended = matches!(event, TaskEvent::TurnEnded { .. });
        let by_itself = matches!(event, TaskEvent::TurnEnded { outcome: TurnOutcome::Completed { .. }, .. });
        match activity {
            Activity::WaitingApproval => matches!(event, TaskEvent::ApprovalRequested { .. }).then_some(Self::Approval),
            Activity::WaitingAnswer => ended.then_some(Self::Question),
            Activity::Resting => by_itself.then_some(Self::Completed),
            Activity::Failed { .. } | Activity::Blocked { .. } => ended.then_some(Self::Failed),
            Activity::Working | Activity::Queued { .. } => None,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Approval => "approval",
            Self::Question => "question",
            Self::Completed => "completed",
            Self::Failed => "failed",
        }
    }

    /// What waits for a person wakes a device; what is over can wait until it is awake.
    fn urgency(self) -> &'static str {
        match self {
            Self::Approval | Self::Question => "high",
            Self::Completed | Self::Failed => "normal",
        }
    }
}

/// See the file's header.
pub(crate) struct Pusher {
    engine: Engine,
    logins: Arc<Logins>,
    sender: Sender,
    client: reqwest::Client,
    contact: String,
}

impl Pusher {
    pub(crate) fn load(
        engine: Engine,
        logins: Arc<Logins>,
        options: &PushOptions,
        contact: Option<String>,
    ) -> io::Result<Self> {
        // The first to come sets it for the process; that somebody was first is fine.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut client = reqwest::Client::builder().timeout(PATIENCE).https_only(true);
        client = client.redirect(reqwest::redirect::Policy::none());
        if let Some(ca) = &options.ca {
            let trusted = reqwest::Certificate::from_pem_bundle(&std::fs::read(ca)?).map_err(io::Error::other)?;
            client = client.tls_certs_merge(trusted);
        }
        Ok(Self {
            engine,
            logins,
            sender: sender(&options.key_file)?,
            client: client.build().map_err(io::Error::other)?,
            contact: contact.unwrap_or_else(|| NO_CONTACT.into()),
        })
    }

    /// What a browser is told to let in.
    pub(crate) fn key(&self) -> String {
        self.sender.public()
    }

    /// Listens until the daemon stops.
    pub(crate) async fn run(self: Arc<Self>, mut news: Receiver<Published>, ending: CancellationToken) {
        loop {
            let heard = tokio::select! {
                heard = news.recv() => heard,
                () = ending.cancelled() => return,
            };
            match heard {
                Ok(Published::Event(recorded)) => self.hear(&recorded, &ending).await,
                Ok(Published::Live(_)) => {}
                Err(RecvError::Lagged(missed)) => tracing::warn!(missed, "push fell behind and leaves some out"),
                Err(RecvError::Closed) => return,
            }
        }
    }

    async fn hear(self: &Arc<Self>, recorded: &Recorded, ending: &CancellationToken) {
        let (StreamId::Task(task), Event::Task(event)) = (recorded.stream, &recorded.event) else { return };
        if !matches!(event, TaskEvent::TurnEnded { .. } | TaskEvent::ApprovalRequested { .. }) {
            return;
        }
        let subscribers = self.logins.subscribers();
        if subscribers.is_empty() {
            return;
        }
        let row = match self.engine.store().ask(Ask::Task(task)).await {
            Ok(Answer::Task(Some(row))) => *row,
            Ok(_) => return,
            Err(error) => return tracing::warn!(%error, "a task cannot be read to push it"),
        };
        let Some(reason) = Reason::of(event, &row.activity) else { return };
        for (login, subscription) in subscribers {
            let (pusher, row, ending) = (Arc::clone(self), row.clone(), ending.clone());
            tokio::spawn(async move {
                tokio::select! {
                    () = pusher.tell(login, &subscription, &row, reason) => {}
                    () = ending.cancelled() => {}
                }
            });
        }
    }

    /// Tells one browser, trying again for a while.
    async fn tell(&self, login: LoginId, subscription: &Subscription, row: &TaskRow, reason: Reason) {
        let message = message(Locale::of(&subscription.locale), row, reason);
        for pause in PAUSES.into_iter().map(Some).chain([None]) {
            match self.send(subscription, row, reason, &message).await {
                Ok(status) if status.is_success() => return tracing::debug!(%login, key = row.key, "pushed"),
                Ok(StatusCode::NOT_FOUND | StatusCode::GONE) => return self.forget(login, subscription).await,
                Ok(status) if status.is_client_error() && status != StatusCode::TOO_MANY_REQUESTS => {
                    return tracing::warn!(%login, %status, "a push service refuses a message");
                }
                Ok(status) => tracing::debug!(%login, %status, "a push service is not ready"),
                Err(error) => tracing::debug!(%login, %error, "a push service cannot be reached"),
            }
            let Some(pause) = pause else { break };
            tokio::time::sleep(pause).await;
            if !self.logins.subscribers().iter().any(|(known, now)| *known == login && now == subscription) {
                return;
            }
        }
        tracing::warn!(%login, key = row.key, "a message could not be pushed");
    }

    async fn send(
        &self,
        to: &Subscription,
        row: &TaskRow,
        reason: Reason,
        message: &str,
    ) -> Result<StatusCode, io::Error> {
        let broken = |what: &str| io::Error::other(what.to_owned());
        let reader = Reader::parse(&to.p256dh, &to.auth).ok_or_else(|| broken("its keys are no keys"))?;
        let body = seal::seal(&reader, message.as_bytes()).map_err(|_| broken("it cannot be sealed"))?;
        let url: reqwest::Url = to.endpoint.parse().map_err(io::Error::other)?;
        let now = SystemClock.at().millis() / 1000;
        let service = url.origin().ascii_serialization();
        let signed =
            self.sender.authorization(&service, &self.contact, now).map_err(|_| broken("it cannot be signed"))?;
        let request = self
            .client
            .post(url)
            .header("authorization", signed)
            .header("content-encoding", "aes128gcm")
            .header("ttl", KEPT_SECS)
            .header("urgency", reason.urgency())
            // A newer word about a task replaces one that the device has not seen.
            .header("topic", row.id.to_string().replace('-', ""))
            .body(body);
        let answer = request.send().await.map_err(|error| io::Error::other(error.without_url()))?;
        Ok(answer.status())
    }

    /// The browser took its word back, or is gone.
    async fn forget(&self, login: LoginId, subscription: &Subscription) {
        let (logins, gone) = (Arc::clone(&self.logins), subscription.clone());
        let forgotten = tokio::task::spawn_blocking(move || logins.unsubscribe(login, &gone)).await;
        if let Err(error) = forgotten.map_err(io::Error::other).flatten() {
            tracing::warn!(%login, %error, "a subscription cannot be forgotten");
        }
    }
}

/// What the browser is told: enough to say which task and what it needs.
fn message(locale: Locale, row: &TaskRow, reason: Reason) -> String {
    let cut = |text: &str, most: usize| text.chars().take(most).collect::<String>();
    let body = cut(&present::row_glance(locale, row), BODY_CHARS);
    let message = json!({
        "reason": reason.word(), "task": row.key, "title": cut(&row.title, TITLE_CHARS), "body": body,
    });
    let text = message.to_string();
    if text.len() <= MAX_BYTES { text } else { json!({"reason": reason.word(), "task": row.key}).to_string() }
}

/// The sender's key of this home.
fn sender(file: &Path) -> io::Result<Sender> {
    let kept = match std::fs::read(file) {
        Ok(kept) => kept,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let made = Sender::generate().map_err(|_| io::Error::other("no randomness for a key"))?;
            let fresh = file.with_extension("new");
            let mut open =
                std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&fresh)?;
            open.write_all(&made)?;
            open.sync_all()?;
            std::fs::rename(&fresh, file)?;
            made
        }
        Err(error) => return Err(error),
    };
    Sender::load(&kept).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use throughline_model::ids::{Id as _, TurnId};
    use throughline_model::turn::{StopReason, Usage};

    fn ended(outcome: TurnOutcome) -> TaskEvent {
        let turn = TurnId::from_uuid(uuid::Uuid::from_u128(1));
        TaskEvent::TurnEnded { turn, outcome, usage: Usage::default(), duration_ms: 1 }
    }

    #[test]
    fn there_are_four_reasons_and_no_other() {
        let done = ended(TurnOutcome::Completed { stop_reason: StopReason::EndTurn });
        let failed = Activity::Failed { reason: "it broke".into() };
        assert_eq!(Reason::of(&done, &Activity::Resting), Some(Reason::Completed));
        assert_eq!(Reason::of(&done, &Activity::WaitingAnswer), Some(Reason::Question));
        assert_eq!(Reason::of(&done, &failed), Some(Reason::Failed));
        assert_eq!(Reason::of(&done, &Activity::Working), None, "the next turn runs already");
        assert_eq!(Reason::of(&ended(TurnOutcome::Cancelled), &Activity::Resting), None, "they did it themselves");
        assert_eq!(Reason::of(&TaskEvent::TaskReopened {}, &failed), None, "it was told before");
    }
}

//! Web push: what a person is told on a device that does not show the page. For four reasons and no other: an agent waits
//! for a yes, it asks something, its work is done, or it failed; each browser for those of them that were chosen for it.
//! In quiet hours nothing is pushed; when they end, one message sums up what happened ([`night`]).
//!
//! A message says which task and how it stands, sealed for one browser ([`seal`]): the push service in between reads
//! nothing of it. *Invariants:* a browser that was logged out is told nothing more; a push service is called with `https`
//! only; what cannot be delivered after a few tries is let go, because the page itself shows everything.

mod night;
pub(crate) mod seal;

use std::collections::HashSet;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use reqwest::StatusCode;
use serde_json::json;
use throughline_engine::{Clock as _, Engine, EngineError, Published, SystemClock};
use throughline_model::event::Event;
use throughline_model::execution::Activity;
use throughline_model::notice::Reason;
use throughline_model::person::PersonEvent;
use throughline_model::present::{self, Locale};
use throughline_model::stream::StreamId;
use throughline_model::task::TaskEvent;
use throughline_model::turn::TurnOutcome;
use throughline_model::view::{TaskRow, WaitingFor};
use throughline_store::port::{Answer, Ask};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio_util::sync::CancellationToken;

use crate::login::{LoginId, Logins, Subscriber, Subscription};
use night::Night;
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

/// Why somebody is told of this event, given how the task stands after it; none if it is no reason.
fn reason(event: &TaskEvent, row: &TaskRow) -> Option<Reason> {
    match event {
        // What a rule decided was asked of nobody.
        TaskEvent::ApprovalRequested { approval } => {
            (!approval.ruled && row.activity == Activity::WaitingApproval).then_some(Reason::Approval)
        }
        TaskEvent::QuestionAsked { .. } | TaskEvent::BudgetReached { .. } => {
            (row.activity == Activity::WaitingAnswer).then_some(Reason::Question)
        }
        TaskEvent::TurnEnded { outcome, .. } => {
            let by_itself = matches!(outcome, TurnOutcome::Completed { .. });
            match (&row.activity, &row.waiting_for) {
                // The question about the budget is told by itself.
                (Activity::WaitingAnswer, Some(WaitingFor::Budget(_))) => None,
                (Activity::WaitingAnswer, _) => by_itself.then_some(Reason::Question),
                (Activity::Resting, _) => by_itself.then_some(Reason::Completed),
                (Activity::Failed { .. } | Activity::Blocked { .. }, _) => Some(Reason::Failed),
                (Activity::WaitingApproval | Activity::Working | Activity::Queued { .. }, _) => None,
            }
        }
        _ => None,
    }
}

/// What one browser is told.
struct Word {
    text: String,
    /// A newer word with the same topic replaces one that the device has not seen.
    topic: String,
    /// What waits for a person wakes a device; what is over can wait until it is awake.
    urgency: &'static str,
}

/// See the file's header.
pub(crate) struct Pusher {
    engine: Engine,
    /// Whose browsers they are: of this user of the system.
    owner: u32,
    logins: Arc<Logins>,
    sender: Sender,
    client: reqwest::Client,
    contact: String,
}

impl Pusher {
    pub(crate) fn load(
        engine: Engine,
        owner: u32,
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
            owner,
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
        let mut night = self.begun().await;
        loop {
            let heard = tokio::select! {
                heard = news.recv() => heard,
                () = night::over(&self.engine, night.as_ref()) => {
                    self.tell_of(night.take(), &ending).await;
                    continue;
                }
                () = ending.cancelled() => return,
            };
            match heard {
                Ok(Published::Event(recorded)) => match &recorded.event {
                    // Whoever chooses other hours is awake.
                    Event::Person(PersonEvent::QuietChosen { .. }) => self.tell_of(night.take(), &ending).await,
                    Event::Task(event) => {
                        if let Err(error) = self.hear(recorded.stream, event, &mut night, &ending).await {
                            tracing::warn!(%error, "nobody can be told by push");
                        }
                    }
                    _ => {}
                },
                Ok(Published::Live(_)) => {}
                Err(RecvError::Lagged(missed)) => tracing::warn!(missed, "push fell behind and leaves some out"),
                Err(RecvError::Closed) => return,
            }
        }
    }

    async fn hear(
        self: &Arc<Self>,
        stream: StreamId,
        event: &TaskEvent,
        night: &mut Option<Night>,
        ending: &CancellationToken,
    ) -> Result<(), EngineError> {
        let mut subscribers = self.logins.subscribers();
        let StreamId::Task(task) = stream else { return Ok(()) };
        if subscribers.is_empty() || !may_tell(event) {
            return Ok(());
        }
        let Answer::Task(Some(row)) = self.engine.store().ask(Ask::Task(task)).await? else { return Ok(()) };
        let Some(reason) = reason(event, &row) else { return Ok(()) };
        let person = self.engine.owner(self.owner).await?;
        let project = self.engine.state(StreamId::Project(row.project)).await?;
        if !project.project().is_some_and(|project| project.members.contains(&person)) {
            return Ok(());
        }
        subscribers.retain(|subscriber| subscriber.reasons.has(reason));
        if let Some((since, until)) = self.engine.quiet_for(person, Some(reason)).await? {
            let night = night.get_or_insert(Night { since, until, waiting: HashSet::new() });
            night.waiting.extend(subscribers.iter().map(|subscriber| subscriber.login));
            return Ok(());
        }
        for subscriber in subscribers {
            let word = about(Locale::of(&subscriber.to.locale), &row, reason);
            self.send_off(subscriber, word, ending);
        }
        Ok(())
    }

    /// Tells one browser, trying again for a while.
    fn send_off(self: &Arc<Self>, subscriber: Subscriber, word: Word, ending: &CancellationToken) {
        let (pusher, ending) = (Arc::clone(self), ending.clone());
        tokio::spawn(async move {
            tokio::select! {
                () = pusher.tell(subscriber.login, &subscriber.to, &word) => {}
                () = ending.cancelled() => {}
            }
        });
    }

    async fn tell(&self, login: LoginId, subscription: &Subscription, word: &Word) {
        for pause in PAUSES.into_iter().map(Some).chain([None]) {
            match self.send(subscription, word).await {
                Ok(status) if status.is_success() => return tracing::debug!(%login, topic = word.topic, "pushed"),
                Ok(StatusCode::NOT_FOUND | StatusCode::GONE) => return self.forget(login, subscription).await,
                Ok(status) if status.is_client_error() && status != StatusCode::TOO_MANY_REQUESTS => {
                    return tracing::warn!(%login, %status, "a push service refuses a message");
                }
                Ok(status) => tracing::debug!(%login, %status, "a push service is not ready"),
                Err(error) => tracing::debug!(%login, %error, "a push service cannot be reached"),
            }
            let Some(pause) = pause else { break };
            tokio::time::sleep(pause).await;
            if !self.logins.subscribers().iter().any(|known| known.login == login && known.to == *subscription) {
                return;
            }
        }
        tracing::warn!(%login, topic = word.topic, "a message could not be pushed");
    }

    async fn send(&self, to: &Subscription, word: &Word) -> Result<StatusCode, io::Error> {
        let broken = |what: &str| io::Error::other(what.to_owned());
        let reader = Reader::parse(&to.p256dh, &to.auth).ok_or_else(|| broken("its keys are no keys"))?;
        let body = seal::seal(&reader, word.text.as_bytes()).map_err(|_| broken("it cannot be sealed"))?;
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
            .header("urgency", word.urgency)
            .header("topic", &word.topic)
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

/// Events that can be a reason at all.
fn may_tell(event: &TaskEvent) -> bool {
    matches!(
        event,
        TaskEvent::TurnEnded { .. }
            | TaskEvent::ApprovalRequested { .. }
            | TaskEvent::QuestionAsked { .. }
            | TaskEvent::BudgetReached { .. }
    )
}

/// What a browser is told of a task: enough to say which one and what it needs.
fn about(locale: Locale, row: &TaskRow, reason: Reason) -> Word {
    let cut = |text: &str, most: usize| text.chars().take(most).collect::<String>();
    let body = cut(&present::row_glance(locale, row), BODY_CHARS);
    let message = json!({
        "reason": reason.word(), "task": row.key, "title": cut(&row.title, TITLE_CHARS), "body": body,
    });
    let text = message.to_string();
    let short = || json!({"reason": reason.word(), "task": row.key}).to_string();
    Word {
        text: if text.len() <= MAX_BYTES { text } else { short() },
        topic: row.id.to_string().replace('-', ""),
        urgency: if reason.asks() { "high" } else { "normal" },
    }
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
    use throughline_model::ids::{Id as _, ProjectId, TaskId, TurnId};
    use throughline_model::task::Lifecycle;
    use throughline_model::time::Timestamp;
    use throughline_model::turn::{StopReason, Usage};

    fn ended(outcome: TurnOutcome) -> TaskEvent {
        let turn = TurnId::from_uuid(uuid::Uuid::from_u128(1));
        TaskEvent::TurnEnded { turn, outcome, usage: Usage::default(), duration_ms: 1 }
    }

    fn row(activity: Activity) -> TaskRow {
        TaskRow {
            id: TaskId::from_uuid(uuid::Uuid::from_u128(2)),
            key: "shop-1".into(),
            project: ProjectId::from_uuid(uuid::Uuid::from_u128(3)),
            title: "Fix routing".into(),
            lifecycle: Lifecycle::Open,
            activity,
            agent: "demo".into(),
            last_said: String::new(),
            waiting_for: None,
            plan: None,
            executions: vec![],
            unasked_mode: None,
            updated_at: Timestamp::default(),
        }
    }

    #[test]
    fn there_are_four_reasons_and_no_other() {
        let done = ended(TurnOutcome::Completed { stop_reason: StopReason::EndTurn });
        let failed = Activity::Failed { reason: "it broke".into() };
        let why = |event: &TaskEvent, activity: &Activity| reason(event, &row(activity.clone()));
        assert_eq!(why(&done, &Activity::Resting), Some(Reason::Completed));
        assert_eq!(why(&done, &Activity::WaitingAnswer), Some(Reason::Question));
        assert_eq!(why(&done, &failed), Some(Reason::Failed));
        assert_eq!(why(&done, &Activity::Working), None, "the next turn runs already");
        assert_eq!(why(&ended(TurnOutcome::Cancelled), &Activity::Resting), None, "they did it themselves");
        assert_eq!(why(&TaskEvent::TaskReopened {}, &failed), None, "it was told before");
    }
}

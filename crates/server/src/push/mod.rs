//! Web push: what a person is told on a device that does not show the page. For four reasons and no other: an agent waits
//! for a yes, it asks something, its work is done, or it failed; each browser for those of them that were chosen for it.
//! In quiet hours nothing is pushed; when they end, one message sums up what happened ([`night`]).
//!
//! How far a browser is told is kept with its login ([`Told`]). Who missed something, because the daemon was not there or
//! because events came too fast, reads on from that mark, so no news is lost. A mark is durable *before* the message
//! leaves: whoever is told twice stops believing what rings, and whoever is told nothing still finds everything on the page.
//! So a daemon that dies between the two, or between two tries, leaves a message out.
//!
//! A message says which task and how it stands, sealed for one browser ([`seal`]): the push service in between reads
//! nothing of it. *Invariants:* a browser that was logged out is told nothing more; a push service is called with `https`
//! only; nobody is told the same twice, nor what is older than a push service would keep it; what cannot be delivered after
//! a few tries is let go.

mod night;
pub(crate) mod seal;

use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use reqwest::StatusCode;
use serde_json::json;
use throughline_engine::{Clock as _, Engine, EngineError, Published, SystemClock};
use throughline_model::event::{Event, Recorded, Seq};
use throughline_model::execution::Activity;
use throughline_model::ids::{PersonId, TaskId};
use throughline_model::notice::Reason;
use throughline_model::person::PersonEvent;
use throughline_model::present::{self, Locale};
use throughline_model::stream::StreamId;
use throughline_model::task::TaskEvent;
use throughline_model::turn::TurnOutcome;
use throughline_model::view::{TaskRow, WaitingFor};
use throughline_store::port::{Answer, Ask, Feed, StoreError};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio_util::sync::CancellationToken;

use crate::login::{LoginId, Logins, Subscriber, Subscription, Told};
use seal::{MAX_BYTES, Reader, Sender};

/// How long a push service keeps a message for a device that is off. What is older is news to nobody.
const KEPT: Duration = Duration::from_secs(4 * 60 * 60);
/// How many events are read at once.
const PAGE: usize = 256;
/// After which there is another try to read on.
const AGAIN: Duration = Duration::from_secs(30);
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
        TaskEvent::ApprovalRequested { .. } => (row.activity == Activity::WaitingApproval).then_some(Reason::Approval),
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

/// Why nobody can be told now.
#[derive(Debug, thiserror::Error)]
enum NotTold {
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("it cannot be kept who was told")]
    Mark(#[source] io::Error),
}

fn failed(done: Result<(), NotTold>) -> bool {
    if let Err(error) = &done {
        tracing::warn!(error = error as &dyn std::error::Error, "nobody can be told by push now");
    }
    done.is_err()
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
        let mut behind = true;
        loop {
            if behind {
                behind = failed(self.read_on(&ending).await);
            }
            tokio::select! {
                // Whoever is about to end marks nothing that it could no longer tell.
                biased;
                () = ending.cancelled() => return,
                () = night::over(&self.engine, self.logins.first_morning()), if !behind => {
                    behind = failed(self.end_nights(&ending).await);
                }
                heard = news.recv(), if !behind => match heard {
                    Ok(Published::Event(recorded)) => behind = failed(self.hear(&recorded, &ending).await),
                    Ok(Published::Live(_)) => {}
                    Err(RecvError::Lagged(_)) => behind = true,
                    Err(RecvError::Closed) => return,
                },
                () = tokio::time::sleep(AGAIN), if behind => {}
            }
        }
    }

    async fn head(&self) -> Result<Seq, StoreError> {
        crate::head(&self.engine).await
    }

    /// Takes in what happened since the marks.
    async fn read_on(self: &Arc<Self>, ending: &CancellationToken) -> Result<(), NotTold> {
        let head = self.head().await?;
        let mut marks: Vec<(LoginId, Told)> =
            self.logins.subscribers().iter().map(|one| (one.login, one.told)).collect();
        // Whoever has no mark in this record, because it is older than marks or newer than the record, begins here.
        marks.retain(|(_, told)| told.upto == Seq::default() || told.upto > head);
        marks.iter_mut().for_each(|(_, told)| told.upto = head);
        self.mark(marks).await?;
        let mut after = self.logins.subscribers().iter().map(|one| one.told.upto).min().unwrap_or(head);
        while after < head {
            let page = self.engine.store().read(Feed { stream: None, after, limit: PAGE }).await?;
            for recorded in &page {
                self.hear(recorded, ending).await?;
            }
            after = page.last().map_or(head, |last| last.seq);
        }
        Ok(())
    }

    /// Takes in what happened.
    async fn hear(self: &Arc<Self>, recorded: &Recorded, ending: &CancellationToken) -> Result<(), NotTold> {
        let owner = StreamId::Person(PersonId::of_os_user(self.owner));
        match (&recorded.event, recorded.stream) {
            (Event::Task(event), StreamId::Task(task)) if may_tell(event) => {
                // A machine may have slept from one night into the next.
                self.end_nights(ending).await?;
                self.hear_of(task, event, recorded, ending).await
            }
            // Whoever chooses other hours is awake.
            (Event::Person(PersonEvent::QuietChosen { .. }), stream) if stream == owner => {
                self.tell_of_nights(|told| told.upto < recorded.seq, ending).await
            }
            _ => Ok(()),
        }
    }

    /// Each browser that it is news to is told, or it is held for it.
    async fn hear_of(
        self: &Arc<Self>,
        task: TaskId,
        event: &TaskEvent,
        recorded: &Recorded,
        ending: &CancellationToken,
    ) -> Result<(), NotTold> {
        let mut browsers = self.logins.subscribers();
        browsers.retain(|browser| browser.told.upto < recorded.seq);
        if browsers.is_empty() {
            return Ok(());
        }
        let news = self.news(task, event).await?;
        let night = match &news {
            Some((_, reason)) => self.night(*reason, recorded.at).await?,
            None => None,
        };
        let wanted = |browser: &Subscriber| news.as_ref().is_some_and(|(_, reason)| browser.reasons.has(*reason));
        for browser in &mut browsers {
            let held = night.filter(|_| wanted(browser));
            browser.told = Told { upto: recorded.seq, held: browser.told.held.or(held) };
        }
        self.mark(browsers.iter().map(|browser| (browser.login, browser.told)).collect()).await?;
        browsers.retain(wanted);
        let Some((row, reason)) = news else { return Ok(()) };
        if night.is_none() && self.engine.now() < recorded.at.after(KEPT) {
            for browser in browsers {
                let word = about(Locale::of(&browser.to.locale), &row, reason);
                self.send_off(browser, word, ending);
            }
        }
        Ok(())
    }

    /// How a task stands, and why somebody is told of it after this event; nothing if nobody is.
    async fn news(&self, task: TaskId, event: &TaskEvent) -> Result<Option<(TaskRow, Reason)>, NotTold> {
        let Answer::Task(Some(row)) = self.engine.store().ask(Ask::Task(task)).await? else { return Ok(None) };
        let Some(reason) = reason(event, &row) else { return Ok(None) };
        let person = self.engine.owner(self.owner).await?;
        let project = self.engine.state(StreamId::Project(row.project)).await?;
        let member = project.project().is_some_and(|project| project.members.contains(&person));
        Ok(member.then_some((*row, reason)))
    }

    /// Durable before anything leaves.
    async fn mark(&self, marks: Vec<(LoginId, Told)>) -> Result<(), NotTold> {
        if marks.is_empty() {
            return Ok(());
        }
        let logins = Arc::clone(&self.logins);
        let marked = tokio::task::spawn_blocking(move || logins.mark(&marks)).await;
        marked.map_err(io::Error::other).flatten().map_err(NotTold::Mark)
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
            .header("ttl", KEPT.as_secs())
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
    match event {
        TaskEvent::TurnEnded { .. } | TaskEvent::QuestionAsked { .. } | TaskEvent::BudgetReached { .. } => true,
        // What a rule decided was asked of nobody.
        TaskEvent::ApprovalRequested { approval } => !approval.ruled,
        _ => false,
    }
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
    use throughline_model::ids::{Id as _, ProjectId, TurnId};
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

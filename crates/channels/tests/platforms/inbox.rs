//! An inbox that keeps what it is given and may refuse, and what the tests of both channels say and hear.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use throughline_channels::rich::Rich;
use throughline_channels::{Channel, Inbox, NotTaken, Outbound, Place, Update, What};
use throughline_model::ids::Mint;
use throughline_model::time::Timestamp;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// How long a test waits before it fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// Keeps what it is given.
#[derive(Default)]
pub(crate) struct Kept {
    taken: Mutex<Vec<Update>>,
    /// What it says to the next ones: `true` for no.
    refusals: Mutex<VecDeque<bool>>,
    /// Closed while it is slow.
    gate: tokio::sync::RwLock<()>,
    news: Notify,
}

impl Kept {
    /// Says no to the updates for which this says so, in their order, and yes to all others.
    pub(crate) fn refuses(&self, plan: &[bool]) {
        self.refusals.lock().expect("a lock").extend(plan);
    }

    /// Takes nothing until what this gives is dropped.
    pub(crate) async fn slow(&self) -> tokio::sync::RwLockWriteGuard<'_, ()> {
        self.gate.write().await
    }

    pub(crate) fn taken(&self) -> Vec<Update> {
        self.taken.lock().expect("a lock").clone()
    }

    /// What was said or pressed, once there is so much of it.
    pub(crate) async fn words(&self, count: usize) -> Vec<String> {
        let enough = async {
            loop {
                let news = self.news.notified();
                if self.taken.lock().expect("a lock").len() >= count {
                    break;
                }
                news.await;
            }
        };
        let in_time = tokio::time::timeout(PATIENCE, enough).await.is_ok();
        let words: Vec<_> = self.taken().iter().map(word).collect();
        assert!(in_time, "{count} updates do not come; what came: {words:?}");
        words
    }
}

fn word(update: &Update) -> String {
    match &update.what {
        What::Said { text, .. } => text.clone(),
        What::Pressed(press) => press.token.clone(),
        What::Beyond(beyond) => format!("{beyond:?}"),
    }
}

#[async_trait]
impl Inbox for Kept {
    async fn take(&self, update: Update) -> Result<(), NotTaken> {
        let _open = self.gate.read().await;
        if self.refusals.lock().expect("a lock").pop_front() == Some(true) {
            return Err(NotTaken("the disk is full".into()));
        }
        self.taken.lock().expect("a lock").push(update);
        self.news.notify_waiters();
        Ok(())
    }
}

/// A channel that listens, until it is stopped.
pub(crate) struct Listener {
    pub(crate) inbox: Arc<Kept>,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Listener {
    pub(crate) fn start(channel: Arc<dyn Channel>) -> Self {
        Self::into(channel, Arc::new(Kept::default()))
    }

    pub(crate) fn into(channel: Arc<dyn Channel>, inbox: Arc<Kept>) -> Self {
        let stop = CancellationToken::new();
        let (into, stopped) = (Arc::clone(&inbox), stop.clone());
        let task = tokio::spawn(async move { channel.listen(into, stopped).await });
        Self { inbox, stop, task }
    }

    pub(crate) async fn stop(self) -> Arc<Kept> {
        self.stop.cancel();
        tokio::time::timeout(PATIENCE, self.task).await.expect("it stops when it is told").expect("it does not panic");
        self.inbox
    }
}

/// A message; each has a delivery of its own.
pub(crate) fn outbound(place: &str, text: Rich) -> Outbound {
    static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
    let seed = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    Outbound {
        delivery: Mint::new(Timestamp::from_millis(1), seed.into()).id(),
        page: 0,
        place: Place(place.into()),
        text,
        buttons: vec![],
        replaces: None,
        answers: None,
        quiet: false,
    }
}

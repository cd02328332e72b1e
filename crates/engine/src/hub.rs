//! The hub: what was committed, in commit order, and live text, to whoever listens.
//!
//! Invariant: events are published after their commit, in the order of their sequence numbers, each once; where one is
//! missing, the store is read. Whoever is too slow is told so by the channel and reads on from the store; nobody is
//! waited for.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use throughline_model::event::{Recorded, Seq};
use throughline_model::ids::{ItemId, TaskId, TurnId};
use throughline_store::port::{Feed, Store};
use tokio::sync::{Notify, broadcast};
use tokio_util::sync::CancellationToken;

use crate::trace::Traces;

/// How many publications a listener may be behind.
const BACKLOG: usize = 1024;
/// How many events are read at once.
const PAGE: usize = 256;
/// The longest text that is kept for an item that is not finished; what is longer is cut from the front's end.
const LIVE_MAX_BYTES: usize = 1 << 20;

/// Something to publish.
#[derive(Clone, Debug)]
pub enum Published {
    /// A durable event.
    Event(Arc<Recorded>),
    /// Text of an item that is not finished. It has no cursor and is not kept.
    Live(Arc<LiveText>),
}

/// Text of an item that is not finished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveText {
    /// Of which task.
    pub task: TaskId,
    /// Of which item.
    pub item: ItemId,
    /// Of which turn.
    pub turn: Option<TurnId>,
    /// What of it.
    pub kind: LiveKind,
    /// The byte at which the text begins; what was shown from there on is replaced.
    pub at: u64,
    /// The text from there to the end.
    pub text: String,
}

/// What live text is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LiveKind {
    /// A message.
    Message,
    /// A thought.
    Thought,
    /// A tool's output.
    Tool,
}

/// An item that is not finished, as far as it is known.
pub type LiveItem = LiveText;

/// The place where news is published.
#[derive(Clone)]
pub struct Hub {
    inner: Arc<Inner>,
}

struct Inner {
    sender: broadcast::Sender<Published>,
    /// Rung when there is something to publish.
    news: Notify,
    /// The newest event that is known to be committed.
    committed: AtomicU64,
    /// Events that came from their commit, by place: whoever finds the next one here need not read it from the store.
    fresh: Mutex<BTreeMap<u64, Arc<Recorded>>>,
    /// Live text that waits for the events that were committed before it.
    waiting: Mutex<VecDeque<(Seq, LiveText)>>,
    live: Mutex<HashMap<TaskId, HashMap<ItemId, LiveText>>>,
}

impl Default for Hub {
    fn default() -> Self {
        let (sender, _) = broadcast::channel(BACKLOG);
        let inner = Inner {
            sender,
            news: Notify::new(),
            committed: AtomicU64::new(0),
            fresh: Mutex::default(),
            waiting: Mutex::default(),
            live: Mutex::default(),
        };
        Self { inner: Arc::new(inner) }
    }
}

impl Hub {
    /// Listens from now on.
    #[must_use]
    pub fn subscribe(&self) -> broadcast::Receiver<Published> {
        self.inner.sender.subscribe()
    }

    /// These events are in the store.
    pub(crate) fn committed(&self, events: &[Recorded]) {
        let Some(newest) = events.last() else { return };
        let mut fresh = self.fresh();
        if fresh.len() < BACKLOG {
            fresh.extend(events.iter().map(|recorded| (recorded.seq.0, Arc::new(recorded.clone()))));
        }
        drop(fresh);
        self.inner.committed.fetch_max(newest.seq.0, Ordering::SeqCst);
        self.inner.news.notify_one();
    }

    /// The event right after this place, if its commit has brought it. Commits may come home out of order.
    fn next_fresh(&self, last: Seq) -> Option<Arc<Recorded>> {
        let mut fresh = self.fresh();
        let mut later = fresh.split_off(&(last.0 + 1));
        let next = later.remove(&(last.0 + 1));
        *fresh = later;
        next
    }

    fn fresh(&self) -> std::sync::MutexGuard<'_, BTreeMap<u64, Arc<Recorded>>> {
        self.inner.fresh.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Publishes live text, after the events that were committed before it: nobody hears an answer before its question.
    pub(crate) fn live(&self, text: LiveText) {
        self.remember(&text);
        let after = Seq(self.inner.committed.load(Ordering::SeqCst));
        let mut waiting = self.inner.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        // Live text may be lost, memory may not: the item so far is kept for who comes.
        if waiting.len() < BACKLOG {
            waiting.push_back((after, text));
        }
        drop(waiting);
        self.inner.news.notify_one();
    }

    fn publish_live(&self, published: Seq) {
        let mut waiting = self.inner.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some((_, text)) = waiting.pop_front_if(|(after, _)| *after <= published) {
            // Nobody listens: nothing is lost.
            let _ = self.inner.sender.send(Published::Live(Arc::new(text)));
        }
    }

    /// What is unfinished in a task.
    #[must_use]
    pub fn so_far(&self, task: TaskId) -> Vec<LiveItem> {
        self.board().get(&task).map(|items| items.values().cloned().collect()).unwrap_or_default()
    }

    /// An item is recorded: its live text is over.
    pub(crate) fn finished(&self, task: TaskId, item: ItemId) {
        let mut board = self.board();
        if let Some(items) = board.get_mut(&task) {
            items.remove(&item);
            if items.is_empty() {
                board.remove(&task);
            }
        }
    }

    /// Nothing more will come of a task's unfinished items.
    pub(crate) fn cleared(&self, task: TaskId) {
        self.board().remove(&task);
    }

    fn remember(&self, text: &LiveText) {
        let mut board = self.board();
        let known = board.entry(text.task).or_default().entry(text.item).or_insert_with(|| LiveText {
            at: 0,
            text: String::new(),
            ..text.clone()
        });
        let at = usize::try_from(text.at).unwrap_or(usize::MAX).min(known.text.len());
        if known.text.is_char_boundary(at) && at + text.text.len() <= LIVE_MAX_BYTES {
            known.text.truncate(at);
            known.text.push_str(&text.text);
        }
    }

    fn board(&self) -> std::sync::MutexGuard<'_, HashMap<TaskId, HashMap<ItemId, LiveText>>> {
        self.inner.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Publishes what is committed, from this place on, until it is told to stop.
    pub(crate) async fn pump(self, store: Arc<dyn Store>, mut last: Seq, stop: CancellationToken) {
        let mut traces = Traces::default();
        self.inner.committed.fetch_max(last.0, Ordering::SeqCst);
        loop {
            while last.0 < self.inner.committed.load(Ordering::SeqCst) {
                if let Some(recorded) = self.next_fresh(last) {
                    last = recorded.seq;
                    traces.observe(&recorded);
                    let _ = self.inner.sender.send(Published::Event(recorded));
                    continue;
                }
                match store.read(Feed { stream: None, after: last, limit: PAGE }).await {
                    // A store may show its readers a commit a moment after it was acknowledged.
                    Ok(events) if events.is_empty() => tokio::time::sleep(Duration::from_millis(1)).await,
                    Ok(events) => {
                        for recorded in events {
                            last = recorded.seq;
                            traces.observe(&recorded);
                            let _ = self.inner.sender.send(Published::Event(Arc::new(recorded)));
                        }
                    }
                    Err(error) => {
                        tracing::error!(%error, "events cannot be read for publication");
                        tokio::select! {
                            () = tokio::time::sleep(Duration::from_secs(1)) => {}
                            () = stop.cancelled() => return,
                        }
                    }
                }
            }
            traces.drained();
            self.publish_live(last);
            tokio::select! {
                () = self.inner.news.notified() => {}
                () = stop.cancelled() => return,
            }
        }
    }
}

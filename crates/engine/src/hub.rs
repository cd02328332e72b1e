//! The hub: what was committed, in commit order, and live text, to whoever listens.
//!
//! Invariant: events are published after their commit, in the order of their sequence numbers, each once; where one is
//! missing, the store is read. Live text stands between the events that were committed before it and those that were
//! committed after it. Whoever is too slow is told so by the channel and reads on from the store; nobody is waited for.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use throughline_model::event::{Event, Recorded, Seq};
use throughline_model::ids::{ItemId, TaskId, TurnId};
use throughline_model::stream::StreamId;
use throughline_model::task::TaskEvent;
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

/// What is unfinished in a task at one moment.
#[derive(Clone, Debug)]
pub struct SoFar {
    /// The newest event that was committed then: all that came before the text. Text that is not here comes after it.
    pub after: Seq,
    /// Each from its beginning, the oldest first.
    pub items: Vec<LiveText>,
}

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
    /// What is unfinished, by task, in the order in which it began.
    live: Mutex<HashMap<TaskId, Vec<LiveText>>>,
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

    /// These events are in the store. Live text of what they finish is over at the same moment.
    pub(crate) fn committed(&self, events: &[Recorded]) {
        let Some(newest) = events.last() else { return };
        let mut fresh = self.fresh();
        if fresh.len() < BACKLOG {
            fresh.extend(events.iter().map(|recorded| (recorded.seq.0, Arc::new(recorded.clone()))));
        }
        drop(fresh);
        let mut board = self.board();
        events.iter().filter_map(finished).for_each(|(task, item)| forget(&mut board, task, item));
        self.inner.committed.fetch_max(newest.seq.0, Ordering::SeqCst);
        drop(board);
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
        let after = self.remember(&text);
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

    /// What is unfinished in a task, and where that stands among the events.
    #[must_use]
    pub fn so_far(&self, task: TaskId) -> SoFar {
        let board = self.board();
        let items = board.get(&task).cloned().unwrap_or_default();
        SoFar { after: self.newest(), items }
    }

    fn newest(&self) -> Seq {
        Seq(self.inner.committed.load(Ordering::SeqCst))
    }

    /// Nothing more will come of a task's unfinished items.
    pub(crate) fn cleared(&self, task: TaskId) {
        self.board().remove(&task);
    }

    /// Takes text in, and says which event it comes after. Both under one lock: of two that look at the board, the
    /// later one sees no older event.
    fn remember(&self, text: &LiveText) -> Seq {
        let mut board = self.board();
        let items = board.entry(text.task).or_default();
        let known = match items.iter().position(|known| known.item == text.item) {
            Some(known) => &mut items[known],
            None if text.at == 0 => items.push_mut(LiveText { text: String::new(), ..text.clone() }),
            None => return self.newest(),
        };
        let at = usize::try_from(text.at).unwrap_or(usize::MAX);
        // Where a piece is missing, the rest would stand in a wrong place: the finished item will have all of it.
        if known.text.is_char_boundary(at) && at.saturating_add(text.text.len()) <= LIVE_MAX_BYTES {
            known.text.truncate(at);
            known.text.push_str(&text.text);
        }
        self.newest()
    }

    fn board(&self) -> std::sync::MutexGuard<'_, HashMap<TaskId, Vec<LiveText>>> {
        self.inner.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Publishes what is committed, from this place on, until it is told to stop.
    pub(crate) async fn pump(self, store: Arc<dyn Store>, mut last: Seq, stop: CancellationToken) {
        let mut traces = Traces::default();
        self.inner.committed.fetch_max(last.0, Ordering::SeqCst);
        loop {
            while last < self.newest() {
                self.publish_live(last);
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
                            self.publish_live(last);
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

/// The item that an event says the last of.
fn finished(recorded: &Recorded) -> Option<(TaskId, ItemId)> {
    match (recorded.stream, &recorded.event) {
        (StreamId::Task(task), Event::Task(TaskEvent::ItemRecorded { item, .. })) => {
            item.is_finished().then_some((task, item.id))
        }
        _ => None,
    }
}

fn forget(board: &mut HashMap<TaskId, Vec<LiveText>>, task: TaskId, item: ItemId) {
    let Some(items) = board.get_mut(&task) else { return };
    items.retain(|known| known.item != item);
    if items.is_empty() {
        board.remove(&task);
    }
}

#[cfg(test)]
mod tests {
    use throughline_model::content::Text;
    use throughline_model::ids::{ExecutionId, Id as _, PersonId};
    use throughline_model::item::{Item, ItemBody};
    use throughline_model::person::PersonEvent;
    use throughline_model::time::Timestamp;
    use throughline_store::{OpenOptions, SqliteStore};
    use uuid::Uuid;

    use super::*;

    fn task() -> TaskId {
        TaskId::from_uuid(Uuid::from_u128(1))
    }

    fn event(seq: u64) -> Recorded {
        let stream = StreamId::Person(PersonId::from_uuid(Uuid::from_u128(2)));
        let event = Event::Person(PersonEvent::LocaleChosen { locale: "en".into() });
        Recorded { seq: Seq(seq), stream, version: seq, at: Timestamp::from_millis(0), event }
    }

    /// The event that ends an item.
    fn recorded(seq: u64, item: u128) -> Recorded {
        let body = ItemBody::Message { text: Text::from("first"), attachments: vec![], question: false };
        let item = Item { id: ItemId::from_uuid(Uuid::from_u128(item)), turn: None, body };
        let execution = ExecutionId::from_uuid(Uuid::from_u128(5));
        let ended = Event::Task(TaskEvent::ItemRecorded { execution, item });
        Recorded { stream: StreamId::Task(task()), event: ended, ..event(seq) }
    }

    fn text(item: u128, at: u64, text: &str) -> LiveText {
        let item = ItemId::from_uuid(Uuid::from_u128(item));
        LiveText { task: task(), item, turn: None, kind: LiveKind::Message, at, text: text.into() }
    }

    #[tokio::test]
    async fn live_text_stands_between_the_events_around_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Arc::new(SqliteStore::open(&OpenOptions::new(folder.path())).expect("a store"));
        let (hub, stop) = (Hub::default(), CancellationToken::new());
        let mut heard = hub.subscribe();
        hub.live(text(1, 0, "before"));
        hub.committed(&[event(1)]);
        hub.live(text(1, 6, ", between"));
        hub.committed(&[event(2)]);
        hub.live(text(1, 15, ", after"));
        let pump = tokio::spawn(hub.clone().pump(store, Seq(0), stop.clone()));
        let mut order = vec![];
        while order.len() < 5 {
            order.push(match heard.recv().await.expect("it is published") {
                Published::Event(recorded) => recorded.seq.0.to_string(),
                Published::Live(live) => live.text.clone(),
            });
        }
        assert_eq!(order, ["before", "1", ", between", "2", ", after"]);
        stop.cancel();
        pump.await.expect("it stops");
    }

    #[test]
    fn who_comes_in_the_middle_gets_each_item_from_its_beginning_and_where_that_stands() {
        let hub = Hub::default();
        hub.committed(&[event(1)]);
        hub.live(text(9, 0, "first"));
        hub.live(text(3, 0, "sec"));
        hub.live(text(3, 3, "ond"));
        hub.committed(&[event(2)]);
        let so_far = hub.so_far(task());
        assert_eq!(so_far.after, Seq(2));
        assert_eq!(so_far.items, [text(9, 0, "first"), text(3, 0, "second")]);
        hub.committed(&[recorded(3, 9)]);
        let so_far = hub.so_far(task());
        assert_eq!((so_far.after, &so_far.items[..]), (Seq(3), &[text(3, 0, "second")][..]));
        hub.live(text(3, 10, "a piece is missing"));
        hub.live(text(4, 7, "its beginning is missing"));
        assert_eq!(hub.so_far(task()).items, [text(3, 0, "second")]);
        hub.cleared(task());
        assert_eq!(hub.so_far(task()).items, []);
    }
}

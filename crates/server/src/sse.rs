//! One client of the event stream: catch up from the store, then follow the ring.
//!
//! Invariants (P3, P11): every durable event after the cursor once, in order, whatever the client's speed; at most one
//! page or one handful of frames is held for it. Per event and client there is one comparison and one shared buffer. What
//! of the ring is whose turn says [`crate::reader`].

use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;
use throughline_model::event::Seq;
use throughline_model::ids::TaskId;
use throughline_model::stream::StreamId;
use throughline_store::port;
use tokio::sync::{Semaphore, watch};
use tokio::time::{Interval, MissedTickBehavior};

use crate::app::Shared;
use crate::login::LoginId;
use crate::metrics::{Gauged, SSE_CLIENTS, SSE_LAGGED};
use crate::reader::{Joining, Live, Reader};
use crate::ring::Behind;

/// How many events are read from the store at once for one client.
const PAGE: usize = 128;
/// How often a line is sent when there is nothing to say, so that both ends notice a dead connection.
const BEAT: Duration = Duration::from_secs(15);
/// How many clients may read from the store at once; more would only make each other wait.
static READING: Semaphore = Semaphore::const_new(8);

/// What a client wants.
pub(crate) struct Wish {
    /// Everything after this place.
    pub(crate) after: Seq,
    /// Only of this task.
    pub(crate) task: Option<TaskId>,
    /// Whether text that is still being written comes too.
    pub(crate) live: Live,
    /// The login that lets the client in, if one does: the stream ends with it.
    pub(crate) login: Option<LoginId>,
}

/// See the file's header.
pub(crate) struct Client {
    app: Shared,
    reader: Reader,
    login: Option<LoginId>,
    phase: Phase,
    /// To be sent.
    ready: VecDeque<Bytes>,
    news: watch::Receiver<u64>,
    revoked: watch::Receiver<u64>,
    beat: Interval,
    _counted: Gauged,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Reads from the store.
    CatchUp,
    /// Reads from the ring.
    Follow,
}

/// The body of the answer: it ends when the daemon does, or the client goes.
pub(crate) fn body(app: Shared, wish: Wish) -> Body {
    Body::from_stream(stream::unfold(Client::new(app, wish), |mut client| async move {
        let bytes = client.next().await?;
        Some((Ok::<_, Infallible>(bytes), client))
    }))
}

impl Client {
    pub(crate) fn new(app: Shared, wish: Wish) -> Self {
        let mut beat = tokio::time::interval(BEAT);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        beat.reset();
        Client {
            news: app.feed.ring.watch(),
            revoked: app.logins.watch(),
            reader: Reader::new(wish.after, wish.task, wish.live),
            login: wish.login,
            phase: Phase::CatchUp,
            ready: VecDeque::from([app.feed.encoder.ready(wish.after)]),
            beat,
            _counted: Gauged::new(SSE_CLIENTS),
            app,
        }
    }

    /// The next event as it is sent; none at the end. Not to be dropped half way: what it read would be lost.
    pub(crate) async fn next(&mut self) -> Option<Bytes> {
        loop {
            if self.is_shut_out() {
                return None;
            }
            if let Some(bytes) = self.ready.pop_front() {
                return Some(bytes);
            }
            match self.phase {
                Phase::CatchUp => self.catch_up().await?,
                Phase::Follow => match self.reader.take(&self.app.feed.ring, &mut self.ready) {
                    Ok(()) if self.ready.is_empty() => self.wait().await?,
                    Ok(()) => {}
                    Err(Behind) => {
                        metrics::counter!(SSE_LAGGED).increment(1);
                        self.phase = Phase::CatchUp;
                    }
                },
            }
        }
    }

    /// One page from the store, or over to the ring; none if the store fails, and the client comes back with its cursor.
    async fn catch_up(&mut self) -> Option<()> {
        let ring = &self.app.feed.ring;
        if self.reader.enter(ring).is_ok() {
            self.phase = Phase::Follow;
            let joining = self.items_so_far().await;
            self.reader.join(joining);
            return Some(());
        }
        let covered = ring.newest();
        let stream = self.reader.task().map(StreamId::Task);
        let feed = port::Feed { stream, after: self.reader.after(), limit: PAGE };
        let _turn = READING.acquire().await.ok()?;
        let page = match self.app.engine.store().read(feed).await {
            Ok(page) => page,
            Err(error) => {
                tracing::error!(%error, "an event stream ends because the store cannot be read");
                return None;
            }
        };
        for recorded in &page {
            self.reader.skip_to(recorded.seq);
            self.ready.push_back(self.app.feed.encoder.durable(recorded).await.bytes);
        }
        // A page that is not full was the last one: nothing else of this stream came before what the ring has seen.
        if page.len() < PAGE {
            self.reader.skip_to(covered);
        }
        Some(())
    }

    /// Who watches one task gets the text that is being written, from its beginning.
    async fn items_so_far(&self) -> Option<Joining> {
        let so_far = self.app.engine.live(self.reader.joins()?);
        let mut items = Vec::with_capacity(so_far.items.len());
        for item in &so_far.items {
            items.push(self.app.feed.encoder.live(item, so_far.after).await.bytes);
        }
        Some(Joining { after: so_far.after, items })
    }

    /// Looked at between any two events, so that a login that was revoked hears nothing more.
    fn is_shut_out(&mut self) -> bool {
        self.revoked.has_changed().unwrap_or(true) && {
            self.revoked.mark_unchanged();
            self.is_revoked()
        }
    }

    fn is_revoked(&self) -> bool {
        self.login.is_some_and(|login| !self.app.logins.holds(login))
    }

    async fn wait(&mut self) -> Option<()> {
        tokio::select! {
            changed = self.news.changed() => changed.ok(),
            changed = self.revoked.changed() => changed.ok().filter(|()| !self.is_revoked()),
            _ = self.beat.tick() => {
                self.ready.push_back(Bytes::from_static(b": beat\n\n"));
                Some(())
            }
            () = self.app.ending.cancelled() => None,
        }
    }
}

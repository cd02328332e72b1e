//! The feed: one task that listens to the engine, encodes each publication once and shares it with all clients.

use std::sync::Arc;

use throughline_engine::{Engine, Published};
use throughline_model::event::Seq;
use throughline_store::port;
use tokio::sync::broadcast::{Receiver, error::RecvError};
use tokio_util::sync::CancellationToken;

use crate::encode::Encoder;
use crate::ring::{Capacity, Ring};

/// A few seconds of a busy daemon. Whoever is further behind reads from the store.
const CAPACITY: Capacity = Capacity { frames: 2048, bytes: 8 * 1024 * 1024 };
/// How many events are read at once when the feed itself fell behind.
const PAGE: usize = 256;

/// See the file's header.
#[derive(Clone)]
pub(crate) struct Feed {
    pub(crate) ring: Arc<Ring>,
    pub(crate) encoder: Arc<Encoder>,
}

impl Feed {
    /// Starts a feed of everything after this place. The receiver was made before the place was read, so that
    /// nothing falls in between.
    pub(crate) fn start(
        engine: &Engine,
        receiver: Receiver<Published>,
        head: Seq,
        incarnation: Arc<str>,
        ending: CancellationToken,
    ) -> Self {
        let encoder = Arc::new(Encoder::new(Arc::clone(engine.store()), incarnation));
        let feed = Feed { ring: Arc::new(Ring::new(CAPACITY, head)), encoder };
        let pump = Pump { feed: feed.clone(), engine: engine.clone(), last: head };
        tokio::spawn(async move {
            tokio::select! {
                () = ending.cancelled() => {}
                () = pump.run(receiver) => tracing::warn!("the engine publishes no more"),
            }
        });
        feed
    }
}

struct Pump {
    feed: Feed,
    engine: Engine,
    last: Seq,
}

impl Pump {
    async fn run(mut self, mut receiver: Receiver<Published>) {
        loop {
            match receiver.recv().await {
                Ok(Published::Event(recorded)) => self.publish(&recorded).await,
                Ok(Published::Live(live)) => {
                    let frame = self.feed.encoder.live(&live, self.last).await;
                    self.feed.ring.push(frame);
                }
                Err(RecvError::Lagged(missed)) => {
                    tracing::warn!(missed, "the feed fell behind and reads from the store");
                    self.catch_up().await;
                }
                Err(RecvError::Closed) => return,
            }
        }
    }

    async fn publish(&mut self, recorded: &throughline_model::event::Recorded) {
        if recorded.seq <= self.last {
            return;
        }
        self.last = recorded.seq;
        let frame = self.feed.encoder.durable(recorded).await;
        self.feed.ring.push(frame);
        metrics::counter!(crate::metrics::EVENTS).increment(1);
    }

    async fn catch_up(&mut self) {
        loop {
            let feed = port::Feed { stream: None, after: self.last, limit: PAGE };
            match self.engine.store().read(feed).await {
                Ok(events) => {
                    for recorded in &events {
                        self.publish(recorded).await;
                    }
                    if events.len() < PAGE {
                        return;
                    }
                }
                Err(error) => {
                    tracing::error!(%error, "events cannot be read for clients");
                    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
                }
            }
        }
    }
}

//! The queue before the writer: bounded, and taken from in groups.
//!
//! Writers that wait for an answer before they send their next batch come back all at once, a moment after they
//! were told. A writer that did not wait that moment would commit the first few alone, and pay the price of a
//! whole commit for them. So after a large group it lingers until most of it is back, but not for long.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Smaller groups are not worth lingering for.
const GROUP_MIN: usize = 8;
/// A fraction of what a commit takes.
const LINGER: Duration = Duration::from_micros(300);

/// A bounded queue of things to do together.
#[derive(Debug)]
pub(super) struct Queue<T> {
    waiting: Mutex<Waiting<T>>,
    enough: Condvar,
    room: Arc<Semaphore>,
}

#[derive(Debug)]
struct Waiting<T> {
    things: Vec<(T, OwnedSemaphorePermit)>,
    /// How many the taker waits for; it need not be woken before.
    wanted: usize,
    closed: bool,
}

impl<T> Queue<T> {
    pub(super) fn new(capacity: usize) -> Self {
        let waiting = Waiting { things: Vec::with_capacity(capacity), wanted: 1, closed: false };
        Self { waiting: Mutex::new(waiting), enough: Condvar::new(), room: Arc::new(Semaphore::new(capacity)) }
    }

    /// Puts a thing in line, when there is room. False if the queue is closed.
    pub(super) async fn put(&self, thing: T) -> bool {
        let Ok(place) = Arc::clone(&self.room).acquire_owned().await else { return false };
        let mut waiting = self.lock();
        if waiting.closed {
            return false;
        }
        waiting.things.push((thing, place));
        let wake = waiting.things.len() >= waiting.wanted;
        drop(waiting);
        if wake {
            self.enough.notify_one();
        }
        true
    }

    /// Takes all that waits into `group`, which tells by its size how many were taken the last time. Blocks until
    /// there is something. False if the queue is closed and empty.
    pub(super) fn take(&self, group: &mut Vec<T>, last: usize) -> bool {
        let mut waiting = self.lock();
        let wanted = if last < GROUP_MIN { 1 } else { last - last / 8 };
        if waiting.things.len() < wanted && wanted > 1 && !waiting.closed {
            waiting.wanted = wanted;
            let lingered = self
                .enough
                .wait_timeout_while(waiting, LINGER, |waiting| waiting.things.len() < wanted && !waiting.closed);
            waiting = lingered.unwrap_or_else(PoisonError::into_inner).0;
        }
        waiting.wanted = 1;
        waiting = self
            .enough
            .wait_while(waiting, |waiting| waiting.things.is_empty() && !waiting.closed)
            .unwrap_or_else(PoisonError::into_inner);
        // While the group is at work nobody need wake the taker.
        waiting.wanted = usize::MAX;
        group.extend(waiting.things.drain(..).map(|(thing, _)| thing));
        !group.is_empty()
    }

    /// Lets nothing in any more. What is in line is still taken.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.room.close();
        self.enough.notify_one();
    }

    /// Drops what is in line.
    pub(super) fn clear(&self) {
        self.lock().things.clear();
    }

    fn lock(&self) -> MutexGuard<'_, Waiting<T>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

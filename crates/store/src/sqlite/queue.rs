//! The queue before the writer: bounded, and taken from in groups.
//!
//! Writers that wait for an answer before they send their next batch come back all at once, a moment after they
//! were told. A writer that did not wait that moment would commit the first few alone, and pay the price of a
//! whole commit for them. So after a large group it lingers until most of it is back, but not for long.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Fewer are not worth lingering for.
const GROUP_MIN: usize = 8;
/// A fraction of what a commit takes.
const LINGER: Duration = Duration::from_micros(500);
/// After lingering in vain, so many groups are taken as they come.
const PATIENCE: usize = 16;

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
    /// How many groups to take as they come.
    in_vain: usize,
    closed: bool,
}

impl<T> Queue<T> {
    pub(super) fn new(capacity: usize) -> Self {
        let waiting = Waiting { things: Vec::with_capacity(capacity), wanted: 1, in_vain: 0, closed: false };
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

    /// Takes all that waits into `group`; `told` is how many were just told what became of theirs, and so may come
    /// back. Blocks until there is something. False if the queue is closed and empty.
    pub(super) fn take(&self, group: &mut Vec<T>, told: usize) -> bool {
        let mut waiting = self.lock();
        let all = waiting.things.len() + told;
        if told > 0 && all >= GROUP_MIN && waiting.in_vain == 0 && !waiting.closed {
            waiting = self.linger(waiting, all - all / 8);
        } else {
            waiting.in_vain = waiting.in_vain.saturating_sub(1);
        }
        waiting.wanted = 1;
        let nothing = |waiting: &mut Waiting<T>| waiting.things.is_empty() && !waiting.closed;
        waiting = self.enough.wait_while(waiting, nothing).unwrap_or_else(PoisonError::into_inner);
        // While the group is at work nobody need wake the taker.
        waiting.wanted = usize::MAX;
        group.extend(waiting.things.drain(..).map(|(thing, _)| thing));
        !group.is_empty()
    }

    fn linger<'q>(&'q self, mut waiting: MutexGuard<'q, Waiting<T>>, wanted: usize) -> MutexGuard<'q, Waiting<T>> {
        waiting.wanted = wanted;
        let too_few = |waiting: &mut Waiting<T>| waiting.things.len() < wanted && !waiting.closed;
        let lingered = self.enough.wait_timeout_while(waiting, LINGER, too_few);
        let (mut waiting, lingered) = lingered.unwrap_or_else(PoisonError::into_inner);
        if lingered.timed_out() {
            waiting.in_vain = PATIENCE;
        }
        waiting
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    fn poll<F: Future>(future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
        future.poll(&mut Context::from_waker(Waker::noop()))
    }

    #[tokio::test]
    async fn all_that_waits_is_taken_in_order() {
        let (queue, mut group) = (Queue::new(8), vec![]);
        for nr in 1..=3 {
            assert!(queue.put(nr).await);
        }
        assert!(queue.take(&mut group, 0));
        assert_eq!(group, [1, 2, 3]);
    }

    #[tokio::test]
    async fn who_finds_it_full_waits_for_room() {
        let (queue, mut group) = (Queue::new(2), vec![]);
        assert!(queue.put(1).await && queue.put(2).await);
        let mut third = pin!(queue.put(3));
        assert!(poll(third.as_mut()).is_pending());
        assert!(queue.take(&mut group, 0));
        assert_eq!(poll(third.as_mut()), Poll::Ready(true));
    }

    #[tokio::test]
    async fn a_closed_queue_is_emptied_but_not_filled() {
        let (queue, mut group) = (Queue::new(2), vec![]);
        assert!(queue.put(1).await && queue.put(2).await);
        let mut third = pin!(queue.put(3));
        assert!(poll(third.as_mut()).is_pending());
        queue.close();
        assert_eq!(poll(third.as_mut()), Poll::Ready(false));
        assert!(queue.take(&mut group, 64), "no lingering for those who cannot come");
        assert_eq!(std::mem::take(&mut group), [1, 2]);
        assert!(!queue.take(&mut group, 2));
    }

    #[tokio::test]
    async fn lingering_in_vain_ends() {
        let (queue, mut group) = (Queue::new(16), vec![]);
        assert!(queue.put(1).await);
        assert!(queue.take(&mut group, 64));
        assert_eq!(group, [1]);
    }
}

//! The ring: the newest frames of the event stream, shared by all clients.
//!
//! Invariants: bounded in frames and in bytes, whoever reads or does not; a frame's bytes are made once and shared;
//! who falls out of the ring is told so, and reads on from the store.

use std::collections::VecDeque;
use std::sync::{PoisonError, RwLock};

use bytes::Bytes;
use throughline_model::event::Seq;
use throughline_model::ids::TaskId;
use tokio::sync::watch;

/// What travels to clients.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    /// The event's place; of live text, the place of the event before it.
    pub(crate) seq: Seq,
    /// Whether it is durable.
    pub(crate) sort: Sort,
    /// The task that it belongs to.
    pub(crate) task: Option<TaskId>,
    /// As it is sent.
    pub(crate) bytes: Bytes,
}

/// Whether a frame can be read again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sort {
    /// A durable event: it is in the store.
    Durable,
    /// Live text: it was here once.
    Live,
}

/// How much a ring holds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Capacity {
    pub(crate) frames: usize,
    pub(crate) bytes: usize,
}

/// See the file's header.
pub(crate) struct Ring {
    inner: RwLock<Inner>,
    capacity: Capacity,
    /// The number of the next frame: changes with every push.
    end: watch::Sender<u64>,
}

struct Inner {
    frames: VecDeque<Frame>,
    /// The number of the first frame in the ring.
    first: u64,
    bytes: usize,
    /// Every durable event after it is in the ring.
    floor: Seq,
}

/// The reader was too slow, or came too late.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Behind;

impl Ring {
    /// An empty ring for everything after this place.
    pub(crate) fn new(capacity: Capacity, floor: Seq) -> Self {
        let inner = Inner { frames: VecDeque::new(), first: 0, bytes: 0, floor };
        Ring { inner: RwLock::new(inner), capacity, end: watch::Sender::new(0) }
    }

    pub(crate) fn push(&self, frame: Frame) {
        let mut inner = self.inner.write().unwrap_or_else(PoisonError::into_inner);
        inner.bytes += frame.bytes.len();
        inner.frames.push_back(frame);
        while inner.frames.len() > self.capacity.frames || (inner.bytes > self.capacity.bytes && inner.frames.len() > 1)
        {
            if let Some(old) = inner.frames.pop_front() {
                inner.first += 1;
                inner.bytes -= old.bytes.len();
                inner.floor = inner.floor.max(old.seq);
            }
        }
        let end = inner.first + inner.frames.len() as u64;
        drop(inner);
        self.end.send_replace(end);
    }

    /// The number of the next frame.
    pub(crate) fn end(&self) -> u64 {
        *self.end.borrow()
    }

    /// The place of the newest frame that was ever in the ring.
    pub(crate) fn newest(&self) -> Seq {
        let inner = self.inner.read().unwrap_or_else(PoisonError::into_inner);
        inner.frames.back().map_or(inner.floor, |frame| frame.seq.max(inner.floor))
    }

    /// Told whenever a frame comes.
    pub(crate) fn watch(&self) -> watch::Receiver<u64> {
        self.end.subscribe()
    }

    /// The number from which on everything after this place is in the ring.
    pub(crate) fn after(&self, seq: Seq) -> Result<u64, Behind> {
        let inner = self.inner.read().unwrap_or_else(PoisonError::into_inner);
        if seq < inner.floor {
            return Err(Behind);
        }
        // Places never go down, so the frames are in order of them.
        let seen = inner.frames.partition_point(|frame| frame.seq <= seq);
        Ok(inner.first + seen as u64)
    }

    /// Moves frames from this number on into `out`, at most so many; the answer is the number to go on with.
    pub(crate) fn read(&self, from: u64, most: usize, out: &mut VecDeque<Frame>) -> Result<u64, Behind> {
        let inner = self.inner.read().unwrap_or_else(PoisonError::into_inner);
        let Some(skip) = from.checked_sub(inner.first) else { return Err(Behind) };
        let skip = usize::try_from(skip).unwrap_or(usize::MAX).min(inner.frames.len());
        let upto = inner.frames.len().min(skip.saturating_add(most));
        out.extend(inner.frames.range(skip..upto).cloned());
        Ok(inner.first + upto as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(seq: u64, sort: Sort, len: usize) -> Frame {
        Frame { seq: Seq(seq), sort, task: None, bytes: Bytes::from(vec![b'x'; len]) }
    }

    fn ring(frames: usize, bytes: usize) -> Ring {
        Ring::new(Capacity { frames, bytes }, Seq(10))
    }

    fn seqs(ring: &Ring, from: u64, most: usize) -> Result<(Vec<u64>, u64), Behind> {
        let mut out = VecDeque::new();
        let next = ring.read(from, most, &mut out)?;
        Ok((out.iter().map(|frame| frame.seq.0).collect(), next))
    }

    #[test]
    fn who_keeps_up_reads_everything_once() {
        let ring = ring(4, 1000);
        let mut next = ring.end();
        for seq in 11..30 {
            ring.push(frame(seq, Sort::Durable, 1));
            let (got, on) = seqs(&ring, next, 10).unwrap();
            assert_eq!(got, [seq]);
            next = on;
        }
    }

    #[test]
    fn who_falls_out_is_told() {
        let ring = ring(4, 1000);
        for seq in 11..20 {
            ring.push(frame(seq, Sort::Durable, 1));
        }
        assert_eq!(seqs(&ring, 0, 10), Err(Behind));
        assert_eq!(ring.after(Seq(14)), Err(Behind));
        let from = ring.after(Seq(15)).unwrap();
        assert_eq!(seqs(&ring, from, 2).unwrap().0, [16, 17]);
        assert_eq!(ring.after(Seq(19)).unwrap(), ring.end());
    }

    #[test]
    fn an_empty_ring_covers_what_comes_after_its_floor() {
        let ring = ring(4, 1000);
        assert_eq!(ring.after(Seq(10)), Ok(0));
        assert_eq!(ring.after(Seq(9)), Err(Behind));
    }

    #[test]
    fn bytes_are_bounded_too() {
        let ring = ring(100, 50);
        for seq in 11..31 {
            ring.push(frame(seq, Sort::Durable, 20));
        }
        assert_eq!(ring.after(Seq(27)), Err(Behind));
        assert!(ring.after(Seq(28)).is_ok());
        ring.push(frame(31, Sort::Durable, 500));
        let from = ring.after(Seq(30)).unwrap();
        assert_eq!(seqs(&ring, from, 9).unwrap().0, [31]);
    }

    #[test]
    fn live_text_stands_behind_the_event_before_it() {
        let ring = ring(10, 1000);
        ring.push(frame(11, Sort::Durable, 1));
        ring.push(frame(11, Sort::Live, 1));
        ring.push(frame(12, Sort::Durable, 1));
        let from = ring.after(Seq(11)).unwrap();
        assert_eq!(seqs(&ring, from, 9).unwrap().0, [12]);
    }
}

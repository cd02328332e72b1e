//! One client's way through the ring: which frames it gets, and in which order. Does no IO.
//!
//! Invariants (P3): each durable event after the client's place once, in order; live text after the events that came before
//! it, and so also the text that was being written when the client came.

use std::collections::VecDeque;

use bytes::Bytes;
use throughline_model::event::Seq;
use throughline_model::ids::TaskId;

use crate::ring::{Behind, Frame, Ring, Sort};

/// How many frames are taken from the ring at once.
const HANDFUL: usize = 64;

/// Whether live text is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Live {
    With,
    Without,
}

/// See the file's header.
#[derive(Debug)]
pub(crate) struct Reader {
    /// Everything of this task; of all of them if none is named.
    task: Option<TaskId>,
    live: Live,
    /// What came until here was taken.
    after: Seq,
    /// The ring's number to go on with.
    next: u64,
    /// Live text before this number in the ring is in the items so far.
    live_from: u64,
    joining: Option<Joining>,
    taken: VecDeque<Frame>,
}

/// The text that was being written when a client came, as it is sent, and the event that it comes after. Live text that
/// stands before that event in the ring is part of it.
#[derive(Debug)]
pub(crate) struct Joining {
    pub(crate) after: Seq,
    pub(crate) items: Vec<Bytes>,
}

impl Reader {
    /// Who has everything until this place.
    pub(crate) fn new(after: Seq, task: Option<TaskId>, live: Live) -> Self {
        Self { task, live, after, next: 0, live_from: 0, joining: None, taken: VecDeque::new() }
    }

    /// The task whose live text is wanted from its beginning.
    pub(crate) fn joins(&self) -> Option<TaskId> {
        self.task.filter(|_| self.live == Live::With)
    }

    pub(crate) fn task(&self) -> Option<TaskId> {
        self.task
    }

    pub(crate) fn after(&self) -> Seq {
        self.after
    }

    /// What came until here was taken elsewhere.
    pub(crate) fn skip_to(&mut self, place: Seq) {
        self.after = self.after.max(place);
    }

    /// Reads from the ring from now on, if it holds everything that is missing. The text that is being written is looked
    /// up after this: what the ring has of it is in there.
    pub(crate) fn enter(&mut self, ring: &Ring) -> Result<(), Behind> {
        self.next = ring.after(self.after)?;
        self.live_from = ring.end();
        Ok(())
    }

    /// Gives the text that is being written when its turn comes.
    pub(crate) fn join(&mut self, joining: Option<Joining>) {
        self.joining = joining;
    }

    /// The next handful of what is wanted; nothing if there is nothing new.
    pub(crate) fn take(&mut self, ring: &Ring, ready: &mut VecDeque<Bytes>) -> Result<(), Behind> {
        loop {
            self.give_items(ready);
            let from = self.next;
            let mut taken = std::mem::take(&mut self.taken);
            self.next = ring.read(from, HANDFUL, &mut taken)?;
            for (number, frame) in (from..).zip(taken.drain(..)) {
                let wanted = self.wants(number, &frame);
                self.skip_to(frame.seq);
                if wanted {
                    ready.push_back(frame.bytes);
                }
                self.give_items(ready);
            }
            self.taken = taken;
            if !ready.is_empty() || self.next == from {
                return Ok(());
            }
        }
    }

    fn wants(&self, number: u64, frame: &Frame) -> bool {
        let mine = self.task.is_none() || self.task == frame.task;
        mine && match frame.sort {
            Sort::Durable => frame.seq > self.after,
            Sort::Live => {
                let fresh = number >= self.live_from && frame.seq >= self.after;
                self.live == Live::With && fresh && self.joining.is_none()
            }
        }
    }

    /// As soon as all that came before it was taken.
    fn give_items(&mut self, ready: &mut VecDeque<Bytes>) {
        let due = self.joining.take_if(|joining| joining.after <= self.after);
        ready.extend(due.into_iter().flat_map(|joining| joining.items));
    }
}

#[cfg(test)]
mod tests {
    use throughline_model::ids::Id as _;

    use super::*;
    use crate::ring::Capacity;

    fn task() -> TaskId {
        TaskId::from_uuid(uuid::Uuid::from_u128(1))
    }

    /// A ring that holds what comes after the tenth event.
    fn ring() -> Ring {
        Ring::new(Capacity { frames: 1000, bytes: 100_000 }, Seq(10))
    }

    fn push(ring: &Ring, seq: u64, sort: Sort, text: &'static str) {
        ring.push(Frame { seq: Seq(seq), sort, task: Some(task()), bytes: Bytes::from_static(text.as_bytes()) });
    }

    fn reader(ring: &Ring, after: u64, live: Live) -> Reader {
        let mut reader = Reader::new(Seq(after), Some(task()), live);
        reader.enter(ring).unwrap();
        reader
    }

    fn items(after: u64, text: &'static str) -> Option<Joining> {
        Some(Joining { after: Seq(after), items: vec![Bytes::from_static(text.as_bytes())] })
    }

    fn taken(reader: &mut Reader, ring: &Ring) -> Vec<String> {
        let mut ready = VecDeque::new();
        reader.take(ring, &mut ready).unwrap();
        ready.iter().map(|bytes| String::from_utf8(bytes.to_vec()).unwrap()).collect()
    }

    #[test]
    fn text_that_is_being_written_comes_after_events_that_the_ring_has_not_got_yet() {
        let ring = ring();
        push(&ring, 11, Sort::Durable, "tool begins");
        let mut reader = reader(&ring, 10, Live::With);
        // The agent is further than the ring: the tool has ended, and it speaks.
        reader.join(items(12, "done, now"));
        assert_eq!(taken(&mut reader, &ring), ["tool begins"]);
        assert_eq!(taken(&mut reader, &ring), [""; 0]);
        push(&ring, 12, Sort::Durable, "tool ended");
        push(&ring, 12, Sort::Live, " I go on");
        assert_eq!(taken(&mut reader, &ring), ["tool ended", "done, now", " I go on"]);
    }

    #[test]
    fn who_has_everything_gets_the_text_at_once_and_each_piece_after_it() {
        let ring = ring();
        push(&ring, 11, Sort::Durable, "asked");
        push(&ring, 11, Sort::Live, "on");
        let mut reader = reader(&ring, 11, Live::With);
        reader.join(items(11, "one "));
        push(&ring, 11, Sort::Live, "two");
        assert_eq!(taken(&mut reader, &ring), ["one ", "two"]);
    }

    #[test]
    fn a_piece_that_the_text_so_far_has_is_not_given_before_it() {
        let ring = ring();
        let mut reader = reader(&ring, 10, Live::With);
        reader.join(items(12, "one two"));
        push(&ring, 11, Sort::Durable, "asked");
        push(&ring, 11, Sort::Live, "one ");
        push(&ring, 12, Sort::Durable, "plan");
        assert_eq!(taken(&mut reader, &ring), ["asked", "plan", "one two"]);
    }

    #[test]
    fn who_is_ahead_of_the_ring_gets_nothing_that_came_before() {
        let ring = ring();
        let mut reader = reader(&ring, 12, Live::With);
        reader.join(Some(Joining { after: Seq(12), items: vec![] }));
        push(&ring, 11, Sort::Live, "the end of what is recorded");
        push(&ring, 12, Sort::Durable, "recorded");
        push(&ring, 12, Sort::Live, "the next");
        assert_eq!(taken(&mut reader, &ring), ["the next"]);
    }

    #[test]
    fn what_is_of_others_moves_the_place_and_is_not_given() {
        let ring = ring();
        let mut reader = reader(&ring, 10, Live::With);
        reader.join(items(11, "text"));
        ring.push(Frame { seq: Seq(11), sort: Sort::Durable, task: None, bytes: Bytes::from_static(b"elsewhere") });
        assert_eq!(taken(&mut reader, &ring), ["text"]);
        assert_eq!(reader.after(), Seq(11));
    }

    #[test]
    fn who_wants_no_live_text_gets_none() {
        let ring = ring();
        let mut reader = reader(&ring, 10, Live::Without);
        assert_eq!(reader.joins(), None);
        push(&ring, 11, Sort::Durable, "asked");
        push(&ring, 11, Sort::Live, "text");
        assert_eq!(taken(&mut reader, &ring), ["asked"]);
    }
}

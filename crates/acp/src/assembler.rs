//! Turns an agent's output, line by line, into [`Happening`]s. A state machine without IO, clock or chance.
//!
//! - Updates are upserts, whatever their order. A message or thought is recorded once, when it is finished; a
//!   tool call when it appears and whenever anything but its output changes; output grows live and is
//!   recorded with the status that ends the call, or at the end of the turn.
//! - Nothing is dropped: a line that means nothing to this version becomes a note. Nothing is fatal but a
//!   frame over the bound and more than a hundred lines that are not JSON.
//! - Ids of items follow from the agent's ids, or else from the epoch and the spool offset. The same spool,
//!   read again, gives the same ids.
//!
//! Reading again: [`Mark::safe`] is the offset from which a fresh assembler has to be fed, and [`Mark::seen`]
//! the offset up to which all happenings were committed. In between it only rebuilds its state and says
//! nothing, except for replies, which are safe to repeat, and for requests, as [`Happening::AskedBefore`]. So commit the mark with the happenings of a frame,
//! and each of them is committed exactly once.
//!
//! What it will not do: keep requests in mind (the id of an answer says what it answers), decide anything, or
//! hold back the end of a turn. A safe mark never lies before the turn that runs: whatever is open is
//! recorded when a turn begins or ends.

mod answers;
mod calls;
mod ledger;
mod messages;
mod patch;
mod permission;
mod question;
mod settings;
mod updates;

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use throughline_model::ids::{Id as _, ItemId, RuntimeSessionId, TurnId};
use throughline_model::item::{Item, ItemBody, Note, NoteKind};

use crate::happening::{EndReason, Happening, Live, LiveKind, Reason};
use crate::incoming::{self, Incoming};
use crate::outgoing::{self, OutgoingFrame};
use crate::quirks::Quirks;
use crate::request_id::{AgentRequestId, Opening};
use calls::{Calls, Form};
use ledger::Ledger;
use messages::OpenMessage;

/// Where a runtime session's process is, as far as the meaning of its output goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Not open yet. What comes now from a session with a past is a replay.
    Opening(Opening),
    /// Open, and this process had no prompt yet. Some agents replay only now.
    Opened(Opening),
    /// A prompt was sent and not answered.
    Turn(TurnId),
    /// Between turns.
    Idle,
}

impl Phase {
    fn turn(self) -> Option<TurnId> {
        match self {
            Phase::Turn(turn) => Some(turn),
            Phase::Opening(_) | Phase::Opened(_) | Phase::Idle => None,
        }
    }
}

/// What becomes of a past that the agent tells again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Replay {
    /// It is in the record already.
    #[default]
    Drop,
    /// It is news: the session was begun elsewhere and is being imported.
    Keep,
}

/// What bounds a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// A longer line ends the stream.
    pub frame_bytes: u64,
    /// A longer message goes on as another one.
    pub text_bytes: usize,
    /// One more line that is not JSON ends the stream.
    pub not_json_lines: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { frame_bytes: 64 << 20, text_bytes: 8 << 20, not_json_lines: 100 }
    }
}

/// How far a spool was read. Committed together with the happenings that were read up to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// A fresh assembler is fed from here; what lies before may be trimmed.
    pub safe: u64,
    /// What happened up to here was told.
    pub seen: u64,
    /// How many lines up to here were not JSON.
    #[serde(default)]
    pub not_json: u32,
}

/// What the record holds already. All of it may be left out, at the price that is named.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    /// Ids of items of earlier turns and epochs. Left out (`None`): whatever an agent sends between resuming a
    /// session and the first prompt counts as a replay, and an agent that uses an id twice overwrites.
    pub earlier: Option<HashSet<ItemId>>,
    /// The items of the turn that runs, as last recorded. Left out: a late update of a tool call that ended
    /// before the safe mark replaces the item by what the update alone says.
    pub current: Vec<Item>,
}

/// What an assembler begins with.
#[derive(Clone, Debug)]
pub struct Start {
    /// The runtime session, under which ids of items are derived.
    pub session: RuntimeSessionId,
    /// The process, under which ids from offsets are derived.
    pub epoch: u64,
    /// Where the process is.
    pub phase: Phase,
    /// The agent's id of the session, once it is known. Updates of other sessions become notes.
    pub native: Option<String>,
    /// How far the spool was read.
    pub mark: Mark,
    /// What the record holds already.
    pub memory: Memory,
    /// What becomes of replays.
    pub replay: Replay,
    /// How the agent departs from the protocol.
    pub quirks: Quirks,
    /// What bounds the stream.
    pub limits: Limits,
}

impl Start {
    /// A beginning with an empty spool and an empty record.
    #[must_use]
    pub fn new(session: RuntimeSessionId, epoch: u64, phase: Phase) -> Self {
        Self {
            session,
            epoch,
            phase,
            native: None,
            mark: Mark::default(),
            memory: Memory::default(),
            replay: Replay::default(),
            quirks: Quirks::default(),
            limits: Limits::default(),
        }
    }
}

/// The state machine. See the head of this file.
#[derive(Debug)]
pub struct Assembler {
    session: RuntimeSessionId,
    epoch: u64,
    phase: Phase,
    native: Option<String>,
    replay: Replay,
    quirks: Quirks,
    limits: Limits,
    ledger: Ledger,
    message: Option<OpenMessage>,
    calls: Calls,
    position: Position,
    out: Vec<Happening>,
}

#[derive(Debug)]
struct Position {
    /// Where the line in hand begins.
    line: u64,
    /// Where the last line ended.
    end: u64,
    /// Up to here happenings were told by an earlier assembler.
    seen: u64,
    not_json: u32,
    ended: bool,
}

impl Assembler {
    /// Begins, or begins again at a mark.
    #[must_use]
    pub fn new(start: Start) -> Self {
        let Start { session, epoch, phase, native, mark, memory, replay, quirks, limits } = start;
        Self {
            session,
            epoch,
            phase,
            native,
            replay,
            quirks,
            limits,
            ledger: Ledger::new(memory.earlier, &memory.current),
            message: None,
            calls: Calls::from_record(memory.current, phase.turn()),
            position: Position {
                line: mark.safe,
                end: mark.safe,
                seen: mark.seen,
                not_json: mark.not_json,
                ended: false,
            },
            out: Vec::new(),
        }
    }

    /// Takes one line and where it stands in the spool; `end` is where the next one begins.
    pub fn feed(&mut self, start: u64, end: u64, line: &[u8]) -> Vec<Happening> {
        self.position.line = start;
        if self.position.ended {
            self.out.push(Happening::Passed(Reason::AfterEnd));
        } else if line.len() as u64 > self.limits.frame_bytes {
            self.end_with(EndReason::Oversized { bytes: line.len() as u64, allowed: self.limits.frame_bytes });
        } else {
            self.take(incoming::parse(line));
        }
        self.position.end = self.position.end.max(end);
        self.calls.settle(self.mark().safe);
        let mut told = std::mem::take(&mut self.out);
        if self.repeating(end) {
            told = told.into_iter().filter_map(again).collect();
        }
        told
    }

    /// A line came that is over the keeper's bound and was therefore not kept.
    pub fn feed_oversized(&mut self, start: u64, end: u64, bytes: u64) -> Vec<Happening> {
        self.position.line = start;
        self.position.end = self.position.end.max(end);
        self.end_with(EndReason::Oversized { bytes, allowed: self.limits.frame_bytes });
        std::mem::take(&mut self.out)
    }

    /// The session is about to be opened in another way than was said at first.
    pub fn opening(&mut self, opening: Opening) {
        self.phase = Phase::Opening(opening);
    }

    /// A prompt is about to be written: what comes from now on belongs to its turn. What was open before is
    /// recorded. Commit the mark with the turn's start.
    pub fn begin_turn(&mut self, turn: TurnId) -> Vec<Happening> {
        if self.phase != Phase::Turn(turn) {
            self.finish_all();
            self.phase = Phase::Turn(turn);
        }
        std::mem::take(&mut self.out)
    }

    /// No more will come of the turn that runs, if one does: the process died, or the turn was given up.
    /// Whatever is open is recorded as it stands.
    pub fn finish(&mut self) -> Vec<Happening> {
        self.finish_all();
        if matches!(self.phase, Phase::Turn(_)) {
            self.phase = Phase::Idle;
        }
        std::mem::take(&mut self.out)
    }

    /// How far the spool was read.
    #[must_use]
    pub fn mark(&self) -> Mark {
        let open = self.message.as_ref().map(|message| message.start);
        let safe = self.calls.safe(open.unwrap_or(self.position.end));
        let seen = self.position.seen.max(self.position.end);
        Mark { safe, seen, not_json: self.position.not_json }
    }

    /// The offset from which a fresh assembler would have to be fed. Same as [`Mark::safe`].
    #[must_use]
    pub fn safe_mark(&self) -> u64 {
        self.mark().safe
    }

    /// Where the process is.
    #[must_use]
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// What is unfinished, whole: for someone who begins to watch in the middle.
    #[must_use]
    pub fn so_far(&self) -> Vec<Live> {
        let message = self.message.as_ref().and_then(OpenMessage::so_far);
        message.into_iter().chain(self.calls.so_far()).collect()
    }

    fn take(&mut self, incoming: Incoming) {
        match incoming {
            Incoming::Blank => {}
            Incoming::Response { id, outcome } => self.answered(id, outcome),
            Incoming::Request { id, method, params } if method == "session/request_permission" => {
                self.asked(&id, &params);
            }
            Incoming::Request { id, method, params } if method == "elicitation/create" => {
                self.questioned(&id, &params);
            }
            Incoming::Request { id, method, params } => {
                self.note(NoteKind::Refused, format!("{method} {params}"));
                self.reply(|at| outgoing::refuse(at, &id, &method));
            }
            Incoming::Notification { method, params } => self.notified(&method, &params),
            Incoming::Stray { text } => self.note(NoteKind::UnknownUpdate, text),
            Incoming::NotJson { text } => self.not_json(text),
        }
    }

    fn notified(&mut self, method: &str, params: &RawValue) {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Withdrawn<'a> {
            #[serde(borrow)]
            request_id: &'a RawValue,
        }
        match method {
            "session/update" => self.updated(params),
            "$/cancel_request" => {
                let withdrawn = serde_json::from_str::<Withdrawn<'_>>(params.get()).ok();
                match withdrawn.and_then(|params| AgentRequestId::from_raw(params.request_id)) {
                    Some(request) => self.out.push(Happening::PermissionWithdrawn(request)),
                    None => self.note(NoteKind::UnknownUpdate, format!("{method} {params}")),
                }
            }
            // The protocol sets these names aside for extensions, and has them ignored by whoever knows none.
            _ if method.starts_with('_') => self.out.push(Happening::Passed(Reason::Private)),
            _ => self.note(NoteKind::UnknownUpdate, format!("{method} {params}")),
        }
    }

    fn not_json(&mut self, text: String) {
        self.note(NoteKind::NotJson, text);
        if self.position.line >= self.position.seen {
            self.position.not_json += 1;
        }
        let allowed = self.limits.not_json_lines;
        if self.position.not_json > allowed {
            self.end_with(EndReason::NotJson { allowed });
        }
    }

    fn end_with(&mut self, reason: EndReason) {
        self.finish_all();
        self.position.ended = true;
        self.out.push(Happening::Ended(reason));
    }

    /// Records whatever is open, as it stands.
    fn finish_all(&mut self) {
        self.finish_message();
        for item in self.calls.release() {
            self.record(item);
        }
    }

    fn record(&mut self, item: Item) {
        self.ledger.add(item.id);
        self.out.push(Happening::Recorded(item));
    }

    /// Keeps what has no shape of its own.
    fn note(&mut self, about: NoteKind, text: String) {
        let id = self.id_here("note");
        let body = ItemBody::Note(Note { about, text: text.into() });
        self.record(Item { id, turn: self.turn(), body });
    }

    /// Answers the line in hand.
    fn reply(&mut self, frame: impl FnOnce(u64) -> OutgoingFrame) {
        let at = self.position.line;
        self.out.push(Happening::Reply { at, frame: frame(at) });
    }

    fn live(&mut self, item: ItemId, kind: LiveKind, at: usize, text: String) {
        self.out.push(Happening::Live(Live { item, turn: self.turn(), kind, at, text }));
    }

    fn turn(&self) -> Option<TurnId> {
        self.phase.turn()
    }

    fn repeating(&self, end: u64) -> bool {
        end <= self.position.seen
    }

    /// Whether what comes now is the session's past. Before the first prompt of a process, what has an id that
    /// the record does not know is news; what has none cannot be told from the past.
    fn is_replay(&self, id: Option<ItemId>) -> bool {
        match self.phase {
            Phase::Opening(opening) => opening.has_history(),
            Phase::Opened(opening) => opening.has_history() && id.is_none_or(|id| self.ledger.was_earlier(id)),
            Phase::Turn(_) | Phase::Idle => false,
        }
    }

    /// Passes over a replay, unless replays are wanted; true if it did.
    fn passes_replay(&mut self, id: Option<ItemId>) -> bool {
        let passes = self.replay == Replay::Drop && self.is_replay(id);
        if passes {
            self.out.push(Happening::Passed(Reason::Replay));
        }
        passes
    }

    /// The id of something that the agent has named.
    fn id_of(&self, kind: &str, name: &str) -> ItemId {
        ItemId::derive(self.session.uuid(), &format!("{kind}:{name}"))
    }

    /// The id of something that begins with the line in hand and has no (usable) name.
    fn id_here(&self, kind: &str) -> ItemId {
        ItemId::derive(self.session.uuid(), &format!("{kind}@{}:{}", self.epoch, self.position.line))
    }

    /// A tool call's line finishes the message in hand, unless it is an update and the message has an id to go
    /// on under. It must not matter whether the call is known: after a restart, more is known than was then.
    fn finish_message_for(&mut self, form: Form) {
        let goes_on = form == Form::Updated && self.message.as_ref().is_some_and(|open| open.name.is_some());
        if !goes_on {
            self.finish_message();
        }
    }
}

/// What is left of a happening that was told before.
fn again(happening: Happening) -> Option<Happening> {
    match happening {
        reply @ Happening::Reply { .. } => Some(reply),
        told => told.wanted().map(Happening::AskedBefore),
    }
}

//! One connection of a daemon, without blocking.
//!
//! *Invariant:* at most one request that is not whole is held, its payload on disk if it is large.
//! *Invariant:* requests are read only while few replies are waiting to go out.

use std::io::{self, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::event::PollFlags;

use crate::payload::Payload;
use crate::protocol::{Answer, Prefix, Refusal, Reply, Request, encode_head};

const HANDSHAKE: Duration = Duration::from_secs(5);
/// Two replies with data; a client that does not read its answers may ask no more.
const MAX_OUTGOING_BYTES: usize = 2 * crate::protocol::MAX_DATA_BYTES;

/// A connection for as long as the keeper lives; never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ConnId(pub(crate) u64);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Until then it has to attach.
    Handshake {
        until: Instant,
    },
    Attached,
    /// Closed as soon as the last reply is out.
    Leaving {
        until: Instant,
    },
}

/// A request for bytes that are not there yet.
#[derive(Clone, Copy)]
pub(crate) struct ParkedRead {
    pub(crate) seq: u64,
    pub(crate) from: u64,
}

pub(crate) struct Conn {
    pub(crate) id: ConnId,
    pub(crate) standing: Standing,
    pub(crate) parked: Option<ParkedRead>,
    pub(crate) stream: UnixStream,
    /// The head of the message that is coming in.
    head: Vec<u8>,
    body: Option<Body>,
    outgoing: Vec<u8>,
    sent: usize,
}

/// A whole request.
pub(crate) struct Incoming {
    pub(crate) seq: u64,
    pub(crate) asked: Asked,
}

pub(crate) enum Asked {
    Call(Request, Payload),
    /// Something that this version cannot read, but can answer.
    Unknown,
    /// Its payload could not be held.
    Unheld(io::Error),
}

/// The message whose payload is coming in.
struct Body {
    message: Incoming,
    missing: usize,
}

/// The connection is over.
pub(crate) struct Closed;

impl Conn {
    pub(crate) fn new(id: ConnId, stream: UnixStream, now: Instant) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        Ok(Self {
            id,
            standing: Standing::Handshake { until: now + HANDSHAKE },
            parked: None,
            stream,
            head: Vec::new(),
            body: None,
            outgoing: Vec::new(),
            sent: 0,
        })
    }

    pub(crate) fn is_attached(&self) -> bool {
        self.standing == Standing::Attached
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        match self.standing {
            Standing::Handshake { until } | Standing::Leaving { until } => Some(until),
            Standing::Attached => None,
        }
    }

    pub(crate) fn interest(&self) -> PollFlags {
        let mut flags = PollFlags::empty();
        if !self.is_flushed() {
            flags |= PollFlags::OUT;
        }
        if self.outgoing.len() - self.sent < MAX_OUTGOING_BYTES {
            flags |= PollFlags::IN;
        }
        flags
    }

    pub(crate) fn is_flushed(&self) -> bool {
        self.sent == self.outgoing.len()
    }

    pub(crate) fn leave(&mut self, now: Instant) {
        self.parked = None;
        if !matches!(self.standing, Standing::Leaving { .. }) {
            let until = now + HANDSHAKE;
            self.standing = Standing::Leaving { until };
        }
    }

    /// One read, and every message that is whole after it.
    pub(crate) fn receive(&mut self, scratch: &mut [u8], max_frame_bytes: u64) -> Result<Vec<Incoming>, Closed> {
        let count = match self.stream.read(scratch) {
            Ok(0) => return Err(Closed),
            Ok(count) => count,
            Err(error) if is_passing(&error) => return Ok(Vec::new()),
            Err(_) => return Err(Closed),
        };
        let mut bytes = &scratch[..count];
        let mut messages = Vec::new();
        while !bytes.is_empty() {
            messages.extend(self.take_in(&mut bytes, max_frame_bytes)?);
        }
        Ok(messages)
    }

    /// Takes in as much as belongs to one message.
    fn take_in(&mut self, bytes: &mut &[u8], max_frame_bytes: u64) -> Result<Option<Incoming>, Closed> {
        if self.body.is_none() {
            // One byte over the bound for the newline; what is longer is not even received.
            let limit = max_frame_bytes + 1;
            let prefix = Prefix::peek(&self.head, limit).map_err(|_| Closed)?;
            let wanted = prefix.map_or(Prefix::BYTES, Prefix::head_len);
            self.head.extend_from_slice(split(bytes, wanted - self.head.len()));
            let Some(prefix) = prefix.filter(|prefix| prefix.head_len() == self.head.len()) else {
                return Ok(None);
            };
            let message = parse(prefix.json(&self.head))?;
            let missing = prefix.payload;
            self.head = Vec::new();
            self.body = Some(Body { message, missing });
        }
        let Some(body) = &mut self.body else {
            return Ok(None);
        };
        let part = split(bytes, body.missing);
        body.missing -= part.len();
        if let Asked::Call(_, payload) = &mut body.message.asked
            && let Err(error) = payload.append(part)
        {
            body.message.asked = Asked::Unheld(error);
        }
        match body.missing {
            0 => Ok(self.body.take().map(|body| body.message)),
            _ => Ok(None),
        }
    }

    pub(crate) fn reply(&mut self, seq: u64, reply: Reply) {
        self.reply_with(seq, reply, &[]);
    }

    pub(crate) fn refuse(&mut self, seq: u64, refusal: Refusal) {
        self.reply(seq, Reply::Refused { refusal });
    }

    pub(crate) fn reply_with(&mut self, seq: u64, reply: Reply, payload: &[u8]) {
        // Replies are small and made here; one that cannot be encoded cannot be sent either.
        if let Ok(head) = encode_head(&Answer { seq, reply }, payload.len()) {
            self.outgoing.extend_from_slice(&head);
            self.outgoing.extend_from_slice(payload);
        }
    }

    pub(crate) fn flush(&mut self) -> Result<(), Closed> {
        while !self.is_flushed() {
            match self.stream.write(&self.outgoing[self.sent..]) {
                Ok(0) => return Err(Closed),
                Ok(count) => self.sent += count,
                Err(error) if is_passing(&error) => return Ok(()),
                Err(_) => return Err(Closed),
            }
        }
        self.outgoing.clear();
        self.sent = 0;
        Ok(())
    }
}

fn split<'a>(bytes: &mut &'a [u8], at_most: usize) -> &'a [u8] {
    let (now, later) = bytes.split_at(bytes.len().min(at_most));
    *bytes = later;
    now
}

fn parse(json: &[u8]) -> Result<Incoming, Closed> {
    #[derive(serde::Deserialize)]
    struct Numbered {
        seq: u64,
    }
    let Numbered { seq } = serde_json::from_slice(json).map_err(|_| Closed)?;
    let asked = match serde_json::from_slice::<Request>(json) {
        Ok(request) => Asked::Call(request, Payload::default()),
        Err(_) => Asked::Unknown,
    };
    Ok(Incoming { seq, asked })
}

/// Not an error: ask again when poll says so.
pub(crate) fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

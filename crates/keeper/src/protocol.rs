//! What daemon and keeper say to each other.
//!
//! A message is `json length (u32 LE) · payload length (u32 LE) · json · payload`: frames travel as
//! raw bytes. Every request has a sequence number and gets exactly one reply with the same number.
//! The stream is *pulled*: the daemon asks for bytes from an offset, and the keeper answers as soon
//! as there are any. So a slow daemon costs the keeper nothing, and an answer never waits behind data.
//!
//! Fields that a newer peer adds are ignored. The layout above and `attach` stay as they are for
//! ever, so that any two versions can at least refuse each other by name.

use serde::{Deserialize, Serialize};

use crate::exit::Exit;

/// The protocol that this build speaks.
pub const PROTOCOL: u32 = 1;
/// The oldest protocol that this build still speaks.
pub const OLDEST_PROTOCOL: u32 = 1;

/// The most stream bytes in one reply.
pub const MAX_DATA_BYTES: usize = 64 << 10;
/// The longest frame id.
pub const MAX_FRAME_ID_BYTES: usize = 256;

const MAX_JSON_BYTES: usize = 64 << 10;

/// From the daemon.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Request {
    pub seq: u64,
    pub call: Call,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Call {
    /// Must come first. `fence` is the daemon's generation: a lower one than was ever seen is
    /// refused, any other displaces the daemon that is attached.
    Attach { protocol: u32, oldest: u32, fence: u64 },
    /// Bytes of the stream from this offset, or how it ended.
    Read { from: u64 },
    /// The payload is one frame for the agent's stdin.
    Write { id: String },
    /// Everything before the offset is durable elsewhere and may be trimmed.
    Ack { offset: u64 },
    /// Which lease counts when no daemon is attached.
    Activity { activity: Activity },
    /// End the tree.
    Stop { grace_ms: u64 },
}

/// Whether a turn runs.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Activity {
    Busy,
    Idle,
}

/// From the keeper. `seq` 0 answers nothing: it is an announcement.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Answer {
    pub seq: u64,
    pub reply: Reply,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    Attached {
        protocol: u32,
        agent_pid: i32,
        max_frame_bytes: u64,
    },
    /// The payload is the stream from this offset.
    Data {
        offset: u64,
    },
    /// There is nothing more, and there never will be.
    Exited {
        exit: Exit,
    },
    /// The whole frame is in the agent's stdin.
    Written,
    /// A frame with this id was written before; this one was not.
    Duplicate,
    Done,
    /// A newer daemon took over; the connection closes.
    Displaced {
        fence: u64,
    },
    Refused {
        refusal: Refusal,
    },
}

/// Why a keeper says no.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, thiserror::Error)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Refusal {
    #[error("the keeper speaks protocol {keeper_oldest} to {keeper}, the daemon {daemon_oldest} to {daemon}")]
    UnsupportedProtocol { keeper: u32, keeper_oldest: u32, daemon: u32, daemon_oldest: u32 },
    #[error("daemon generation {offered} is older than {highest}, which was already attached")]
    StaleFence { offered: u64, highest: u64 },
    #[error("the connection is not attached")]
    NotAttached,
    #[error("the agent takes no more input")]
    AgentGone,
    #[error("the frame is longer than {limit_bytes} bytes")]
    FrameTooLong { limit_bytes: u64 },
    #[error("a frame is one line, and its id is 1 to 256 bytes without control characters")]
    MalformedFrame,
    #[error("the agent does not read its input, and too much is waiting for it")]
    Backlog,
    #[error("the frame was not sent, because it could not be recorded: {message}")]
    NotRecorded { message: String },
    #[error("the spool begins at {first}; what was before is trimmed")]
    Trimmed { first: u64 },
    #[error("the spool ends at {end}")]
    BeyondEnd { end: u64 },
    #[error("the spool cannot be read: {message}")]
    SpoolUnreadable { message: String },
    #[error("the keeper does not know this request")]
    UnknownCall,
    /// Sent by a newer keeper.
    #[error("the keeper refused for a reason that this version does not know")]
    #[serde(other)]
    Unrecognised,
}

/// The bytes on the wire are not a message; the connection is of no more use.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    #[error("a message of {json} + {payload} bytes is over the limit")]
    TooLong { json: usize, payload: usize },
    #[error("a message is not what the protocol says")]
    Malformed(#[source] serde_json::Error),
}

/// What every message begins with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prefix {
    pub(crate) json: usize,
    pub(crate) payload: usize,
}

impl Prefix {
    pub(crate) const BYTES: usize = 8;

    /// `None` until the buffer holds a whole one.
    pub(crate) fn peek(buffer: &[u8], max_payload: u64) -> Result<Option<Self>, WireError> {
        let Some([a, b, c, d, e, f, g, h]) = buffer.first_chunk::<{ Self::BYTES }>() else {
            return Ok(None);
        };
        let json = u32::from_le_bytes([*a, *b, *c, *d]) as usize;
        let payload = u32::from_le_bytes([*e, *f, *g, *h]) as usize;
        if json > MAX_JSON_BYTES || payload as u64 > max_payload {
            return Err(WireError::TooLong { json, payload });
        }
        Ok(Some(Self { json, payload }))
    }

    /// The length of everything before the payload.
    pub(crate) fn head_len(self) -> usize {
        Self::BYTES + self.json
    }

    pub(crate) fn len(self) -> usize {
        self.head_len() + self.payload
    }

    pub(crate) fn json(self, message: &[u8]) -> &[u8] {
        &message[Self::BYTES..self.head_len()]
    }

    pub(crate) fn payload(self, message: &[u8]) -> &[u8] {
        &message[self.head_len()..self.len()]
    }
}

/// Everything of a message but its payload, which follows.
pub(crate) fn encode_head<T: Serialize>(message: &T, payload: usize) -> Result<Vec<u8>, WireError> {
    let mut head = vec![0; Prefix::BYTES];
    serde_json::to_writer(&mut head, message).map_err(WireError::Malformed)?;
    let json = head.len() - Prefix::BYTES;
    let (Ok(json_len), Ok(payload_len)) = (u32::try_from(json), u32::try_from(payload)) else {
        return Err(WireError::TooLong { json, payload });
    };
    head[..4].copy_from_slice(&json_len.to_le_bytes());
    head[4..Prefix::BYTES].copy_from_slice(&payload_len.to_le_bytes());
    Ok(head)
}

/// A frame id is a word for logs and for one line of the frames log.
pub(crate) fn valid_frame_id(id: &str) -> bool {
    (1..=MAX_FRAME_ID_BYTES).contains(&id.len()) && !id.chars().any(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::{Answer, Call, Prefix, Refusal, Reply, Request, encode_head};

    #[test]
    fn a_message_is_what_its_prefix_says() {
        let request = Request { seq: 7, call: Call::Write { id: "open".into() } };
        let mut wire = encode_head(&request, 3).unwrap();
        wire.extend_from_slice(b"abc");
        assert!(Prefix::peek(&wire[..7], 10).unwrap().is_none());
        let prefix = Prefix::peek(&wire, 10).unwrap().unwrap();
        assert_eq!(prefix.len(), wire.len());
        assert_eq!(prefix.payload(&wire), b"abc");
        let back: Request = serde_json::from_slice(prefix.json(&wire)).unwrap();
        assert_eq!(back.seq, 7);
        assert!(Prefix::peek(&wire, 2).is_err());
    }

    #[test]
    fn what_a_newer_keeper_adds_is_ignored() {
        let text = r#"{"seq":1,"since":2,"reply":{"refused":{"refusal":{"kind":"too_tired","x":1}}}}"#;
        let answer: Answer = serde_json::from_str(text).unwrap();
        let Reply::Refused { refusal } = answer.reply else {
            panic!("{answer:?}");
        };
        assert_eq!(refusal, Refusal::Unrecognised);
    }
}

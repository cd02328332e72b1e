//! Frames of the long connection: a small protobuf envelope, in which a large payload may come in several pieces.

use std::collections::VecDeque;

use prost::Message;

/// A frame that asks whether the other side is there.
const CONTROL: i32 = 0;
/// A frame that carries an event.
const DATA: i32 = 1;
/// How many payloads may be in pieces at once; the oldest goes first.
const MAX_PARTIAL: usize = 16;
/// The most pieces of one payload.
const MAX_PIECES: usize = 64;
/// The largest payload.
const MAX_BYTES: usize = 8 << 20;

#[derive(Clone, PartialEq, Message)]
pub(super) struct Header {
    #[prost(string, required, tag = "1")]
    pub(super) key: String,
    #[prost(string, required, tag = "2")]
    pub(super) value: String,
}

/// The envelope. Its first four fields are always written, also when they are zero.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Frame {
    #[prost(uint64, required, tag = "1")]
    pub(super) seq_id: u64,
    #[prost(uint64, required, tag = "2")]
    pub(super) log_id: u64,
    #[prost(int32, required, tag = "3")]
    pub(super) service: i32,
    #[prost(int32, required, tag = "4")]
    pub(super) method: i32,
    #[prost(message, repeated, tag = "5")]
    pub(super) headers: Vec<Header>,
    #[prost(string, optional, tag = "6")]
    pub(super) payload_encoding: Option<String>,
    #[prost(string, optional, tag = "7")]
    pub(super) payload_type: Option<String>,
    #[prost(bytes = "vec", optional, tag = "8")]
    pub(super) payload: Option<Vec<u8>>,
    #[prost(string, optional, tag = "9")]
    pub(super) log_id_new: Option<String>,
}

impl Frame {
    /// Asks whether the other side is there.
    pub(super) fn ping(service: i32) -> Self {
        let headers = vec![Header { key: "type".into(), value: "ping".into() }];
        Frame { service, method: CONTROL, headers, ..Frame::default() }
    }

    /// Whether it carries an event or a press of a button.
    pub(super) fn is_event(&self) -> bool {
        self.method == DATA && matches!(self.header("type"), Some("event" | "card"))
    }

    /// The answer to it: the same envelope, with how it went.
    pub(super) fn answer(mut self, code: u16) -> Self {
        self.payload = Some(format!(r#"{{"code":{code}}}"#).into_bytes());
        self.headers.push(Header { key: "biz_rt".into(), value: "0".into() });
        self
    }

    pub(super) fn header(&self, key: &str) -> Option<&str> {
        self.headers.iter().find(|header| header.key == key).map(|header| header.value.as_str())
    }

    fn number(&self, key: &str) -> usize {
        self.header(key).and_then(|value| value.parse().ok()).unwrap_or_default()
    }
}

/// Payloads that came in part.
#[derive(Default)]
pub(super) struct Pieces {
    partial: VecDeque<Partial>,
}

struct Partial {
    id: String,
    pieces: Vec<Option<Vec<u8>>>,
}

impl Pieces {
    /// The whole payload, once all its pieces are here.
    pub(super) fn add(&mut self, frame: &Frame) -> Option<Vec<u8>> {
        let piece = frame.payload.clone().unwrap_or_default();
        let (sum, seq) = (frame.number("sum"), frame.number("seq"));
        if sum <= 1 {
            return Some(piece);
        }
        if sum > MAX_PIECES || seq >= sum {
            return None;
        }
        let id = frame.header("message_id").unwrap_or_default();
        let known = self.partial.iter().position(|partial| partial.id == id && partial.pieces.len() == sum);
        let mut partial = match known.and_then(|at| self.partial.remove(at)) {
            Some(partial) => partial,
            None => Partial { id: id.to_owned(), pieces: vec![None; sum] },
        };
        partial.pieces[seq] = Some(piece);
        let bytes: usize = partial.pieces.iter().flatten().map(Vec::len).sum();
        if bytes > MAX_BYTES {
            return None;
        }
        if partial.pieces.iter().all(Option::is_some) {
            return Some(partial.pieces.into_iter().flatten().flatten().collect());
        }
        self.partial.push_back(partial);
        if self.partial.len() > MAX_PARTIAL {
            self.partial.pop_front();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use throughline_testkit::noise::{Noise, amount};

    fn piece(id: &str, sum: usize, seq: usize, payload: &[u8]) -> Frame {
        let header = |key: &str, value: String| Header { key: key.into(), value };
        let headers = vec![
            header("type", "event".into()),
            header("message_id", id.into()),
            header("sum", sum.to_string()),
            header("seq", seq.to_string()),
        ];
        Frame { method: DATA, headers, payload: Some(payload.to_vec()), ..Frame::default() }
    }

    #[test]
    fn pieces_come_in_any_order() {
        let mut pieces = Pieces::default();
        assert_eq!(pieces.add(&piece("a", 3, 2, b"!")), None);
        assert_eq!(pieces.add(&piece("b", 2, 0, b"x")), None);
        assert_eq!(pieces.add(&piece("a", 3, 0, b"hel")), None);
        assert_eq!(pieces.add(&piece("a", 3, 1, b"lo")).as_deref(), Some(&b"hello!"[..]));
        assert_eq!(pieces.add(&piece("c", 1, 0, b"whole")).as_deref(), Some(&b"whole"[..]));
    }

    #[test]
    fn what_cannot_be_is_left_out() {
        let mut pieces = Pieces::default();
        assert_eq!(pieces.add(&piece("a", 3, 3, b"")), None);
        assert_eq!(pieces.add(&piece("a", 1_000_000, 0, b"")), None);
        for n in 0..100 {
            assert_eq!(pieces.add(&piece(&n.to_string(), 2, 0, b"x")), None);
        }
        assert_eq!(pieces.partial.len(), MAX_PARTIAL);
    }

    #[test]
    fn frames_never_panic_and_what_is_kept_is_bounded() {
        let seeds: Vec<_> = [piece("a", 3, 1, b"payload"), piece("b", 1, 0, b"{}"), Frame::ping(7)]
            .iter()
            .map(Frame::encode_to_vec)
            .collect();
        let (mut noise, mut pieces, mut read) = (Noise::new(5), Pieces::default(), 0);
        for _ in 0..amount() {
            let seed = noise.one_of(&seeds).clone();
            let Ok(frame) = Frame::decode(&noise.bytes(&seed)[..]) else { continue };
            read += 1;
            if frame.is_event() && pieces.add(&frame).is_some() {
                assert_eq!(Frame::decode(&frame.clone().answer(200).encode_to_vec()[..]), Ok(frame.answer(200)));
            }
            assert!(pieces.partial.len() <= MAX_PARTIAL);
        }
        assert!(read > amount() / 10, "{read} of {} are frames", amount());
    }

    #[test]
    fn zeros_are_written_too() {
        let bytes = Frame::ping(0).encode_to_vec();
        assert_eq!(&bytes[..8], &[0x08, 0, 0x10, 0, 0x18, 0, 0x20, 0]);
    }
}

//! Frames of the long connection (`pbbp2` in the platform's own SDKs).

use prost::Message;

#[derive(Clone, PartialEq, Message)]
pub(super) struct Header {
    #[prost(string, required, tag = "1")]
    pub(super) key: String,
    #[prost(string, required, tag = "2")]
    pub(super) value: String,
}

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

/// Asks whether the other side is there, or says so.
pub(super) const CONTROL: i32 = 0;
/// Carries an event, or what became of it.
pub(super) const DATA: i32 = 1;
/// The service that every connection belongs to.
pub(super) const SERVICE: i32 = 33_554_678;

impl Frame {
    pub(super) fn header(&self, key: &str) -> Option<&str> {
        self.headers.iter().find(|header| header.key == key).map(|header| header.value.as_str())
    }

    /// Says that we are there, and how the client is to behave.
    pub(super) fn pong(config: &str) -> Self {
        let headers = headers(&[("type", "pong")]);
        Frame { service: SERVICE, method: CONTROL, headers, payload: Some(config.into()), ..Frame::default() }
    }

    /// An event, in pieces of so many bytes.
    pub(super) fn event(message_id: &str, payload: &[u8], piece: usize) -> Vec<Self> {
        let pieces: Vec<_> = payload.chunks(piece.max(1)).collect();
        let sum = pieces.len().to_string();
        let frame = |(seq, piece): (usize, &&[u8])| Frame {
            seq_id: seq as u64 + 1,
            service: SERVICE,
            method: DATA,
            headers: headers(&[
                ("type", "event"),
                ("message_id", message_id),
                ("trace_id", "stub-trace"),
                ("sum", &sum),
                ("seq", &seq.to_string()),
            ]),
            payload: Some(piece.to_vec()),
            ..Frame::default()
        };
        pieces.iter().enumerate().map(frame).collect()
    }
}

fn headers(pairs: &[(&str, &str)]) -> Vec<Header> {
    pairs.iter().map(|(key, value)| Header { key: (*key).into(), value: (*value).into() }).collect()
}

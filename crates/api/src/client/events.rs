//! Reads the event stream: Server-Sent Events, parsed as they come.
//!
//! Owns the parser ([`Lines`] → [`Frame`]) and the cursor to resume from. Refuses to reconnect by itself, and to hold more than one
//! frame: a frame over [`MAX_FRAME_BYTES`] ends the stream.

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;

use super::{Call, Client, ClientError, broken, query};
use crate::event::{ENTRY, Frame, LIVE, READY};

/// A frame is an event's JSON; what is large is in a blob, so this is far more than any of them.
const MAX_FRAME_BYTES: usize = 64 * 1024 * 1024;

/// Where to start, and of which task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventsQuery {
    /// Everything after this cursor; from now on if none.
    pub after: Option<String>,
    /// Only of this task: its key or id.
    pub task: Option<String>,
}

/// The event stream, open.
#[derive(Debug)]
pub struct EventStream {
    body: Incoming,
    lines: Lines,
    cursor: Option<String>,
}

impl Client {
    /// Opens the event stream.
    pub async fn events(&self, events: &EventsQuery) -> Result<EventStream, ClientError> {
        let pairs = [("after", events.after.as_deref()), ("task", events.task.as_deref())];
        let path = format!("/api/v1/events{}", query(&pairs));
        let response = match tokio::time::timeout(self.patience, self.open(Call::get(&path))).await {
            Ok(response) => response?,
            Err(_) => return Err(ClientError::Timeout(self.patience)),
        };
        Ok(EventStream { body: response.into_body(), lines: Lines::default(), cursor: events.after.clone() })
    }
}

impl EventStream {
    /// The next frame; none when the daemon ended the stream. Open it again with [`EventStream::cursor`] then.
    /// Safe to drop half-way, as `select!` does: nothing that was read is lost.
    pub async fn next(&mut self) -> Result<Option<Frame>, ClientError> {
        loop {
            while let Some(raw) = self.lines.next_frame() {
                if let Some(id) = &raw.id {
                    self.cursor = Some(id.clone());
                }
                if let Some(frame) = raw.parse()? {
                    return Ok(Some(frame));
                }
            }
            if self.lines.waiting() > MAX_FRAME_BYTES {
                return Err(ClientError::Protocol("a frame of the event stream is too long".into()));
            }
            match self.body.frame().await {
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        self.lines.push(&data);
                    }
                }
                Some(Err(error)) => return Err(broken(error)),
                None => return Ok(None),
            }
        }
    }

    /// Where to resume from.
    #[must_use]
    pub fn cursor(&self) -> Option<&str> {
        self.cursor.as_deref()
    }
}

/// Bytes that came, and the frame that they are building.
#[derive(Debug, Default)]
struct Lines {
    buffer: BytesMut,
    /// Up to here there is no newline.
    searched: usize,
    building: RawFrame,
}

#[derive(Debug, Default)]
struct RawFrame {
    id: Option<String>,
    name: String,
    data: String,
}

impl Lines {
    fn push(&mut self, bytes: &Bytes) {
        self.buffer.extend_from_slice(bytes);
    }

    fn waiting(&self) -> usize {
        self.buffer.len() + self.building.data.len()
    }

    fn next_frame(&mut self) -> Option<RawFrame> {
        while let Some(found) = self.buffer[self.searched..].iter().position(|byte| *byte == b'\n') {
            let line = self.buffer.split_to(self.searched + found + 1);
            self.searched = 0;
            let line = String::from_utf8_lossy(&line[..line.len() - 1]);
            let line = line.strip_suffix('\r').unwrap_or(&line);
            if !line.is_empty() {
                self.building.take(line);
            } else if !self.building.data.is_empty() {
                return Some(std::mem::take(&mut self.building));
            } else {
                self.building = RawFrame::default();
            }
        }
        self.searched = self.buffer.len();
        None
    }
}

impl RawFrame {
    fn take(&mut self, line: &str) {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "id" => self.id = Some(value.to_owned()),
            "event" => value.clone_into(&mut self.name),
            "data" => {
                if !self.data.is_empty() {
                    self.data.push('\n');
                }
                self.data.push_str(value);
            }
            // A comment (the heartbeat), or a field of a newer server.
            _ => {}
        }
    }

    /// The frame it is; none for a name of a newer server.
    fn parse(&self) -> Result<Option<Frame>, ClientError> {
        let wrong = |error: serde_json::Error| ClientError::Protocol(format!("event `{}`: {error}", self.name));
        Ok(match self.name.as_str() {
            READY => Some(Frame::Ready(serde_json::from_str(&self.data).map_err(wrong)?)),
            ENTRY => Some(Frame::Entry(Box::new(serde_json::from_str(&self.data).map_err(wrong)?))),
            LIVE => Some(Frame::Live(serde_json::from_str(&self.data).map_err(wrong)?)),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::EntryBody;

    fn frames(pieces: &[&str]) -> Vec<(Option<String>, String, String)> {
        let mut lines = Lines::default();
        let mut out = vec![];
        for piece in pieces {
            lines.push(&Bytes::copy_from_slice(piece.as_bytes()));
            while let Some(frame) = lines.next_frame() {
                out.push((frame.id, frame.name, frame.data));
            }
        }
        out
    }

    #[test]
    fn frames_come_out_whole_however_they_were_cut() {
        let text = "id: 1\nevent: entry\ndata: {\"a\":1}\n\n: beat\n\nevent: live\ndata: x\ndata: y\n\n";
        let whole = frames(&[text]);
        assert_eq!(whole.len(), 2);
        assert_eq!(whole[0], (Some("1".into()), "entry".into(), "{\"a\":1}".into()));
        assert_eq!(whole[1], (None, "live".into(), "x\ny".into()));
        let cut: Vec<String> = text.chars().map(String::from).collect();
        assert_eq!(frames(&cut.iter().map(String::as_str).collect::<Vec<_>>()), whole);
    }

    #[test]
    fn an_event_of_a_newer_server_is_kept_and_hurts_nobody() {
        let raw = RawFrame {
            id: None,
            name: "entry".into(),
            data: r#"{"cursor":"c","at":"t","type":"brand_new","field":[1]}"#.into(),
        };
        let Some(Frame::Entry(entry)) = raw.parse().unwrap() else { panic!("an entry") };
        assert_eq!(entry.body, EntryBody::Unknown);
    }
}

//! A client of the event stream that does nothing but read: it takes chunks apart and finds frames, and leaves their JSON
//! alone, so that a thousand of them fit into a fraction of a core.

use anyhow::{Context as _, Result, bail, ensure};
use bytes::{Buf as _, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use crate::measure::now_nanos;

const HEAD_MAX: usize = 16 << 10;

/// An open event stream.
pub(crate) struct EventReader<S> {
    stream: S,
    raw: BytesMut,
    text: BytesMut,
    chunk: Chunk,
    /// When the newest bytes came.
    pub(crate) arrived: u64,
}

/// Where in the chunked body the raw bytes stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Chunk {
    Size,
    Data(usize),
    End,
}

/// One frame, as it was sent.
pub(crate) struct RawFrame(BytesMut);

impl RawFrame {
    fn field(&self, name: &[u8]) -> &[u8] {
        let mut lines = self.0.as_ref().split(|byte: &u8| *byte == b'\n');
        lines.find_map(|line| line.strip_prefix(name)).map(<[u8]>::trim_ascii).unwrap_or_default()
    }

    /// The cursor; empty for live text.
    pub(crate) fn id(&self) -> &[u8] {
        self.field(b"id:")
    }

    /// `ready`, `entry` or `live`.
    pub(crate) fn name(&self) -> &[u8] {
        self.field(b"event:")
    }

    /// The JSON.
    pub(crate) fn data(&self) -> &[u8] {
        self.field(b"data:")
    }
}

/// What to ask for.
pub(crate) struct Wanted<'a> {
    pub(crate) host: &'a str,
    pub(crate) token: &'a str,
    pub(crate) task: &'a str,
    pub(crate) after: Option<&'a str>,
}

impl Wanted<'_> {
    /// The request as it is sent.
    pub(crate) fn request(&self) -> String {
        let after = self.after.map(|after| format!("&after={after}")).unwrap_or_default();
        let Wanted { host, token, task, .. } = self;
        format!(
            "GET /api/v1/events?task={task}{after} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\
             Accept: text/event-stream\r\n\r\n"
        )
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> EventReader<S> {
    /// Asks for the stream and reads the head of the answer.
    pub(crate) async fn open(mut stream: S, wanted: &Wanted<'_>) -> Result<Self> {
        stream.write_all(wanted.request().as_bytes()).await?;
        let mut raw = BytesMut::with_capacity(4 << 10);
        let head = loop {
            ensure!(stream.read_buf(&mut raw).await? > 0 && raw.len() < HEAD_MAX, "no answer to the event stream");
            if let Some(end) = raw.windows(4).position(|window| window == b"\r\n\r\n") {
                break raw.split_to(end + 4);
            }
        };
        let head = String::from_utf8_lossy(&head).to_lowercase();
        ensure!(head.starts_with("http/1.1 200"), "the event stream was refused: {head}");
        ensure!(head.contains("transfer-encoding: chunked"), "the event stream is not chunked: {head}");
        let mut reader = EventReader { stream, raw, text: BytesMut::new(), chunk: Chunk::Size, arrived: now_nanos() };
        reader.decode()?;
        Ok(reader)
    }

    /// The next frame; none when the stream ended.
    pub(crate) async fn next(&mut self) -> Result<Option<RawFrame>> {
        loop {
            if let Some(frame) = self.take() {
                return Ok(Some(frame));
            }
            if self.stream.read_buf(&mut self.raw).await? == 0 {
                return Ok(None);
            }
            self.arrived = now_nanos();
            self.decode()?;
        }
    }

    fn take(&mut self) -> Option<RawFrame> {
        loop {
            let end = self.text.windows(2).position(|window| window == b"\n\n")?;
            let frame = RawFrame(self.text.split_to(end + 2));
            // A frame without a name is the heartbeat.
            if !frame.name().is_empty() {
                return Some(frame);
            }
        }
    }

    fn decode(&mut self) -> Result<()> {
        loop {
            match self.chunk {
                Chunk::Size => {
                    let Some(end) = self.raw.iter().position(|byte| *byte == b'\n') else { return Ok(()) };
                    let line = self.raw.split_to(end + 1);
                    let size = std::str::from_utf8(line.trim_ascii()).context("a chunk's size")?;
                    self.chunk = Chunk::Data(usize::from_str_radix(size, 16).context("a chunk's size")?);
                }
                Chunk::Data(left) => {
                    let here = left.min(self.raw.len());
                    self.text.extend_from_slice(&self.raw.split_to(here));
                    self.chunk = if here == left { Chunk::End } else { Chunk::Data(left - here) };
                    if here < left {
                        return Ok(());
                    }
                }
                Chunk::End => {
                    if self.raw.len() < 2 {
                        return Ok(());
                    }
                    if &self.raw[..2] != b"\r\n" {
                        bail!("a chunk is longer than it said");
                    }
                    self.raw.advance(2);
                    self.chunk = Chunk::Size;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::DuplexStream;

    async fn reader(pieces: &'static [&'static str]) -> EventReader<DuplexStream> {
        let (client, mut server) = tokio::io::duplex(4096);
        tokio::spawn(async move {
            for piece in pieces {
                server.write_all(piece.as_bytes()).await.unwrap();
            }
        });
        let wanted = Wanted { host: "h", token: "t", task: "k", after: None };
        EventReader::open(client, &wanted).await.unwrap()
    }

    #[tokio::test]
    async fn frames_come_out_whole_however_they_were_cut() {
        let pieces = &[
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1c\r\nid: 1\nevent: entry\nda",
            "ta: x\n\n\r\n8\r\n: beat\n\n\r\n19\r\nevent: live\ndata: `0:7`\n\n\r\n",
        ];
        let mut reader = reader(pieces).await;
        let first = reader.next().await.unwrap().unwrap();
        assert_eq!((first.id(), first.name(), first.data()), (&b"1"[..], &b"entry"[..], &b"x"[..]));
        let second = reader.next().await.unwrap().unwrap();
        assert_eq!((second.id(), second.name()), (&b""[..], &b"live"[..]));
        assert!(reader.next().await.unwrap().is_none());
    }
}

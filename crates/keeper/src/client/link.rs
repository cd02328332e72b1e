//! One connection: requests out, replies in, matched by number.
//!
//! Two small tasks own the socket, so that every call is safe to cancel: a request is sent whole or
//! not at all, and a reply that nobody waits for any more is dropped.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{mpsc, oneshot};

use crate::protocol::{Answer, Call, MAX_DATA_BYTES, Prefix, Reply, Request, WireError, encode_head};

/// Requests that may wait for the socket; callers wait for a place.
const QUEUE: usize = 8;

#[derive(Clone)]
pub(crate) struct Link {
    requests: mpsc::Sender<(Vec<u8>, Bytes)>,
    board: Arc<Mutex<Board>>,
}

/// Who waits for which reply.
#[derive(Default)]
struct Board {
    last_seq: u64,
    waiting: HashMap<u64, oneshot::Sender<Arrived>>,
    end: Option<LinkEnd>,
}

pub(crate) struct Arrived {
    pub(crate) reply: Reply,
    pub(crate) payload: Bytes,
}

/// Why a link carries no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LinkEnd {
    Lost,
    Displaced { fence: u64 },
}

impl Link {
    pub(crate) fn over(stream: UnixStream) -> Self {
        let (read, write) = stream.into_split();
        let (requests, queue) = mpsc::channel(QUEUE);
        let board = Arc::new(Mutex::new(Board::default()));
        tokio::spawn(send_all(write, queue));
        tokio::spawn(receive_all(read, board.clone()));
        Self { requests, board }
    }

    pub(crate) async fn call(&self, call: Call, payload: Bytes) -> Result<Arrived, LinkEnd> {
        let reply = self.submit(call, payload).await?;
        reply.await.map_err(|_| self.end())
    }

    /// Sends a request whose reply may be waited for later, and more than once in parts.
    pub(crate) async fn submit(&self, call: Call, payload: Bytes) -> Result<oneshot::Receiver<Arrived>, LinkEnd> {
        // A place in the queue first: from there on nothing can be cancelled half-way.
        let Ok(place) = self.requests.reserve().await else {
            return Err(self.end());
        };
        let (tell, told) = oneshot::channel();
        let seq = {
            let mut board = lock(&self.board);
            if let Some(end) = board.end {
                return Err(end);
            }
            board.last_seq += 1;
            let seq = board.last_seq;
            board.waiting.insert(seq, tell);
            seq
        };
        let head = encode_head(&Request { seq, call }, payload.len());
        place.send((head.map_err(|_| LinkEnd::Lost)?, payload));
        Ok(told)
    }

    pub(crate) fn end(&self) -> LinkEnd {
        lock(&self.board).end.unwrap_or(LinkEnd::Lost)
    }
}

/// The board is consistent between any two statements, so a panic elsewhere cannot spoil it.
fn lock(board: &Mutex<Board>) -> MutexGuard<'_, Board> {
    board.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends, and with it the connection, when the last [`Link`] is dropped.
async fn send_all(mut socket: OwnedWriteHalf, mut queue: mpsc::Receiver<(Vec<u8>, Bytes)>) {
    while let Some((head, payload)) = queue.recv().await {
        let sent = async {
            socket.write_all(&head).await?;
            socket.write_all(&payload).await
        };
        if sent.await.is_err() {
            return;
        }
    }
}

async fn receive_all(mut socket: OwnedReadHalf, board: Arc<Mutex<Board>>) {
    let mut buffer = BytesMut::with_capacity(MAX_DATA_BYTES / 4);
    let mut end = LinkEnd::Lost;
    while matches!(socket.read_buf(&mut buffer).await, Ok(count) if count > 0) {
        match deliver(&mut buffer, &board) {
            Ok(None) => {}
            Ok(Some(fence)) => end = LinkEnd::Displaced { fence },
            Err(error) => {
                tracing::warn!(%error, "a keeper's answer cannot be read");
                break;
            }
        }
    }
    let mut board = lock(&board);
    board.end = Some(end);
    board.waiting.clear();
}

/// Hands out every whole answer in the buffer; gives the fence if the daemon was displaced.
fn deliver(buffer: &mut BytesMut, board: &Mutex<Board>) -> Result<Option<u64>, WireError> {
    let mut displaced = None;
    while let Some(prefix) = Prefix::peek(buffer, MAX_DATA_BYTES as u64)? {
        if buffer.len() < prefix.len() {
            break;
        }
        let message = buffer.split_to(prefix.len()).freeze();
        let answer: Answer = serde_json::from_slice(prefix.json(&message)).map_err(WireError::Malformed)?;
        if let Reply::Displaced { fence } = answer.reply {
            displaced = Some(fence);
            continue;
        }
        let waiter = lock(board).waiting.remove(&answer.seq);
        if let Some(waiter) = waiter {
            let payload = message.slice_ref(prefix.payload(&message));
            let reply = answer.reply;
            // Whoever asked may have gone away since.
            let _ = waiter.send(Arrived { reply, payload });
        }
    }
    Ok(displaced)
}

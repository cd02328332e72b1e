//! The agent's end of the pipe: lines in and out, and a sender that waits until its update is out.
//!
//! The SDK queues what it sends without bound and offers no way to wait for it. Waiting matters here:
//! `crash` must not take updates with it that were sent before it, and a client that stops reading must
//! slow the agent down instead of filling its memory. So the transport counts the updates that it has
//! written, and [`Wire::send`] waits for its own to be among them.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{SessionId, SessionNotification, SessionUpdate};
use agent_client_protocol::{Client, ConnectTo, Error, Lines};
use futures_util::{sink, stream};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::watch;

/// How many updates were queued and how many of them are written.
#[derive(Debug, Default)]
pub struct Ledger {
    queued: Mutex<u64>,
    written: watch::Sender<u64>,
}

/// Sends the updates of one session.
#[derive(Clone)]
pub struct Wire {
    pub connection: ConnectionTo<Client>,
    pub ledger: Arc<Ledger>,
    pub session: SessionId,
}

impl Wire {
    /// Sends an update and returns once it was written.
    pub async fn send(&self, update: SessionUpdate) -> Result<(), Error> {
        let notification = SessionNotification::new(self.session.clone(), update);
        let place = {
            // Held while queueing, so that places are given out in the order of the queue.
            let mut queued = self.ledger.queued.lock().unwrap_or_else(PoisonError::into_inner);
            self.connection.send_notification(notification)?;
            *queued += 1;
            *queued
        };
        let mut written = self.ledger.written.subscribe();
        let reached = written.wait_for(|written| *written >= place).await;
        reached.map(drop).map_err(Error::into_internal_error)
    }
}

/// A transport over a pair of byte streams, one JSON-RPC message per line.
pub fn transport(
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
    ledger: Arc<Ledger>,
) -> impl ConnectTo<agent_client_protocol::Agent> + 'static {
    let incoming = stream::unfold(BufReader::new(input), async |mut input| {
        let mut line = Vec::new();
        match input.read_until(b'\n', &mut line).await {
            Ok(0) => None,
            // What is not UTF-8 becomes a parse error on the wire, not the end of the connection.
            Ok(_) => Some((Ok(String::from_utf8_lossy(line.trim_ascii()).into_owned()), input)),
            Err(error) => Some((Err(error), input)),
        }
    });
    let outgoing = sink::unfold(output, move |mut output, line: String| {
        let ledger = Arc::clone(&ledger);
        async move {
            let counted = is_update(&line);
            let mut bytes = line.into_bytes();
            bytes.push(b'\n');
            output.write_all(&bytes).await?;
            output.flush().await?;
            if counted {
                ledger.written.send_modify(|written| *written += 1);
            }
            Ok::<_, io::Error>(output)
        }
    });
    Lines::new(Box::pin(outgoing), Box::pin(incoming))
}

/// The method comes before the parameters, so a look at the start of a line is enough.
fn is_update(line: &str) -> bool {
    const METHOD: &[u8] = br#""method":"session/update""#;
    let head = &line.as_bytes()[..line.len().min(64)];
    head.windows(METHOD.len()).any(|window| window == METHOD)
}

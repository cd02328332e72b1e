//! A client of one task, in a connection of its own.

use std::time::Duration;

use anyhow::{Context as _, Result};
use tokio::net::TcpStream;

use crate::daemon::Daemon;
use crate::wire::{EventReader, RawFrame, Wanted};

/// Nothing that is waited for takes this long.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// See the file's header.
pub(crate) struct Listener {
    task: String,
    events: EventReader<TcpStream>,
}

impl Listener {
    pub(crate) async fn open(daemon: &Daemon, task: &str) -> Result<Self> {
        let stream = TcpStream::connect(daemon.address).await?;
        stream.set_nodelay(true)?;
        let host = daemon.address.to_string();
        let wanted = Wanted { host: &host, token: &daemon.token, task, after: None };
        Ok(Listener { task: task.to_owned(), events: EventReader::open(stream, &wanted).await? })
    }

    /// The key of its task.
    pub(crate) fn task(&self) -> &str {
        &self.task
    }

    /// The next frame.
    pub(crate) async fn next(&mut self) -> Result<RawFrame> {
        self.events.next().await?.context("the event stream ended")
    }

    /// When its newest bytes came.
    pub(crate) fn arrived(&self) -> u64 {
        self.events.arrived
    }

    /// Waits until nothing runs: the stream was opened somewhere within the first turn.
    pub(crate) async fn settle(&mut self, daemon: &Daemon) -> Result<()> {
        while daemon.client().task(&self.task).await?.executions.iter().any(|execution| execution.active_turn.is_some())
        {
            tokio::time::timeout(PATIENCE, self.events.next()).await.context("the first turn does not end")??;
        }
        Ok(())
    }
}

/// Whether a frame says that a turn is over.
pub(crate) fn ends_turn(frame: &RawFrame) -> bool {
    has(frame, br#""type":"turn_ended""#)
}

/// Whether a frame has these bytes in its JSON.
pub(crate) fn has(frame: &RawFrame, bytes: &[u8]) -> bool {
    frame.data().windows(bytes.len()).any(|window| window == bytes)
}

//! The event stream of a task, from its cursor on, whatever happens to the daemon.
//!
//! The stream is resumed when the daemon goes away, and the daemon is started again if need be, so a
//! watcher sees every durable entry once. Refuses to show anything: that is its callers' business.

use std::time::Duration;

use throughline_api::client::{ClientError, EventStream, EventsQuery};
use throughline_api::event::Frame;
use throughline_api::task::TaskRef;

use crate::commands::Context;
use crate::daemon::Daemon;
use crate::failure::{Failure, Outcome};

/// How long to wait before a stream that ended is opened again.
const REOPEN_PAUSE: Duration = Duration::from_millis(25);

/// The event stream of a task that outlives the daemon's restarts.
pub(crate) struct Watch<'a> {
    context: &'a Context,
    daemon: Option<Daemon>,
    query: EventsQuery,
    stream: Option<EventStream>,
    /// Whether it was open before.
    opened: bool,
}

impl<'a> Watch<'a> {
    /// Everything of a task after a cursor.
    pub(crate) fn new(context: &'a Context, task: &TaskRef, after: Option<String>) -> Self {
        Self {
            context,
            daemon: None,
            query: EventsQuery { after, task: Some(task.id.to_string()) },
            stream: None,
            opened: false,
        }
    }

    /// The next frame, however long it takes. Nothing is lost if the wait is given up.
    pub(crate) async fn next(&mut self) -> Outcome<Frame> {
        loop {
            if self.stream.is_none() {
                self.open().await?;
            }
            let Some(stream) = self.stream.as_mut() else {
                continue;
            };
            match stream.next().await {
                Ok(Some(frame)) => {
                    self.query.after = stream.cursor().map(str::to_owned);
                    return Ok(frame);
                }
                Ok(None) => self.stream = None,
                Err(error) => self.recover(error)?,
            }
        }
    }

    /// The daemon that is listened to; found, or started, if it went away.
    async fn daemon(&mut self) -> Outcome<&Daemon> {
        if self.daemon.is_none() {
            self.daemon = Some(self.context.daemon().await?);
        }
        let lost = || Failure::new("daemon_unreachable", "the daemon went away");
        self.daemon.as_ref().ok_or_else(lost)
    }

    async fn open(&mut self) -> Outcome {
        // A daemon on its way out still takes calls, and ends each stream at once.
        if self.opened {
            tokio::time::sleep(REOPEN_PAUSE).await;
        }
        self.opened = true;
        let query = self.query.clone();
        match self.daemon().await?.client.events(&query).await {
            Ok(stream) => self.stream = Some(stream),
            Err(error) => self.recover(error)?,
        }
        Ok(())
    }

    /// Lets go of a daemon that went away; any other error is one.
    fn recover(&mut self, error: ClientError) -> Outcome {
        self.stream = None;
        self.daemon = None;
        match Failure::from(error) {
            failure if failure.is_departure() => Ok(()),
            failure => Err(failure),
        }
    }
}

/// A document with its type beside its own fields, as timeline entries have it.
pub(crate) fn tagged(kind: &str, document: &impl serde::Serialize) -> Outcome<serde_json::Value> {
    let mut value = serde_json::to_value(document).map_err(std::io::Error::from)?;
    if let Some(fields) = value.as_object_mut() {
        fields.insert("type".to_owned(), kind.into());
    }
    Ok(value)
}

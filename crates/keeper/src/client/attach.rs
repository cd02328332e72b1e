//! Being the attached daemon: [`Writer`] and [`Reader`].

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, timeout};

use super::link::{Arrived, Link, LinkEnd};
use crate::exit::Exit;
use crate::protocol::{Activity, Call, OLDEST_PROTOCOL, PROTOCOL, Refusal, Reply};
use crate::spool::{Frame, Lines};
use crate::stderr::Stderr;
use crate::{lock, socket};

/// A keeper that lives answers at once; one that ends is gone by then.
const PATIENCE: Duration = Duration::from_secs(5);
const RETRY: Duration = Duration::from_millis(10);

/// No attachment came about.
#[derive(Debug, thiserror::Error)]
pub enum AttachError {
    /// Read on with [`super::post_mortem`].
    #[error("the keeper is gone")]
    Gone,
    #[error("daemon generation {offered} is older than {highest}, which was already attached")]
    StaleFence { offered: u64, highest: u64 },
    /// Names both versions.
    #[error("{0}")]
    UnsupportedProtocol(Refusal),
    #[error("the keeper lives but does not answer")]
    Unresponsive,
    #[error("the keeper answered out of turn")]
    Unexpected,
    #[error("the keeper cannot be reached")]
    Io(#[from] io::Error),
}

/// A request was not carried out, or nobody knows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    #[error("the connection to the keeper is lost")]
    Lost,
    #[error("daemon generation {fence} took over")]
    Displaced { fence: u64 },
    #[error("{0}")]
    Refused(Refusal),
}

/// A frame was not written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// It may have been written or not. Attach again and send it again under the same id, or ask
    /// [`crate::frame_state`] if the keeper is gone.
    #[error("the connection to the keeper is lost")]
    Lost,
    /// As with `Lost`, but the answer is the newer daemon's business.
    #[error("daemon generation {fence} took over")]
    Displaced { fence: u64 },
    /// The agent did not get it.
    #[error("{0}")]
    NotSent(Refusal),
}

/// No more frames come this way.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    #[error("the connection to the keeper is lost")]
    Lost,
    #[error("daemon generation {fence} took over")]
    Displaced { fence: u64 },
    #[error("{0}")]
    Refused(Refusal),
}

/// Both are good: the agent has the frame, once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    Written,
    Duplicate,
}

/// What comes from a keeper.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Happening {
    Frame(Frame),
    /// The last one. The keeper goes away after it.
    Exited(Exit),
}

/// Attaches to the living keeper of a directory, and reads on from an offset, which must be 0 or
/// the `offset_end` of a frame.
pub async fn attach(dir: &Path, fence: u64, from_offset: u64) -> Result<(Writer, Reader), AttachError> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        // In this order: a keeper that has let go of its lock can answer no more.
        let live = lock::holder(dir)?.is_some();
        match shake_hands(dir, fence, from_offset).await {
            Ok(Some(attached)) => return Ok(attached),
            Ok(None) if !live => return Err(AttachError::Gone),
            Ok(None) if Instant::now() >= deadline => return Err(AttachError::Unresponsive),
            // It is about to listen, or about to end.
            Ok(None) => sleep(RETRY).await,
            Err(error) => return Err(error),
        }
    }
}

/// `None` if nobody answers.
async fn shake_hands(dir: &Path, fence: u64, from_offset: u64) -> Result<Option<(Writer, Reader)>, AttachError> {
    let stream = match socket::connect(dir).await {
        Ok(stream) => stream,
        Err(error) => {
            return match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionReset => Ok(None),
                _ => Err(error.into()),
            };
        }
    };
    let link = Link::over(stream);
    let call = Call::Attach { protocol: PROTOCOL, oldest: OLDEST_PROTOCOL, fence };
    let Ok(answer) = timeout(PATIENCE, link.call(call, Bytes::new())).await else {
        return Err(AttachError::Unresponsive);
    };
    match answer.map(|arrived| arrived.reply) {
        Err(_) => Ok(None),
        Ok(Reply::Attached { agent_pid, max_frame_bytes, .. }) => {
            let writer = Writer { link: link.clone(), dir: dir.to_owned(), agent_pid, max_frame_bytes };
            Ok(Some((writer, Reader::new(link, from_offset))))
        }
        Ok(Reply::Refused { refusal: Refusal::StaleFence { offered, highest } }) => {
            Err(AttachError::StaleFence { offered, highest })
        }
        Ok(Reply::Refused { refusal: refusal @ Refusal::UnsupportedProtocol { .. } }) => {
            Err(AttachError::UnsupportedProtocol(refusal))
        }
        Ok(_) => Err(AttachError::Unexpected),
    }
}

/// To the agent and to its keeper. All calls are safe to cancel; clones share the connection, and
/// the daemon is attached until the [`Reader`] and every clone are dropped.
#[derive(Clone)]
pub struct Writer {
    link: Link,
    dir: PathBuf,
    agent_pid: i32,
    max_frame_bytes: u64,
}

impl Writer {
    /// Sends one frame to the agent, at most once per id for as long as the agent lives. The bytes
    /// are one line; its newline may be left out. Returns once the whole frame is in the agent's
    /// stdin, so an agent that does not read makes this wait.
    pub async fn write(&self, frame_id: &str, bytes: impl Into<Bytes>) -> Result<Delivery, WriteError> {
        let payload: Bytes = bytes.into();
        if payload.len() as u64 > self.max_frame_bytes + 1 {
            let limit_bytes = self.max_frame_bytes;
            return Err(WriteError::NotSent(Refusal::FrameTooLong { limit_bytes }));
        }
        let id = frame_id.to_owned();
        let answer = self.link.call(Call::Write { id }, payload).await;
        match answer.map(|arrived| arrived.reply) {
            Ok(Reply::Written) => Ok(Delivery::Written),
            Ok(Reply::Duplicate) => Ok(Delivery::Duplicate),
            Ok(Reply::Refused { refusal }) => Err(WriteError::NotSent(refusal)),
            Ok(_) | Err(LinkEnd::Lost) => Err(WriteError::Lost),
            Err(LinkEnd::Displaced { fence }) => Err(WriteError::Displaced { fence }),
        }
    }

    /// Everything before the offset is durable elsewhere: the keeper may forget it.
    pub async fn ack(&self, offset: u64) -> Result<(), CallError> {
        self.simple(Call::Ack { offset }).await
    }

    /// Says whether a turn runs, which decides how long the keeper waits for a daemon.
    pub async fn set_busy(&self, activity: Activity) -> Result<(), CallError> {
        self.simple(Call::Activity { activity }).await
    }

    /// Ends the agent and its whole tree: SIGTERM, then after the grace SIGKILL. Returns when the
    /// keeper has begun; [`Happening::Exited`] says that it is done.
    pub async fn stop(&self, grace: Duration) -> Result<(), CallError> {
        let grace_ms = u64::try_from(grace.as_millis()).unwrap_or(u64::MAX);
        self.simple(Call::Stop { grace_ms }).await
    }

    /// What is kept of the agent's stderr so far.
    pub async fn stderr_tail(&self) -> io::Result<Stderr> {
        let dir = self.dir.clone();
        let load = tokio::task::spawn_blocking(move || Stderr::load(&dir));
        load.await.map_err(io::Error::other)?
    }

    pub fn agent_pid(&self) -> i32 {
        self.agent_pid
    }

    async fn simple(&self, call: Call) -> Result<(), CallError> {
        let answer = self.link.call(call, Bytes::new()).await;
        match answer.map(|arrived| arrived.reply) {
            Ok(Reply::Done) => Ok(()),
            Ok(Reply::Refused { refusal }) => Err(CallError::Refused(refusal)),
            Ok(_) | Err(LinkEnd::Lost) => Err(CallError::Lost),
            Err(LinkEnd::Displaced { fence }) => Err(CallError::Displaced { fence }),
        }
    }
}

/// From the agent, in order, each frame once.
pub struct Reader {
    link: Link,
    lines: Lines,
    /// A question that is out; kept here so that a cancelled [`Self::next`] loses no answer.
    asked: Option<oneshot::Receiver<Arrived>>,
    over: bool,
}

impl Reader {
    fn new(link: Link, from_offset: u64) -> Self {
        Self { link, lines: Lines::starting_at(from_offset), asked: None, over: false }
    }

    /// `None` after [`Happening::Exited`] and after an error. Safe to cancel. Whoever does not ask
    /// gets nothing: the rest waits in the keeper's spool.
    pub async fn next(&mut self) -> Option<Result<Happening, ReadError>> {
        loop {
            if let Some(frame) = self.lines.pop() {
                return Some(Ok(Happening::Frame(frame)));
            }
            if self.over {
                return None;
            }
            let refused = match self.ask().await {
                Ok(Arrived { reply: Reply::Data { offset }, payload }) if offset == self.lines.position() => {
                    self.lines.push(&payload);
                    continue;
                }
                Ok(Arrived { reply: Reply::Exited { exit }, .. }) => {
                    self.over = true;
                    return Some(Ok(Happening::Exited(exit)));
                }
                Ok(Arrived { reply: Reply::Refused { refusal }, .. }) => ReadError::Refused(refusal),
                Ok(_) | Err(LinkEnd::Lost) => ReadError::Lost,
                Err(LinkEnd::Displaced { fence }) => ReadError::Displaced { fence },
            };
            self.over = true;
            return Some(Err(refused));
        }
    }

    /// A frame that has come in already. Who has taken one can have these along without waiting.
    pub fn ready(&mut self) -> Option<Frame> {
        self.lines.pop()
    }

    async fn ask(&mut self) -> Result<Arrived, LinkEnd> {
        let from = self.lines.position();
        let asked = match &mut self.asked {
            Some(asked) => asked,
            none => none.insert(self.link.submit(Call::Read { from }, Bytes::new()).await?),
        };
        let answer = asked.await;
        self.asked = None;
        answer.map_err(|_| self.link.end())
    }
}

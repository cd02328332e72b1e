//! The one thread that writes: it takes what waits, commits it as one transaction, and then answers everyone.
//!
//! Invariants:
//! - nobody is answered before the transaction that holds their batch is durable (P1);
//! - a batch that is refused, or that SQLite cannot write, fails alone: the others of its group are committed;
//! - the queue is bounded, and who finds it full waits (P11).

use std::thread::JoinHandle;

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use super::checkpoint::Checkpointer;
use super::encode::Encoded;
use super::error::at_path;
use super::ledger::Ledger;
use super::open::OpenOptions;
use crate::port::{CommitError, StoreError};

/// How many batches may wait; also the most that one transaction takes.
const QUEUE: usize = 512;

/// The sequence number before a batch's first event.
type Outcome = Result<u64, CommitError>;

#[derive(Debug)]
struct Request {
    batch: Encoded,
    answer: oneshot::Sender<Answer>,
}

/// What became of a batch, and what others are to be told.
type Answer = (Outcome, Tidings);

/// Outcomes on their way. The writer wakes one caller of a group, who tells the others: inside the runtime that
/// costs a fraction of waking each from outside. Dropping them tells them too, so nobody is forgotten. The batches
/// go along, to be freed where they were made.
#[derive(Debug, Default)]
struct Tidings(Vec<(Request, Outcome)>);

impl Tidings {
    fn spread(mut self) {
        while let Some((request, outcome)) = self.0.pop() {
            match request.answer.send((outcome, self)) {
                Ok(()) => return,
                // This one no longer waits; the next one may.
                Err((_, rest)) => self = rest,
            }
        }
    }
}

impl Drop for Tidings {
    fn drop(&mut self) {
        for (request, outcome) in self.0.drain(..) {
            // Who no longer waits was told nothing, and so has to ask.
            let _ = request.answer.send((outcome, Tidings::default()));
        }
    }
}

/// The handle to the thread. Dropping it waits until all that was queued is committed and the file is closed.
#[derive(Debug)]
pub(super) struct Writer {
    queue: Option<mpsc::Sender<Request>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    pub(super) fn start(mut connection: Connection, options: &OpenOptions) -> Result<Self, StoreError> {
        let (queue, requests) = mpsc::channel(QUEUE);
        let checkpointer = Checkpointer::start(&mut connection, options)?;
        let (ready, is_ready) = std::sync::mpsc::sync_channel(1);
        let thread = std::thread::Builder::new()
            .name("store-writer".into())
            .spawn(move || match Ledger::new(&connection) {
                Ok(ledger) => {
                    let _ = ready.send(Ok(()));
                    serve(ledger, requests, &checkpointer);
                }
                Err(error) => {
                    let _ = ready.send(Err(error));
                }
            })
            .map_err(at_path(&options.dir))?;
        let writer = Self { queue: Some(queue), thread: Some(thread) };
        is_ready.recv().map_err(|_| gone())??;
        Ok(writer)
    }

    pub(super) async fn commit(&self, batch: Encoded) -> Outcome {
        let (answer, outcome) = oneshot::channel();
        let queue = self.queue.as_ref().ok_or_else(gone)?;
        queue.send(Request { batch, answer }).await.map_err(|_| gone())?;
        let (outcome, others) = outcome.await.map_err(|_| gone())?;
        drop(others);
        outcome
    }

    pub(super) fn stop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the store's writer panicked");
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.stop();
    }
}

fn gone() -> StoreError {
    StoreError::Failed("the writer has stopped".into())
}

fn serve(mut ledger: Ledger<'_>, mut requests: mpsc::Receiver<Request>, checkpointer: &Checkpointer) {
    let mut group = Vec::with_capacity(QUEUE);
    while requests.blocking_recv_many(&mut group, QUEUE) > 0 {
        let outcomes = commit_group(&mut ledger, &group);
        Tidings(group.drain(..).zip(outcomes).collect()).spread();
        checkpointer.tend(ledger.connection());
    }
}

/// Commits a group, together if that is possible.
fn commit_group(ledger: &mut Ledger<'_>, group: &[Request]) -> Vec<Outcome> {
    match commit_together(ledger, group) {
        Ok(outcomes) => outcomes,
        Err(Trouble::OneBatch(error)) => {
            tracing::warn!(%error, batches = group.len(), "a batch could not be written; its group is committed one by one");
            group.iter().map(|request| commit_alone(ledger, &request.batch)).collect()
        }
        Err(Trouble::Everyone(error)) => {
            tracing::warn!(%error, batches = group.len(), "a transaction failed");
            group.iter().map(|_| Err(error.clone().into())).collect()
        }
    }
}

/// Whom a failure concerns.
enum Trouble {
    OneBatch(StoreError),
    Everyone(StoreError),
}

/// Commits a group as one transaction, refused batches aside.
fn commit_together(ledger: &mut Ledger<'_>, group: &[Request]) -> Result<Vec<Outcome>, Trouble> {
    let done = write_together(ledger, group);
    if done.is_err() {
        ledger.roll_back();
    }
    done
}

fn write_together(ledger: &mut Ledger<'_>, group: &[Request]) -> Result<Vec<Outcome>, Trouble> {
    ledger.begin().map_err(Trouble::Everyone)?;
    let mut outcomes = Vec::with_capacity(group.len());
    for request in group {
        match ledger.apply(&request.batch) {
            Err(CommitError::Store(error)) => return Err(Trouble::OneBatch(error)),
            outcome => outcomes.push(outcome),
        }
    }
    ledger.commit().map_err(Trouble::Everyone)?;
    Ok(outcomes)
}

fn commit_alone(ledger: &mut Ledger<'_>, batch: &Encoded) -> Outcome {
    let outcome = write_alone(ledger, batch);
    if outcome.is_err() {
        ledger.roll_back();
    }
    outcome
}

fn write_alone(ledger: &mut Ledger<'_>, batch: &Encoded) -> Outcome {
    ledger.begin()?;
    let before = ledger.apply(batch)?;
    ledger.commit()?;
    Ok(before)
}

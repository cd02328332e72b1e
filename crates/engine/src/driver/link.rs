//! The link to one process: its keeper's connection, and what its output means.

use std::sync::Arc;
use std::time::Duration;

use throughline_acp::assembler::Assembler;
use throughline_acp::happening::Initialized;
use throughline_acp::outgoing::OutgoingFrame;
use throughline_keeper::Activity;
use throughline_keeper::client::{Happening as Kept, ReadError, Reader, WriteError, Writer};
use throughline_model::effect::Process;
use throughline_model::execution::Role;
use throughline_model::ids::TurnId;
use throughline_model::runtime_session::Failure;
use throughline_model::task::Report;
use throughline_model::turn::Usage;
use throughline_store::port::Mark;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::open::Settling;
use super::requests::Owed;
use super::{Shared, mark_of};
use crate::config::ProjectSettings;
use crate::core::Request;

/// Acknowledge to the keeper after this many bytes, so that its spool can be trimmed.
const ACK_EVERY: u64 = 256 * 1024;

/// An attached process.
pub(super) struct Link {
    pub(super) process: Process,
    pub(super) writer: Writer,
    pub(super) reader: Reader,
    pub(super) assembler: Assembler,
    /// Frames on their way to the agent. Another task writes them, because an agent that does not read makes that wait.
    outgoing: mpsc::UnboundedSender<Parcel>,
    /// When the agent has to be open; none once it is.
    pub(super) deadline: Option<Instant>,
    /// When a turn that runs counts as stalled; none while none runs, or once it was said.
    pub(super) stalls_at: Option<Instant>,
    pub(super) opening: Opening,
    /// What the agent last said of its context and cost.
    pub(super) usage: Usage,
    /// Answers that are on their way.
    pub(super) owed: Owed,
    acknowledged: u64,
}

/// What is known while a session is being opened.
#[derive(Default)]
pub(super) struct Opening {
    /// The agent's own id of the session that is resumed.
    pub(super) native: Option<String>,
    /// The native session of another task that it is forked from.
    pub(super) fork: Option<String>,
    /// Where the agent works.
    pub(super) cwd: String,
    /// The project's own folder, which may be another one.
    pub(super) root: String,
    /// What is said about the project.
    pub(super) project: ProjectSettings,
    /// Whose profile it has.
    pub(super) agent: String,
    /// As what it works.
    pub(super) role: Role,
    /// It refused for want of a login, and was given a key.
    pub(super) logging_in: bool,
    /// What the agent said of itself.
    pub(super) initialized: Option<Initialized>,
    /// The session is open and not yet as it should be.
    pub(super) settling: Option<Settling>,
}

/// Something for the keeper.
pub(super) enum Parcel {
    /// A frame for the agent, the effect that it performs, and the turn whose prompt it is.
    Frame { frame: OutgoingFrame, key: Option<String>, turn: Option<TurnId> },
    /// The answer to a request that begins there and that no person is asked about.
    Reply { at: u64, frame: OutgoingFrame },
    /// Everything before this offset is in the record.
    Ack(u64),
    /// Whether a turn runs.
    Activity(Activity),
}

impl Link {
    pub(super) fn new(
        shared: &Arc<Shared>,
        process: Process,
        writer: Writer,
        reader: Reader,
        assembler: Assembler,
    ) -> Self {
        let (outgoing, parcels) = mpsc::unbounded_channel();
        let owed = Owed::default();
        shared.run.tasks.spawn(post(Arc::clone(shared), process, writer.clone(), parcels, owed.clone()));
        let acknowledged = assembler.safe_mark();
        Self {
            process,
            writer,
            reader,
            assembler,
            outgoing,
            deadline: None,
            stalls_at: None,
            opening: Opening::default(),
            usage: Usage::default(),
            owed,
            acknowledged,
        }
    }

    pub(super) fn send(&self, parcel: Parcel) {
        // The other end goes away with the connection, and then the reader says so.
        let _ = self.outgoing.send(parcel);
    }

    pub(super) fn frame(&self, frame: OutgoingFrame) {
        self.send(Parcel::Frame { frame, key: None, turn: None });
    }

    /// Answers what no person is asked about.
    pub(super) fn reply(&self, at: u64, frame: OutgoingFrame) {
        self.owed.add(at);
        self.send(Parcel::Reply { at, frame });
    }

    /// The next that comes of the agent, once it has taken enough of its answers. Safe to cancel.
    pub(super) async fn heard(&mut self) -> Option<Result<Kept, ReadError>> {
        self.owed.room().await;
        self.reader.next().await
    }

    /// How far the agent's output is dealt with.
    pub(super) fn mark(&self) -> Mark {
        let mark = mark_of(self.process, self.assembler.mark());
        Mark { safe: self.owed.hold(mark.safe), ..mark }
    }

    /// What is committed may be trimmed.
    pub(super) fn acknowledge(&mut self, safe: u64) {
        if safe >= self.acknowledged + ACK_EVERY {
            self.acknowledged = safe;
            self.send(Parcel::Ack(safe));
        }
    }
}

/// Writes parcels, one after the other, and settles what they perform.
async fn post(
    shared: Arc<Shared>,
    process: Process,
    writer: Writer,
    mut parcels: mpsc::UnboundedReceiver<Parcel>,
    owed: Owed,
) {
    loop {
        let parcel = tokio::select! {
            parcel = parcels.recv() => parcel,
            () = shared.run.stop.cancelled() => return,
        };
        match parcel {
            None => return,
            Some(Parcel::Frame { frame, key, turn }) => {
                let written = tokio::select! {
                    written = writer.write(&frame.id, frame.bytes) => written,
                    () = shared.run.stop.cancelled() => return,
                };
                posted(&shared, process, written.map(drop), key, turn).await;
            }
            Some(Parcel::Reply { at, frame }) => {
                let written = tokio::select! {
                    written = writer.write(&frame.id, frame.bytes) => written,
                    () = shared.run.stop.cancelled() => return,
                };
                match written {
                    Ok(_) | Err(WriteError::NotSent(_)) => owed.settle(at),
                    Err(WriteError::Lost | WriteError::Displaced { .. }) => owed.lose(),
                }
            }
            // Neither is worth more than a try: a keeper that does not hear it is about to be heard of.
            Some(Parcel::Ack(offset)) => drop(writer.ack(offset).await),
            Some(Parcel::Activity(activity)) => drop(writer.set_busy(activity).await),
        }
    }
}

async fn posted(
    shared: &Shared,
    process: Process,
    written: Result<(), WriteError>,
    key: Option<String>,
    turn: Option<TurnId>,
) {
    let settled: Vec<String> = key.iter().cloned().collect();
    match (written, turn) {
        (Ok(()), _) | (Err(WriteError::NotSent(_)), None) => {
            if !settled.is_empty() {
                shared.settle(settled).await;
            }
        }
        (Err(WriteError::NotSent(refusal)), Some(turn)) => {
            let failure = Failure {
                code: "prompt_not_sent".into(),
                message: format!("the agent did not get the prompt: {refusal}"),
                hint: Some("`tl retry KEY` sends it again".into()),
                until: None,
            };
            let along = Request { settled: settled.clone(), ..Request::default() };
            let _ = shared.report(process, vec![Report::PromptFailed { turn, failure }], along).await;
            for key in settled {
                shared.in_hand.release(&key);
            }
        }
        // Whether it was written is known when the keeper is attached again: the effect stays.
        (Err(WriteError::Lost | WriteError::Displaced { .. }), _) => {
            for key in settled {
                shared.in_hand.release(&key);
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
            shared.core.effects_wanted.notify_one();
        }
    }
}

//! A batch as the writer takes it: text and bytes, ready to be bound.
//!
//! Made on the caller's side, so that the one thread that writes does nothing but write.

use serde::Serialize;
use throughline_model::effect::Effect;
use throughline_model::event::Event;
use throughline_model::ids::Id as _;
use throughline_model::state::State;
use throughline_model::stream::{StreamId, StreamKind};
use throughline_model::task::Lifecycle;
use throughline_model::view::{InputRow, Row, TaskRow};
use uuid::Uuid;

use crate::port::{Append, Batch, InboxEntry, Mark, StoreError};

/// A stream in the database: the kind's number, then the id.
pub(super) type StreamKey = [u8; 17];
/// An id in the database.
pub(super) type Key = [u8; 16];

pub(super) fn stream_key(stream: StreamId) -> StreamKey {
    let mut key = [0; 17];
    key[0] = stream.kind().number();
    key[1..].copy_from_slice(stream.uuid().as_bytes());
    key
}

pub(super) fn stream_of(key: &[u8]) -> Option<StreamId> {
    let (kind, id) = key.split_first()?;
    Some(StreamKind::from_number(*kind)?.stream(Uuid::from_slice(id).ok()?))
}

/// What a row's JSON usually stays below.
const ROW_BYTES: usize = 768;

/// A batch, encoded.
#[derive(Debug)]
pub(super) struct Encoded {
    pub at: i64,
    pub appends: Vec<EncodedAppend>,
    pub rows: Vec<EncodedRow>,
    pub settled: Vec<String>,
    pub effects: Vec<EncodedEffect>,
    pub inbox: Option<InboxEntry>,
    pub mark: Option<Mark>,
}

#[derive(Debug)]
pub(super) struct EncodedAppend {
    pub stream: StreamId,
    pub key: StreamKey,
    pub expected: u64,
    pub events: Vec<EncodedEvent>,
    pub snapshot: Option<String>,
}

#[derive(Debug)]
pub(super) struct EncodedEvent {
    pub item: Option<Key>,
    pub data: String,
}

#[derive(Debug)]
pub(super) enum EncodedEffect {
    Put { key: String, due_at: i64, data: String },
    Drop { key: String },
}

#[derive(Debug)]
pub(super) enum EncodedRow {
    Task(EncodedTask),
    Project { id: Key, name: String, data: String },
    Input { id: Key, decision: Key, turn: Option<Key>, state: &'static str, data: String },
    InputMoved { id: Key, turn: Option<Key>, state: &'static str },
    Approval { id: Key, state: String, asked_at: i64, data: String },
    Delivery { id: Key, at: i64, data: String },
    Addressed { person: Key, task: Key, at: i64 },
    Name { name: String, of: Option<String> },
}

#[derive(Debug)]
pub(super) struct EncodedTask {
    pub id: Key,
    pub key: String,
    pub project: Key,
    pub open: bool,
    pub rank: u8,
    pub recency: i64,
    pub data: String,
}

impl Encoded {
    pub(super) fn of(batch: &Batch) -> Result<Self, StoreError> {
        Ok(Self {
            at: batch.at.millis(),
            appends: batch.appends.iter().map(append).collect::<Result<_, _>>()?,
            rows: batch.rows.iter().map(row).collect::<Result<_, _>>()?,
            settled: batch.settled.clone(),
            effects: batch
                .effects
                .iter()
                .filter_map(|known| effect(known, batch.at.millis()).transpose())
                .collect::<Result<_, _>>()?,
            inbox: batch.inbox.clone(),
            mark: batch.mark,
        })
    }
}

fn append(append: &Append) -> Result<EncodedAppend, StoreError> {
    let snapshot: Option<&State> = append.snapshot.as_deref();
    Ok(EncodedAppend {
        stream: append.stream,
        key: stream_key(append.stream),
        expected: append.expected,
        events: append.events.iter().map(event).collect::<Result<_, _>>()?,
        snapshot: snapshot.map(json).transpose()?,
    })
}

fn event(event: &Event) -> Result<EncodedEvent, StoreError> {
    let item = event.revisable_item().map(|item| item.uuid().into_bytes());
    Ok(EncodedEvent { item, data: event.encode().map_err(unwritable)? })
}

/// [`Effect::Tell`] is chased before a batch is made; one that comes here was chased already.
fn effect(effect: &Effect, at: i64) -> Result<Option<EncodedEffect>, StoreError> {
    debug_assert!(!matches!(effect, Effect::Tell { .. }), "a command to another aggregate reached the store");
    Ok(match effect {
        Effect::Tell { .. } => None,
        Effect::Forget { .. } => Some(EncodedEffect::Drop { key: effect.key() }),
        kept => {
            let due_at = kept.due_at().map_or(at, |due| due.millis());
            Some(EncodedEffect::Put { key: kept.key(), due_at, data: json(kept)? })
        }
    })
}

fn row(row: &Row) -> Result<EncodedRow, StoreError> {
    Ok(match row {
        Row::Task(task) => EncodedRow::Task(task_row(task)?),
        Row::Project(project) => {
            EncodedRow::Project { id: project.id.uuid().into_bytes(), name: project.name.clone(), data: json(project)? }
        }
        Row::Input(input) => input_row(input)?,
        Row::InputMoved(moved) => EncodedRow::InputMoved {
            id: moved.id.uuid().into_bytes(),
            turn: moved.turn.map(|turn| turn.uuid().into_bytes()),
            state: if moved.turn.is_some() { "dispatched" } else { "withdrawn" },
        },
        Row::Approval(approval) => EncodedRow::Approval {
            id: approval.id.uuid().into_bytes(),
            state: approval.state.clone(),
            asked_at: approval.asked_at.millis(),
            data: json(approval)?,
        },
        Row::Delivery(delivery) => EncodedRow::Delivery {
            id: delivery.id.uuid().into_bytes(),
            at: delivery.at.millis(),
            data: json(delivery)?,
        },
        Row::Addressed(addressed) => EncodedRow::Addressed {
            person: addressed.person.uuid().into_bytes(),
            task: addressed.task.uuid().into_bytes(),
            at: addressed.at.millis(),
        },
        Row::Name(name) => EncodedRow::Name { name: name.name.clone(), of: name.of.clone() },
    })
}

fn task_row(task: &TaskRow) -> Result<EncodedTask, StoreError> {
    Ok(EncodedTask {
        id: task.id.uuid().into_bytes(),
        key: task.key.clone(),
        project: task.project.uuid().into_bytes(),
        open: task.lifecycle == Lifecycle::Open,
        rank: task.activity.rank(),
        recency: recency(task.updated_at.millis()),
        data: json(task)?,
    })
}

fn input_row(input: &InputRow) -> Result<EncodedRow, StoreError> {
    Ok(EncodedRow::Input {
        id: input.id.uuid().into_bytes(),
        decision: input.decision_id().uuid().into_bytes(),
        turn: input.turn.map(|turn| turn.uuid().into_bytes()),
        state: if input.turn.is_some() { "dispatched" } else { "received" },
        data: json(input)?,
    })
}

/// The newest first, in ascending order.
pub(super) fn recency(updated_at_millis: i64) -> i64 {
    updated_at_millis.saturating_neg()
}

fn json<T: Serialize + ?Sized>(value: &T) -> Result<String, StoreError> {
    // Most rows fit, so that most are written without growing.
    let mut text = Vec::with_capacity(ROW_BYTES);
    serde_json::to_writer(&mut text, value).map_err(unwritable)?;
    String::from_utf8(text).map_err(|error| StoreError::Failed(format!("JSON that is not text: {error}")))
}

fn unwritable(error: serde_json::Error) -> StoreError {
    StoreError::Failed(format!("cannot be written as JSON: {error}"))
}

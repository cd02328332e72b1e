//! A task's transcript, made while it is read: oldest entry first, each item once, where it began, as it is now.
//!
//! Invariants: what is held is one page of records and the calls that were still changing there, however long the task
//! is; a transcript that cannot be finished breaks off with an error instead of ending as if it were whole.

mod markdown;

use std::collections::{HashMap, HashSet, VecDeque};

use bytes::Bytes;
use futures_util::stream::{self, Stream};
use throughline_api::content::{ContentBlock, Text};
use throughline_api::task::Task;
use throughline_api::timeline::{EntryBody, TimelineEntry};
use throughline_engine::EngineError;
use throughline_model::event::{Recorded, Seq};
use throughline_model::ids::{Id as _, ItemId, PersonId, TaskId};
use throughline_model::stream::StreamId;
use throughline_store::port::Feed;
use uuid::Uuid;

use crate::app::Shared;
use crate::wire;
use markdown::Markdown;

/// How many records are read at once.
const PAGE: usize = 128;
/// How many bytes are put together before they are sent.
const PIECE_BYTES: usize = 32 * 1024;

/// See the file's header.
pub(crate) struct Export {
    app: Shared,
    task: TaskId,
    /// The record's end when the transcript was asked for. An item that is the newest of its kind before it cannot be
    /// met again.
    until: Seq,
    after: Seq,
    page: VecDeque<Recorded>,
    /// The newest record of each item of the page.
    latest: HashMap<ItemId, Recorded>,
    /// Items that are written already, and have records to come.
    changing: HashSet<ItemId>,
    sink: Sink,
    phase: Phase,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Head,
    Entries,
    Done,
}

/// What a transcript is written in.
pub(crate) enum Sink {
    /// One entry per line.
    Lines,
    /// A document.
    Markdown { task: Box<Task>, writer: Markdown, names: HashMap<Uuid, String> },
}

impl Sink {
    pub(crate) fn markdown(task: Task) -> Self {
        Sink::Markdown { writer: Markdown::new(&task), task: Box::new(task), names: HashMap::new() }
    }
}

impl Export {
    /// Nothing is read yet.
    pub(crate) fn new(app: Shared, task: TaskId, until: Seq, sink: Sink) -> Self {
        Export {
            app,
            task,
            until,
            after: Seq::default(),
            page: VecDeque::new(),
            latest: HashMap::new(),
            changing: HashSet::new(),
            sink,
            phase: Phase::Head,
        }
    }

    /// The document, piece by piece.
    pub(crate) fn into_stream(self) -> impl Stream<Item = Result<Bytes, EngineError>> + Send {
        stream::try_unfold(self, |mut export| async move {
            let piece = export.piece().await.inspect_err(|error| tracing::error!(%error, "a transcript breaks off"))?;
            Ok(piece.map(|piece| (piece, export)))
        })
    }

    async fn piece(&mut self) -> Result<Option<Bytes>, EngineError> {
        let mut piece = Vec::new();
        while piece.len() < PIECE_BYTES {
            match self.phase {
                Phase::Head => {
                    if let Sink::Markdown { task, .. } = &self.sink {
                        piece.extend_from_slice(markdown::head(task).as_bytes());
                    }
                    self.phase = Phase::Entries;
                }
                Phase::Entries => match self.next_record().await? {
                    Some(recorded) => self.write(&recorded, &mut piece).await?,
                    None => self.phase = Phase::Done,
                },
                Phase::Done => break,
            }
        }
        Ok((!piece.is_empty()).then(|| piece.into()))
    }

    async fn next_record(&mut self) -> Result<Option<Recorded>, EngineError> {
        if self.page.is_empty() {
            self.read().await?;
        }
        Ok(self.page.pop_front())
    }

    async fn read(&mut self) -> Result<(), EngineError> {
        let stream = StreamId::Task(self.task);
        let store = self.app.engine.store();
        let records = store.read(Feed { stream: Some(stream), after: self.after, limit: PAGE }).await?;
        self.after = records.last().map_or(self.until, |last| last.seq);
        self.page = records.into_iter().filter(|record| record.seq <= self.until).collect();
        let items: HashSet<ItemId> = self.page.iter().filter_map(wire::item_of).collect();
        let items: Vec<ItemId> = items.into_iter().collect();
        let latest = if items.is_empty() { vec![] } else { store.latest_items(stream, &items).await? };
        self.latest =
            latest.into_iter().filter_map(|record| wire::item_of(&record).map(|item| (item, record))).collect();
        Ok(())
    }

    /// The entry of a record; none if its item was written before.
    async fn entry(&mut self, recorded: &Recorded) -> Option<TimelineEntry> {
        let mut shown = recorded;
        if let Some(item) = wire::item_of(recorded) {
            shown = self.latest.get(&item).unwrap_or(recorded);
            let more = shown.seq > recorded.seq;
            let written = if more { !self.changing.insert(item) } else { self.changing.remove(&item) };
            if written {
                return None;
            }
        }
        let encoder = &self.app.feed.encoder;
        let mut entry = encoder.entry(shown).await;
        entry.cursor = encoder.cursor(recorded.seq);
        entry.at = wire::moment(recorded.at);
        Some(entry)
    }

    async fn write(&mut self, recorded: &Recorded, piece: &mut Vec<u8>) -> Result<(), EngineError> {
        let Some(mut entry) = self.entry(recorded).await else { return Ok(()) };
        if let Sink::Lines = self.sink {
            return match serde_json::to_writer(&mut *piece, &entry) {
                Ok(()) => {
                    piece.push(b'\n');
                    Ok(())
                }
                Err(error) => Err(throughline_store::StoreError::Failed(error.to_string()).into()),
            };
        }
        fill(&self.app, &mut entry.body).await?;
        let Sink::Markdown { writer, names, .. } = &mut self.sink else { return Ok(()) };
        if let Some(person) = person_of(&entry.body)
            && !names.contains_key(&person)
        {
            names.insert(person, name_of(&self.app, person).await?);
        }
        piece.extend_from_slice(writer.entry(&entry, names).as_bytes());
        Ok(())
    }
}

/// Words that are in blobs are written out, as far as the document shows them.
async fn fill(app: &Shared, body: &mut EntryBody) -> Result<(), EngineError> {
    let texts: Vec<&mut Text> = match body {
        EntryBody::UserMessage(message) => message
            .content
            .iter_mut()
            .filter_map(|block| match block {
                ContentBlock::Text(text) => Some(text),
                ContentBlock::Image { .. } | ContentBlock::File { .. } => None,
            })
            .collect(),
        EntryBody::Message(message) => vec![&mut message.text],
        EntryBody::TurnImported { text, .. } => vec![text],
        EntryBody::ToolCall(call) => call.output.iter_mut().collect(),
        _ => vec![],
    };
    for text in texts {
        let Some(blob) = &text.blob else { continue };
        // A blob that retention took leaves the head that the event has.
        if let Some(bytes) = app.engine.store().blob(&blob.sha256).await? {
            text.text = String::from_utf8_lossy(&bytes[..bytes.len().min(markdown::MESSAGE_BYTES)]).into_owned();
        }
    }
    Ok(())
}

/// Who is named by an entry.
fn person_of(body: &EntryBody) -> Option<Uuid> {
    match body {
        EntryBody::UserMessage(message) => Some(message.person),
        EntryBody::ApprovalSettled { by, .. } => *by,
        EntryBody::NotePinned { person, .. } | EntryBody::TaskClosed { person } => Some(*person),
        EntryBody::TaskArchived { person } => Some(*person),
        _ => None,
    }
}

async fn name_of(app: &Shared, person: Uuid) -> Result<String, EngineError> {
    let state = app.engine.state(StreamId::Person(PersonId::from_uuid(person))).await?;
    Ok(state.person().map_or_else(|| "somebody".to_owned(), |person| person.name.clone()))
}

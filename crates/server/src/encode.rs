//! Encoding durable events and live text for clients, with what an event does not say about itself.
//!
//! The timeline, the catch-up and the live feed all go through here, so an event looks the same wherever it is seen.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use serde::Serialize;
use throughline_api::event::{self, LiveKind, LiveText, Ready};
use throughline_api::message::Decision;
use throughline_api::task::TaskRef;
use throughline_api::timeline::TimelineEntry;
use throughline_engine as engine;
use throughline_model::event::{Event, Recorded, Seq};
use throughline_model::ids::{Id as _, InputId, TaskId};
use throughline_model::stream::StreamId;
use throughline_model::task::TaskEvent;
use throughline_store::Cursor;
use throughline_store::port::{Answer, Ask, Lookup, Store};

use crate::problem::Refusal;
use crate::ring::{Frame, Sort};
use crate::wire::{self, Around};

/// How many keys are remembered; then all are forgotten and looked up again.
const REMEMBERED: usize = 4096;

/// See the file's header.
pub(crate) struct Encoder {
    store: Arc<dyn Store>,
    incarnation: Arc<str>,
    /// A task's key never changes once it has one.
    keys: Mutex<HashMap<TaskId, String>>,
}

impl Encoder {
    pub(crate) fn new(store: Arc<dyn Store>, incarnation: Arc<str>) -> Self {
        Encoder { store, incarnation, keys: Mutex::default() }
    }

    /// A durable event as clients see it.
    pub(crate) async fn entry(&self, recorded: &Recorded) -> TimelineEntry {
        let task = match recorded.stream {
            StreamId::Task(task) => Some(self.task(task).await),
            StreamId::Person(_) | StreamId::Project(_) | StreamId::Conversation(_) | StreamId::Workspace(_) => None,
        };
        let decision = match &recorded.event {
            Event::Task(TaskEvent::InputQueued { queued, .. }) => self.decision(queued.input).await,
            Event::Task(_) | Event::Person(_) | Event::Project(_) | Event::Conversation(_) | Event::Workspace(_) => {
                None
            }
        };
        wire::entry(recorded, Around { cursor: self.cursor(recorded.seq), task, decision })
    }

    /// The same as a frame of the event stream.
    pub(crate) async fn durable(&self, recorded: &Recorded) -> Frame {
        let entry = self.entry(recorded).await;
        Frame {
            seq: recorded.seq,
            sort: Sort::Durable,
            task: match recorded.stream {
                StreamId::Task(task) => Some(task),
                StreamId::Person(_) | StreamId::Project(_) | StreamId::Conversation(_) | StreamId::Workspace(_) => None,
            },
            bytes: frame(Some(&entry.cursor), event::ENTRY, &entry),
        }
    }

    /// Live text as a frame that stands behind this place.
    pub(crate) async fn live(&self, live: &engine::LiveText, behind: Seq) -> Frame {
        let text = LiveText {
            task: self.task(live.task).await,
            item: live.item.uuid(),
            turn: live.turn.map(|turn| turn.uuid()),
            kind: match live.kind {
                engine::LiveKind::Message => LiveKind::Message,
                engine::LiveKind::Thought => LiveKind::Thought,
                engine::LiveKind::Tool => LiveKind::Tool,
            },
            at: live.at,
            text: live.text.clone(),
        };
        Frame { seq: behind, sort: Sort::Live, task: Some(live.task), bytes: frame(None, event::LIVE, &text) }
    }

    /// The first frame of a stream that stands at this place.
    pub(crate) fn ready(&self, at: Seq) -> Bytes {
        let cursor = self.cursor(at);
        frame(Some(&cursor), event::READY, &Ready { cursor: cursor.clone() })
    }

    /// Why there is no stream.
    pub(crate) fn problem(refusal: &Refusal) -> Bytes {
        frame(None, event::PROBLEM, &refusal.problem())
    }

    pub(crate) fn cursor(&self, seq: Seq) -> String {
        Cursor::new(&self.incarnation, seq).encode()
    }

    /// A pointer to a task. If its key cannot be had just now, its id stands in: every route takes either.
    async fn task(&self, task: TaskId) -> TaskRef {
        if let Some(key) = self.keys().get(&task) {
            return TaskRef { id: task.uuid(), key: key.clone() };
        }
        let key = match self.store.ask(Ask::Task(task)).await {
            Ok(Answer::Task(Some(row))) => row.key,
            Ok(_) => String::new(),
            Err(error) => {
                tracing::warn!(%error, %task, "a task's key cannot be read");
                String::new()
            }
        };
        if key.is_empty() {
            return TaskRef { id: task.uuid(), key: task.to_string() };
        }
        let mut keys = self.keys();
        if keys.len() >= REMEMBERED {
            keys.clear();
        }
        keys.insert(task, key.clone());
        TaskRef { id: task.uuid(), key }
    }

    async fn decision(&self, input: InputId) -> Option<Decision> {
        match self.store.input(Lookup::Input(input)).await {
            Ok(row) => row.map(|row| wire::decision(&row.decision)),
            Err(error) => {
                tracing::warn!(%error, %input, "a decision cannot be read");
                None
            }
        }
    }

    fn keys(&self) -> std::sync::MutexGuard<'_, HashMap<TaskId, String>> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One Server-Sent Event. JSON text has no line breaks, so the data is one line.
fn frame<T: Serialize>(id: Option<&str>, name: &str, data: &T) -> Bytes {
    let mut out = Vec::with_capacity(512);
    if let Some(id) = id {
        out.extend_from_slice(b"id: ");
        out.extend_from_slice(id.as_bytes());
        out.push(b'\n');
    }
    out.extend_from_slice(b"event: ");
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\ndata: ");
    if let Err(error) = serde_json::to_writer(&mut out, data) {
        // These types always encode; a frame without data is skipped by every client.
        tracing::error!(%error, name, "a frame cannot be encoded");
        return Bytes::from_static(b": unreadable\n\n");
    }
    out.extend_from_slice(b"\n\n");
    out.into()
}

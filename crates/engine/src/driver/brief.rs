//! What goes along with a prompt. The brief for a session that has not seen the work: gathered from the record, completed
//! with what only the outside knows (names, patches, long outputs), written once, and kept in the record as it was given.
//! And what others found, in the words of the record.

use std::collections::HashMap;
use std::path::Path;

use throughline_model::command::Command;
use throughline_model::content::Text;
use throughline_model::effect::Process;
use throughline_model::event::Event;
use throughline_model::findings::{self, Found};
use throughline_model::handoff::{Handoff, Material, Patch, compose};
use throughline_model::ids::{TaskId, TurnId};
use throughline_model::item::{Item, ItemBody};
use throughline_model::rejection::Rejection;
use throughline_model::stream::StreamId;
use throughline_model::task::{Task, TaskCommand, TaskEvent};
use throughline_store::port::PageQuery;

use super::Shared;
use crate::checkpoints::{Change, FileDiff};
use crate::core::Request;
use crate::error::EngineError;

/// How many events are read at once.
const PAGE: usize = 500;
/// How far back a brief looks.
const MAX_EVENTS: usize = 5_000;

impl Shared {
    /// The brief that goes along with a turn's prompt. A prompt that is handed on again carries the same one.
    pub(super) async fn brief(&self, process: Process, turn: TurnId, handoff: &Handoff) -> Result<String, EngineError> {
        if !handoff.text.is_empty() {
            return Ok(handoff.text.clone());
        }
        let own = self.past(process.task).await?;
        let given = own.iter().rev().find_map(|event| match event {
            TaskEvent::HandoffGiven { turn: known, text: Text::Inline(text), .. } if *known == turn => Some(text),
            _ => None,
        });
        if let Some(text) = given {
            return Ok(text.clone());
        }
        let text = match handoff.from {
            Some(other) => self.told(other, &self.past(other).await?, handoff.cut, None).await?,
            None => self.told(process.task, &own, handoff.cut, Some(turn)).await?,
        };
        let give = TaskCommand::GiveHandoff { turn, text: text.as_str().into() };
        self.core.execute(Request::of(StreamId::Task(process.task), Command::Task(give))).await?;
        Ok(text)
    }

    /// What others found in these turns, in their own last words.
    pub(super) async fn findings(&self, task: TaskId, turns: &[TurnId]) -> Result<String, EngineError> {
        let past = self.past(task).await?;
        let state = self.core.task(task).await?;
        let task = state.task().ok_or(Rejection::NotFound { what: "task" })?;
        let told = Material::gather(task, &past, None, None).turns;
        let mut findings = vec![];
        for turn in turns {
            let Some(told) = told.iter().find(|told| told.turn == *turn) else { continue };
            let text = match past.iter().rev().find_map(|event| last_words(event, *turn)) {
                Some(text) => self.read(text).await?,
                None => told.answered.clone(),
            };
            findings.push(Found { who: told.who.clone(), asked: told.said.clone(), text });
        }
        Ok(findings::document(&findings, self.config.briefing.handoff))
    }

    async fn told(
        &self,
        task: TaskId,
        past: &[TaskEvent],
        cut: Option<TurnId>,
        own: Option<TurnId>,
    ) -> Result<String, EngineError> {
        let state = self.core.task(task).await?;
        let task = state.task().ok_or(Rejection::NotFound { what: "task" })?;
        let mut material = Material::gather(task, past, cut, own);
        self.complete(&mut material, task).await?;
        Ok(compose(&material, self.config.briefing.handoff))
    }

    /// A task's events, oldest first, as far back as a brief looks.
    pub(super) async fn past(&self, task: TaskId) -> Result<Vec<TaskEvent>, EngineError> {
        let (mut events, mut before) = (vec![], None);
        while events.len() < MAX_EVENTS {
            let query = PageQuery { stream: StreamId::Task(task), before, limit: PAGE };
            let page = self.core.store.page(query).await?;
            let more = page.len() == PAGE;
            before = page.last().map(|oldest| oldest.seq);
            events.extend(page.into_iter().filter_map(|recorded| match recorded.event {
                Event::Task(event) => Some(event),
                _ => None,
            }));
            if !more {
                break;
            }
        }
        events.reverse();
        Ok(events)
    }

    /// What the events name and do not hold.
    async fn complete(&self, material: &mut Material, task: &Task) -> Result<(), EngineError> {
        let project = self.core.state(StreamId::Project(task.project)).await?;
        if let Some(project) = project.project() {
            material.notes.project.clone_from(&project.notes);
        }
        for decision in &material.decisions {
            let person = self.core.state(StreamId::Person(decision.by)).await?;
            if let Some(person) = person.person() {
                material.people.insert(decision.by, person.name.clone());
            }
        }
        for failing in &mut material.failing {
            failing.output = self.read(&failing.output).await?.into();
        }
        if let Some(span) = material.span.clone() {
            let root = &task.site.root;
            match self.workspaces.of(root).diff(Path::new(root), &span.from, &span.to).await {
                Ok(files) => patched(material, files),
                Err(error) => tracing::warn!(%error, "a brief goes without its diff"),
            }
        }
        Ok(())
    }

    /// A text, out of its blob if it is in one.
    pub(super) async fn read(&self, text: &Text) -> Result<String, EngineError> {
        Ok(match text {
            Text::Inline(words) => words.clone(),
            Text::Blob { blob, head } => match self.core.store.blob(&blob.sha256).await? {
                Some(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
                None => head.clone(),
            },
        })
    }
}

fn last_words(event: &TaskEvent, turn: TurnId) -> Option<&Text> {
    match event {
        TaskEvent::ItemRecorded { item: Item { turn: of, body: ItemBody::Message { text, .. }, .. }, .. } => {
            (*of == Some(turn)).then_some(text)
        }
        _ => None,
    }
}

/// The whole work's patches, for the files that its turns changed. What they changed back is told no more.
fn patched(material: &mut Material, files: Vec<FileDiff>) {
    let mut found: HashMap<String, FileDiff> = files.into_iter().map(|file| (file.path.clone(), file)).collect();
    material.files.retain_mut(|told| {
        let Some(file) = found.remove(&told.path) else { return false };
        (told.added, told.removed) = (file.added, file.removed);
        told.change = word(&file.change).into();
        told.patch = match file.patch {
            Some(patch) => Patch::Text(patch),
            None if file.binary => Patch::Binary,
            None => Patch::Huge,
        };
        true
    });
}

/// The word for a change.
pub(crate) fn word(change: &Change) -> &'static str {
    match change {
        Change::Added => "added",
        Change::Modified => "modified",
        Change::Deleted => "deleted",
        Change::Renamed { .. } => "renamed",
        Change::TypeChanged => "type_changed",
    }
}

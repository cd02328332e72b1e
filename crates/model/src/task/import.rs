//! Tasks of native sessions that were begun elsewhere: bound as parked, with their past read once.
//!
//! An imported native session is not a new runtime session: the next message resumes it like any other parked one.
//! *Invariant:* a turn of its past is recorded once, however often it is read, because turns are counted.

use super::decide::Draft;
use super::evolve::{REMEMBERED_CHARS, with_session};
use super::{ImportedTurn, Task, TaskEvent, TaskSeed};
use crate::content::one_line;
use crate::ids::{ConversationId, PersonId, RuntimeSessionId, TaskId};
use crate::item::{Item, ItemBody};
use crate::rejection::Rejection;
use crate::runtime_session::{ImportedPast, Parking, RuntimeDescription, RuntimePhase, RuntimeSession, StartReason};

pub(super) fn create(
    task: TaskId,
    seed: TaskSeed,
    person: PersonId,
    conversation: ConversationId,
    session: RuntimeSessionId,
    native: String,
) -> Vec<TaskEvent> {
    let execution = seed.execution;
    let mut events = super::lifecycle::create(task, seed, person, conversation);
    events.push(TaskEvent::RuntimeSessionImported { execution, session, native });
    events
}

impl Draft {
    /// Turns that are in the record already are passed over; turns after a gap are not taken.
    pub(super) fn import_turns(
        &mut self,
        session: RuntimeSessionId,
        from: u64,
        turns: Vec<ImportedTurn>,
    ) -> Result<(), Rejection> {
        let (execution, past) = self.imported(session)?;
        if past.whole || from > past.turns {
            return Ok(());
        }
        let known = usize::try_from(past.turns - from).unwrap_or(usize::MAX);
        for imported in turns.into_iter().skip(known) {
            let ImportedTurn { turn, said, said_at, items } = imported;
            let answered = items.iter().rev().find_map(words).unwrap_or_default();
            self.emit(TaskEvent::TurnImported { execution, turn, said, answered, said_at });
            for item in items {
                let item = Item { turn: Some(turn), ..item };
                self.emit(TaskEvent::ItemRecorded { execution, item });
            }
        }
        Ok(())
    }

    pub(super) fn finish_import(
        &mut self,
        session: RuntimeSessionId,
        left_out: Option<String>,
    ) -> Result<(), Rejection> {
        if !self.imported(session)?.1.whole {
            self.emit(TaskEvent::PastImported { session, left_out });
        }
        Ok(())
    }

    fn imported(&self, session: RuntimeSessionId) -> Result<(crate::ids::ExecutionId, ImportedPast), Rejection> {
        let execution = self.task.execution_of(session);
        let past = execution.and_then(|execution| Some((execution.id, execution.session.as_ref()?.imported?)));
        past.ok_or(Rejection::NotFound { what: "imported session" })
    }
}

fn words(item: &Item) -> Option<String> {
    match &item.body {
        ItemBody::Message { text, .. } => Some(one_line(text.head(), REMEMBERED_CHARS)),
        ItemBody::Thought { .. } | ItemBody::ToolCall(_) | ItemBody::Note(_) => None,
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "`evolve` names the events that come here")]
pub(super) fn apply(task: &mut Task, event: &TaskEvent) {
    match event {
        TaskEvent::RuntimeSessionImported { execution, session, native } => {
            if let Some(execution) = task.execution_mut(*execution) {
                execution.session = Some(RuntimeSession {
                    id: *session,
                    native: Some(native.clone()),
                    epoch: 0,
                    phase: RuntimePhase::Parked,
                    reason: StartReason::FirstUse,
                    description: RuntimeDescription::default(),
                    parking: Parking::default(),
                    imported: Some(ImportedPast::default()),
                    introduced: false,
                });
            }
        }
        TaskEvent::TurnImported { execution, .. } => {
            let Some(execution) = task.execution_mut(*execution) else { return };
            if let Some(past) = execution.session.as_mut().and_then(|session| session.imported.as_mut()) {
                past.turns += 1;
            }
            execution.past.turns += 1;
        }
        TaskEvent::PastImported { session, .. } => with_session(task, *session, |known, _| {
            if let Some(past) = known.imported.as_mut() {
                past.whole = true;
            }
        }),
        _ => {}
    }
}

//! The person's axis: making, closing, reopening, switching, and what is pinned.

use super::decide::Draft;
use super::{Lifecycle, TaskEvent, TaskSeed};
use crate::content::Text;
use crate::execution::{Execution, ExecutionEnd, Role};
use crate::handoff::Handoff;
use crate::ids::{ConversationId, ExecutionId, PersonId, TaskId, TurnId};
use crate::input::Urgency;
use crate::rejection::Rejection;
use crate::runtime_session::{Choice, RuntimeDescription, RuntimePhase, StartReason};
use crate::site::WorktreeSeed;

/// The most notes that a task keeps.
pub const MAX_NOTES: usize = 50;

pub(super) fn create(task: TaskId, seed: TaskSeed, person: PersonId, conversation: ConversationId) -> Vec<TaskEvent> {
    vec![
        TaskEvent::TaskCreated {
            task,
            project: seed.project,
            person,
            conversation,
            title: seed.title,
            goal: seed.goal,
            root: seed.root,
        },
        TaskEvent::ExecutionAdded { execution: seed.execution, agent: seed.agent, role: seed.role, primary: true },
    ]
}

impl Draft {
    pub(super) fn close(&mut self, person: PersonId) {
        if self.task.lifecycle != Lifecycle::Open {
            return;
        }
        let executions: Vec<_> = self.task.executions.iter().map(|execution| execution.id).collect();
        for execution in executions {
            self.stop_active(execution, crate::turn::StopWish::Cancel);
            self.park_if_idle(execution, "the task was closed");
        }
        self.emit(TaskEvent::TaskClosed { person });
    }

    pub(super) fn archive(&mut self, person: PersonId) {
        self.close(person);
        if self.task.lifecycle != Lifecycle::Archived {
            self.emit(TaskEvent::TaskArchived { person });
        }
    }

    pub(super) fn reopen(&mut self) -> Result<(), Rejection> {
        self.return_to_site(None)?;
        if self.task.lifecycle != Lifecycle::Open {
            self.emit(TaskEvent::TaskReopened {});
        }
        Ok(())
    }

    pub(super) fn pin(&mut self, person: PersonId, text: String) -> Result<(), Rejection> {
        if text.trim().is_empty() {
            return Err(Rejection::Empty);
        }
        if self.task.notes.len() >= MAX_NOTES {
            return Err(Rejection::QueueFull { waiting: self.task.notes.len() });
        }
        self.emit(TaskEvent::NotePinned { person, text });
        Ok(())
    }

    pub(super) fn titled(&mut self, title: String) {
        if !title.trim().is_empty() && title != self.task.title {
            self.emit(TaskEvent::TaskRetitled { title });
        }
    }

    pub(super) fn add_execution(
        &mut self,
        execution: ExecutionId,
        agent: String,
        role: Role,
        worktree: Option<WorktreeSeed>,
    ) -> Result<(), Rejection> {
        if self.task.execution(execution).is_some() {
            return Err(Rejection::Exists { what: "the execution" });
        }
        self.reopen()?;
        let primary = self.task.executions.iter().all(|known| known.ended.is_some());
        self.emit(TaskEvent::ExecutionAdded { execution, agent, role, primary });
        self.prepare_handoff(execution);
        worktree.map_or(Ok(()), |seed| self.give_worktree(execution, seed))
    }

    /// Another agent takes over as a new execution. Another model stays in the session, is given to a new one where the
    /// agent takes it at its start, or is refused.
    pub(super) fn switch(
        &mut self,
        execution: ExecutionId,
        agent: Option<String>,
        model: Option<String>,
    ) -> Result<(), Rejection> {
        let Some(primary) = self.task.primary().cloned() else { return Err(Rejection::NotFound { what: "execution" }) };
        if primary.active.is_some() {
            return Err(Rejection::TurnRunning);
        }
        let agent = agent.filter(|agent| *agent != primary.agent);
        let model = match model {
            Some(model) if agent.is_none() => Some(fitting(&primary, model)?),
            // Nobody has heard the other one yet: what it offers shows when it opens its session.
            model => model.map(Fit::InPlace),
        };
        let target = match agent {
            Some(agent) => {
                self.end_session(primary.id, StartReason::Changed);
                self.emit(TaskEvent::ExecutionEnded { execution: primary.id, end: ExecutionEnd::Superseded });
                self.emit(TaskEvent::ExecutionAdded { execution, agent, role: primary.role, primary: true });
                self.hand_on_worktree(primary.id, execution);
                self.prepare_handoff(execution);
                for queued in primary.queue.clone() {
                    self.emit(TaskEvent::InputQueued { execution, queued, urgency: Urgency::InTurn });
                }
                execution
            }
            None => primary.id,
        };
        if let Some(model) = model {
            let model = match model {
                Fit::InPlace(model) => model,
                Fit::AtStart(model) => {
                    self.end_session(target, StartReason::Changed);
                    self.prepare_handoff(target);
                    model
                }
            };
            self.emit(TaskEvent::ModelChosen { execution: target, model });
        }
        // What had to wait for an agent that could not run goes on with this one.
        self.dispatch(target);
        Ok(())
    }

    /// The last rung of the ladder: another agent takes over with a brief, and the failed turn is run again there.
    pub(super) fn replace(
        &mut self,
        failed: ExecutionId,
        turn: TurnId,
        execution: ExecutionId,
        agent: String,
    ) -> Result<(), Rejection> {
        let old = self.task.execution(failed).filter(|old| old.ended.is_none() && old.agent != agent).cloned();
        let Some(old) = old else { return Err(Rejection::NotFound { what: "execution" }) };
        // Whatever came after that turn has shown whether the agent runs.
        let Some(last) = old.past.last.filter(|last| last.id == turn) else {
            return Err(Rejection::NoTurn { verb: "replace" });
        };
        if old.active.is_some() {
            return Err(Rejection::TurnRunning);
        }
        self.end_session(failed, StartReason::Changed);
        self.emit(TaskEvent::ExecutionEnded { execution: failed, end: ExecutionEnd::Replaced });
        self.emit(TaskEvent::ExecutionAdded { execution, agent, role: old.role, primary: old.primary });
        self.hand_on_worktree(failed, execution);
        self.prepare_handoff(execution);
        let input = last.input.input;
        for queued in [last.input].into_iter().chain(old.queue) {
            self.emit(TaskEvent::InputQueued { execution, queued, urgency: Urgency::InTurn });
        }
        let retry = self.mint.id();
        self.request(execution, retry, input, Some(turn));
        Ok(())
    }

    pub(super) fn fresh(&mut self) -> Result<(), Rejection> {
        let Some(primary) = self.task.primary() else { return Err(Rejection::NotFound { what: "execution" }) };
        if primary.active.is_some() {
            return Err(Rejection::TurnRunning);
        }
        let execution = primary.id;
        self.end_session(execution, StartReason::Requested);
        Ok(())
    }

    /// Closes the sticky session, so that the next message starts another for this reason.
    pub(super) fn end_session(&mut self, execution: ExecutionId, next: StartReason) {
        let session = self.task.execution(execution).and_then(|execution| execution.session.as_ref());
        if let Some(session) = session.filter(|session| session.sticky()) {
            self.emit(TaskEvent::RuntimeSessionClosed { session: session.id, next });
        }
    }

    /// A brief for whoever has not seen the work. A task on which nothing was done yet needs none.
    pub(super) fn prepare_handoff(&mut self, to: ExecutionId) {
        let begun = |execution: &Execution| execution.past.turns > 0 || execution.active.is_some();
        if !self.task.executions.iter().any(begun) && self.task.notes.is_empty() {
            return;
        }
        let handoff = Handoff { id: self.mint.id(), to, from: None, cut: None, text: String::new() };
        self.emit(TaskEvent::HandoffPrepared { handoff });
    }

    /// What was written of the record when the prompt was handed on is a part of the record.
    pub(super) fn give_handoff(&mut self, turn: TurnId, text: Text) {
        let due = self.task.execution_in(turn).and_then(|execution| execution.handoff.as_ref());
        if let Some(handoff) = due.map(|handoff| handoff.id) {
            self.emit(TaskEvent::HandoffGiven { handoff, turn, text });
        }
    }

    pub(super) fn park_if_idle(&mut self, execution: ExecutionId, cause: &str) {
        let Some(execution) = self.task.execution(execution) else { return };
        let idle = execution.active.is_none();
        let live = execution.session.as_ref().filter(|session| session.phase == RuntimePhase::Live);
        if let Some(session) = live.filter(|_| idle) {
            let session = session.id;
            self.emit(TaskEvent::RuntimeSessionParked {
                session,
                next: crate::runtime_session::ResumeCause::Parked,
                cause: cause.to_owned(),
            });
        }
    }
}

/// How an agent takes a model.
enum Fit {
    /// In the session that there is, or in the one that is opened next anyway.
    InPlace(String),
    /// In another session, by another process.
    AtStart(String),
}

/// How the agent of an execution takes a model, by what its newest session offered: also a parked one, which offers the same
/// when it is taken up again. What was never opened has offered nothing, and shows then what it takes.
fn fitting(execution: &Execution, model: String) -> Result<Fit, Rejection> {
    let about = execution.session.as_ref().map(|session| &session.description);
    let Some(about) = about.filter(|about| **about != RuntimeDescription::default()) else {
        return Ok(Fit::InPlace(model));
    };
    match Choice::meant(&about.models, &model) {
        Some(known) => Ok(Fit::InPlace(known.id.clone())),
        None if about.models.is_empty() && about.terms.model_at_start => Ok(Fit::AtStart(model)),
        None => {
            let offered = about.models.iter().map(|known| known.id.clone()).collect();
            Err(Rejection::ModelUnknown { model, offered })
        }
    }
}

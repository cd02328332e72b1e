//! Dismissing one execution: the person is done with it, and the task goes on with whoever is left.
//!
//! **Invariant:** somebody is left whom unmarked messages go to. A turn that runs is stopped like any other, so that what it
//! holds is let go of in the usual order; its execution ends with it.

use super::decide::Draft;
use super::{Task, TaskEvent};
use crate::approval::VoidKind;
use crate::execution::{Execution, ExecutionEnd, Role};
use crate::ids::ExecutionId;
use crate::input::Urgency;
use crate::rejection::Rejection;
use crate::runtime_session::StartReason;
use crate::turn::{StopWish, TurnOutcome, TurnStage, Usage};

impl Draft {
    pub(super) fn dismiss(&mut self, execution: ExecutionId) -> Result<(), Rejection> {
        let Some(target) = self.task.execution(execution) else {
            return Err(Rejection::NotFound { what: "execution" });
        };
        if target.ended.is_some() || target.leaving() {
            return Ok(());
        }
        if self.task.leader_without(execution).is_none() {
            return Err(Rejection::LastExecution);
        }
        match target.active.as_ref().map(|active| (active.id, active.stage == TurnStage::Running)) {
            Some((turn, true)) => {
                self.emit(TaskEvent::TurnStopRequested { turn, wish: StopWish::Dismiss });
                self.void_approvals(turn, VoidKind::Stopped, "its agent was dismissed");
            }
            Some((turn, false)) => {
                self.end(turn, TurnOutcome::Cancelled, Usage::default());
                self.dismissed(execution);
            }
            None => self.dismissed(execution),
        }
        Ok(())
    }

    /// Its turn, if it had one, is over. What waited for the one that leads goes to who leads now; what was meant for this
    /// very one is taken back, as the record says.
    pub(super) fn dismissed(&mut self, execution: ExecutionId) {
        let Some(target) = self.task.execution(execution) else { return };
        let (queue, leads) = (target.queue.clone(), target.primary);
        let heir = self.task.leader_without(execution).filter(|_| leads);
        for queued in queue {
            match heir {
                Some(heir) => self.emit(TaskEvent::InputQueued { execution: heir, queued, urgency: Urgency::InTurn }),
                None => self.emit(TaskEvent::InputWithdrawn { input: queued.input }),
            }
        }
        self.end_session(execution, StartReason::Requested);
        self.emit(TaskEvent::ExecutionEnded { execution, end: ExecutionEnd::Cancelled });
        if let Some(heir) = heir {
            self.dispatch(heir);
        }
    }
}

impl Execution {
    /// Whether it ends with the turn that it has.
    pub(super) fn leaving(&self) -> bool {
        self.active.as_ref().is_some_and(|active| active.stopping == Some(StopWish::Dismiss))
    }
}

impl Task {
    /// Whom unmarked messages go to once this execution is gone: the one that leads already, else one that can do its
    /// work. Who only reads does not follow an editor.
    pub(super) fn leader_without(&self, gone: ExecutionId) -> Option<ExecutionId> {
        let role = self.execution(gone)?.role;
        let left = || self.executions.iter().filter(|left| left.id != gone && left.ended.is_none() && !left.leaving());
        let fits = |left: &&Execution| left.role == role || left.role == Role::Editor;
        left().find(|left| left.primary).or_else(|| left().find(fits)).map(|left| left.id)
    }
}

//! Workspace changes: begun under the lease or not at all, planned, carried out by the engine, ended once.

use super::TaskEvent;
use super::decide::Draft;
use crate::ids::{ChangeId, PersonId};
use crate::rejection::Rejection;
use crate::site::{ChangeKind, ChangePlan, ChangeResult};

impl Draft {
    /// Takes the workspace for a change. Whether somebody else has it is for the workspace to say, in the same
    /// transaction: `react` asks for it.
    pub(super) fn change_workspace(
        &mut self,
        change: ChangeId,
        person: PersonId,
        kind: ChangeKind,
    ) -> Result<(), Rejection> {
        if let Some(other) = &self.task.site.change {
            return Err(Rejection::WorkspaceBusy { holder: other.kind.doing().to_owned() });
        }
        if self.task.executions.iter().any(|execution| execution.active.is_some()) {
            return Err(Rejection::TurnRunning);
        }
        self.emit(TaskEvent::WorkspaceChangeBegun { change, person, kind });
        Ok(())
    }

    /// A plan is made once: what was found the first time is the state before.
    pub(super) fn plan_change(&mut self, change: ChangeId, plan: ChangePlan) -> Result<(), Rejection> {
        let known = self.task.site.change.as_ref().filter(|known| known.id == change);
        match known {
            None => Err(Rejection::NotFound { what: "workspace change" }),
            Some(known) if known.plan.is_some() => Ok(()),
            Some(_) => {
                self.emit(TaskEvent::WorkspaceChangePlanned { change, plan });
                Ok(())
            }
        }
    }

    pub(super) fn end_change(&mut self, change: ChangeId, result: ChangeResult) -> Result<(), Rejection> {
        if self.task.site.change.as_ref().is_none_or(|known| known.id != change) {
            return Err(Rejection::NotFound { what: "workspace change" });
        }
        self.emit(TaskEvent::WorkspaceChangeEnded { change, result });
        Ok(())
    }
}

//! Workspace changes: begun under the lease or not at all, planned, carried out by the engine, ended once. And forks,
//! whose workspace is a worktree of its own.

use super::decide::Draft;
use super::{ForkSeed, TaskEvent};
use crate::handoff::Handoff;
use crate::ids::{ChangeId, HandoffId, Id as _, PersonId};
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
        if self.task.site.removed.is_some() {
            return Err(Rejection::WorkspaceGone);
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

    /// A fork whose changes were taken is done with: it is closed, and its folder goes if nothing is lost by that.
    pub(super) fn end_change(&mut self, change: ChangeId, result: ChangeResult) -> Result<(), Rejection> {
        let Some(known) = self.task.site.change.clone().filter(|known| known.id == change) else {
            return Err(Rejection::NotFound { what: "workspace change" });
        };
        let given = matches!((&known.kind, &result), (ChangeKind::Yield { .. }, ChangeResult::Done { .. }));
        if given {
            // What waits for the workspace must not get it in between.
            self.close(known.person);
        }
        self.emit(TaskEvent::WorkspaceChangeEnded { change, result });
        if given && self.task.executions.iter().all(|execution| execution.active.is_none()) {
            let change = self.mint.id();
            self.emit(TaskEvent::WorkspaceChangeBegun { change, person: known.person, kind: ChangeKind::Remove {} });
        }
        Ok(())
    }

    /// Closes a fork and removes its workspace.
    pub(super) fn discard(&mut self, change: ChangeId, person: PersonId) -> Result<(), Rejection> {
        if self.task.site.fork.is_none() {
            return Err(Rejection::NotAFork);
        }
        self.change_workspace(change, person, ChangeKind::Remove {})?;
        self.close(person);
        Ok(())
    }

    /// A workspace that was removed is made again when its task goes on.
    pub(super) fn return_to_site(&mut self) -> Result<(), Rejection> {
        if self.task.site.leaving() {
            return Err(Rejection::WorkspaceBusy { holder: ChangeKind::Remove {}.doing().to_owned() });
        }
        let site = &self.task.site;
        if let (Some(removed), Some(fork), None) = (&site.removed, &site.fork, &site.change) {
            let person = removed.person;
            let kind = ChangeKind::Prepare {
                tree: removed.tree.clone(),
                from: fork.from.clone(),
                commit: removed.commit.clone(),
            };
            let change = self.mint.id();
            self.emit(TaskEvent::WorkspaceChangeBegun { change, person, kind });
        }
        Ok(())
    }

    /// What a task that has just been made gets from the one that it is a fork of.
    pub(super) fn become_fork(&mut self, seed: ForkSeed) -> Result<(), Rejection> {
        let Some(execution) = self.task.primary().map(|execution| execution.id) else {
            return Err(Rejection::NotFound { what: "execution" });
        };
        if self.task.site.fork.is_some() || self.task.site.change.is_some() {
            return Err(Rejection::Exists { what: "the fork" });
        }
        let ForkSeed { fork, change, person, native, model, plan, notes, cut } = seed;
        let source = fork.source;
        let prepare = ChangeKind::Prepare { tree: fork.base.clone(), from: fork.from.clone(), commit: None };
        self.emit(TaskEvent::TaskForked { fork, native });
        self.emit(TaskEvent::WorkspaceChangeBegun { change, person, kind: prepare });
        if let Some(model) = model {
            self.emit(TaskEvent::ModelChosen { execution, model });
        }
        if !plan.entries.is_empty() {
            self.emit(TaskEvent::PlanRevised { plan });
        }
        for text in notes {
            self.emit(TaskEvent::NotePinned { person, text });
        }
        if cut.is_some() {
            let id = HandoffId::derive(execution.uuid(), "fork");
            let handoff = Handoff { id, to: execution, from: Some(source), cut, text: String::new() };
            self.emit(TaskEvent::HandoffPrepared { handoff });
        }
        Ok(())
    }
}
